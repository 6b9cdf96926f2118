"""One deadline for a public call, whatever it waits for: its turn, commands, retries. Computing does not count."""

from __future__ import annotations

import asyncio
import math
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType

from offturn.errors import StoreUnavailable

QUEUE_SHARE = 4
"""A ring may take one part in so many of a call's deadline: it may be lost, and a silent queue must not cost the call."""


@dataclass(slots=True)
class _Left:
    """What is left of the call's deadline, in seconds of waiting."""

    seconds: float


_call: ContextVar[_Left | None] = ContextVar("offturn_call", default=None)


class one_call:  # noqa: N801 -- as `waiting`
    """A call with this deadline; inside another call, the other's deadline goes on."""

    __slots__ = ("_seconds", "_token")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._token = None if _call.get() is not None else _call.set(_Left(self._seconds))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._token is not None:
            _call.reset(self._token)


def is_over() -> bool:
    """Has the call no time left to wait?"""
    left = _call.get()
    return left is not None and left.seconds <= 0


def seconds_left() -> float:
    """For waiting; infinite outside a call."""
    left = _call.get()
    return math.inf if left is None else left.seconds


class waiting:  # noqa: N801 -- used as `asynccontextmanager` would be, which costs every command more
    """Wait at most so long, and no longer than what is left of the call. Raises TimeoutError."""

    __slots__ = ("_left", "_seconds", "_started", "_timeout")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __aenter__(self) -> None:
        left = self._left = _call.get()
        self._started = asyncio.get_running_loop().time()
        seconds = self._seconds if left is None else min(self._seconds, max(0.0, left.seconds))
        self._timeout = asyncio.timeout_at(self._started + seconds)
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
        finally:
            if self._left is not None:
                self._left.seconds -= asyncio.get_running_loop().time() - self._started


class Turns(asyncio.Lock):
    """Whose turn it is, of those that ask with `holding` alone: `asking` counts who has it and who waits for it."""

    asking = 0


class holding:  # noqa: N801 -- as `waiting`
    """Hold the lock. Raises StoreUnavailable where others held it too long: they wait for the store."""

    __slots__ = ("_lock", "_seconds")

    def __init__(self, lock: Turns, seconds: float) -> None:
        self._lock = lock
        self._seconds = seconds

    async def __aenter__(self) -> None:
        lock = self._lock
        lock.asking += 1
        try:
            if lock.asking == 1:  # it is free, and had without waiting
                await lock.acquire()
            else:
                async with waiting(self._seconds):
                    await lock.acquire()
        except BaseException as error:
            lock.asking -= 1
            if isinstance(error, TimeoutError):
                raise StoreUnavailable(
                    f"the store did not answer within {self._seconds} s: earlier calls wait for it"
                ) from None
            raise

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        self._lock.asking -= 1
        self._lock.release()
