"""Time in the hands of a test, in the place of a module's own: what lasts as long as a machine takes is no assertion."""

from __future__ import annotations

import asyncio
from typing import Any


class Clock:
    """`time`, or `asyncio` with its loop's time and its sleep: no time passes but what a test or a sleep adds to `now`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        return self.now

    def get_running_loop(self) -> Clock:
        return self

    def time(self) -> float:
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class Naps:
    """`asyncio`, whose sleeps end when a test says so. `seconds`: how long each of them would have been."""

    def __init__(self) -> None:
        self._over = asyncio.Semaphore(0)
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self._over.acquire()

    def end(self) -> None:
        """One of them is over."""
        self._over.release()


class Deadlines:
    """`asyncio`, whose deadlines a test can end: once it has seen that what should be cut short has begun.

    `seconds`: how long each of them would have been.
    """

    def __init__(self) -> None:
        self._made: list[asyncio.Timeout] = []
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        self.seconds.append(seconds)
        self._made.append(asyncio.timeout(seconds))
        return self._made[-1]

    def timeout_at(self, when: float) -> asyncio.Timeout:
        self.seconds.append(when - asyncio.get_running_loop().time())
        self._made.append(asyncio.timeout_at(when))
        return self._made[-1]

    def end(self) -> None:
        """The one that was made last is over."""
        self._made[-1].reschedule(asyncio.get_running_loop().time())
