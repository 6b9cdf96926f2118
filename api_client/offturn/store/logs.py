"""Items of logs that jobs of this process have read, kept for a while: the next job on the session reads what is new.

They are as the store has them, packs apart, of the sessions that were read last. Whether they are still what the log
holds is for the store to say, each time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from offturn_config.keys import SessionKey

KEPT_BYTES = 32 * 1024 * 1024  # of all sessions together
KEPT_SECONDS = 600.0
"""What was redacted or purged is in this process no longer than that."""


@dataclass(frozen=True, slots=True)
class Known:
    """Items by seq, of a log that had this `length` and chain hash; `size` in bytes."""

    incarnation: int
    redactions: int
    length: int
    chain: str
    items: Mapping[int, bytes] = field(repr=False)
    size: int


class Logs:
    """Those of one store."""

    def __init__(self, most: int = KEPT_BYTES, seconds: float = KEPT_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._known: OrderedDict[SessionKey, tuple[Known, asyncio.TimerHandle]] = OrderedDict()

    def get(self, key: SessionKey) -> Known | None:
        """What is kept of a session."""
        found = self._known.get(key)
        return None if found is None else found[0]

    def keep(self, key: SessionKey, known: Known) -> None:
        """In the place of what was kept before; the sessions read least lately go."""
        self.forget(key)
        if known.size > self._most:
            return
        self._known[key] = known, asyncio.get_running_loop().call_later(self._seconds, self.forget, key)
        while sum(one.size for one, _ in self._known.values()) > self._most:
            self.forget(next(iter(self._known)))

    def forget(self, key: SessionKey) -> None:
        """What is kept of a session is read again."""
        if key in self._known:
            _, timer = self._known.pop(key)
            timer.cancel()
