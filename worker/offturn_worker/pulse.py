"""Whether the worker's loops still come round, and how late the event loop is: what liveness means here.

Redis is no part of it: an outage must not restart every worker at once.
"""

from __future__ import annotations

import asyncio
import time

STALE_SECONDS = 90.0
"""Longer than the longest pause a loop allows itself."""

_SAMPLE_SECONDS = 0.5


class Pulse:
    """Beats by name. Times are seconds."""

    def __init__(self, *names: str) -> None:
        self._last = dict.fromkeys(names, time.monotonic())
        self.lag = 0.0

    def beat(self, name: str) -> None:
        """The loop of that name has come round."""
        self._last[name] = time.monotonic()

    @property
    def ages(self) -> dict[str, float]:
        """How long ago each loop came round."""
        now = time.monotonic()
        return {name: now - last for name, last in self._last.items()}

    @property
    def alive(self) -> bool:
        """Every loop came round lately."""
        return max(self.ages.values()) < STALE_SECONDS

    async def watch(self) -> None:
        """Measure how late the event loop wakes a sleeper; until cancelled."""
        while True:
            asleep = time.monotonic()
            await asyncio.sleep(_SAMPLE_SECONDS)
            self.lag = max(0.0, time.monotonic() - asleep - _SAMPLE_SECONDS)
