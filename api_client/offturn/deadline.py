"""One deadline for a public call, whatever it waits for: its turn, commands, retries. Computing does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from offturn.errors import StoreUnavailable

QUEUE_SHARE = 4
"""A ring may take one part in so many of a call's deadline: it may be lost, and a silent queue must not cost the call."""


@dataclass(slots=True)
class _Left:
    """What is left of the call's deadline, in seconds of waiting."""

    seconds: float


_call: ContextVar[_Left | None] = ContextVar("offturn_call", default=None)


@contextmanager
def one_call(seconds: float) -> Iterator[None]:
    """A call with this deadline; inside another call, the other's deadline goes on."""
    if _call.get() is not None:
        yield
        return
    token = _call.set(_Left(seconds))
    try:
        yield
    finally:
        _call.reset(token)


def is_over() -> bool:
    """Has the call no time left to wait?"""
    left = _call.get()
    return left is not None and left.seconds <= 0


@asynccontextmanager
async def waiting(seconds: float) -> AsyncIterator[None]:
    """Wait at most so long, and no longer than what is left of the call. Raises TimeoutError."""
    left, clock = _call.get(), asyncio.get_running_loop().time
    started = clock()
    try:
        async with asyncio.timeout(seconds if left is None else min(seconds, max(0.0, left.seconds))):
            yield
    finally:
        if left is not None:
            left.seconds -= clock() - started


@asynccontextmanager
async def holding(lock: asyncio.Lock, seconds: float) -> AsyncIterator[None]:
    """Hold the lock. Raises StoreUnavailable where others held it too long: they wait for the store."""
    try:
        async with waiting(seconds):
            await lock.acquire()
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {seconds} s: earlier calls wait for it") from None
    try:
        yield
    finally:
        lock.release()
