"""Addresses that try keys: after so many that are none, an address is told to wait before any other is looked up.

A key or login that this process has found right before is looked up all the same: who shares an address with one that
tries keys, behind a proxy, goes on. Counted by each process for itself, in memory.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network

from offturn_http.problems import TRIES, Problem

SECONDS = 60.0
REMEMBERED = 10_000  # addresses; of more the one that began longest ago is forgotten
OWNERS_BITS = 64  # of an IPv6 address; who has one has all that begin so
SOON = 1  # seconds, where others of the address are being looked up
LONGEST = 64  # characters of what a proxy tells and is no address


@dataclass(slots=True)
class _Minute:
    since: float
    wrong: int = 0
    trying: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Tries:
    """per_minute: wrong keys and logins that one address may send."""

    per_minute: int
    _of: OrderedDict[str, _Minute] = field(default_factory=OrderedDict)

    @contextmanager
    def entered(self, address: str, given: str) -> Iterator[Callable[[], None]]:
        """It tries this one in the block; call what you get where that is none. Raises Problem with when it may.

        Many requests with one key are one try for as long as it is looked up: a host sends them when a process has begun.
        """
        minute, now = self._minute(_owner(address)), time.monotonic()
        others = len(minute.trying) - (given in minute.trying)
        if minute.wrong + others >= self.per_minute:
            seconds = math.ceil(minute.since + SECONDS - now) if minute.wrong >= self.per_minute else SOON
            raise Problem(TRIES, headers={"Retry-After": str(seconds)})

        def none() -> None:
            minute.wrong += 1

        minute.trying[given] += 1
        try:
            yield none
        finally:
            minute.trying[given] -= 1
            if not minute.trying[given]:
                del minute.trying[given]

    def _minute(self, name: str) -> _Minute:
        known, now = self._of.get(name), time.monotonic()
        if known is not None and known.since + SECONDS > now:
            return known
        self._of.pop(name, None)
        made = self._of[name] = _Minute(now)
        if len(self._of) > REMEMBERED:
            self._of.popitem(last=False)
        return made


def _owner(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address[:LONGEST]
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found.packed, OWNERS_BITS), strict=False))
