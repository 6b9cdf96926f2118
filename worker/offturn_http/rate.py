"""How often a key may ask: the bucket that workers have for a provider, in the store that all processes share.

A process takes a key's requests from it some at a time, so that few of them cost a look at the store.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from secrets import token_hex

from offturn.links import Connector
from offturn.store.limits import OverRate, SharedLimits
from offturn_http.problems import RATE, Problem

PARTS = 300  # of a minute's requests are taken at a time
SECONDS = 1.0  # after which what is left of them is forgotten
REMEMBERED = 10_000  # keys


@dataclass(slots=True)
class _Taken:
    left: int
    until: float


@dataclass(slots=True)
class Rate:
    """requests_per_minute: of one key, 0: no limit."""

    connector: Connector
    requests_per_minute: int
    _taken: dict[str, _Taken] = field(default_factory=dict)
    _limits: SharedLimits | None = None

    async def enter(self, key: str) -> None:
        """Count a request. Raises Problem with when to come back, and what the store raises."""
        if not self.requests_per_minute:
            return
        taken, now = self._taken.get(key), time.monotonic()
        if taken is not None and taken.left and now < taken.until:
            taken.left -= 1
            return
        some, name = max(1, self.requests_per_minute // PARTS), f"http:{key}"
        limits = self._limits = self._limits or SharedLimits((await self.connector.links()).redis)
        told = await limits.route_enter(
            name,
            account=name,
            token=token_hex(8),
            tokens=some,
            tokens_a_minute=self.requests_per_minute,
            probe_ms=0,
        )
        if isinstance(told, OverRate):
            seconds = max(1, math.ceil(told.wait_ms / 1000))
            raise Problem(RATE, f"{self.requests_per_minute} a minute", headers={"Retry-After": str(seconds)})
        if len(self._taken) >= REMEMBERED:
            self._taken.clear()
        self._taken[key] = _Taken(some - 1, now + SECONDS)
