"""How a worker's process shares one interpreter between its event loop and what its jobs compute.

A lease that is renewed late is a lost job, so the loop comes first: it takes the interpreter back after a millisecond,
jobs compute in few threads, and garbage is looked for in small portions. Measured with eight jobs on 1 MB each, by how
much CPU time passes before a sleeper of the loop goes on: p99 127 ms as Python comes, 43 ms so; one collection of all
objects alone took 110 ms, and found ten.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from functools import partial
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

from offturn.ahead import AHEAD
from offturn_worker.slots import current_place

T = TypeVar("T")

SWITCH_SECONDS = 0.001
"""How long a thread computes while another one waits for the interpreter; Python's own 5 ms are a sum where several do."""

COMPUTING = 2
"""Threads that compute: more are no faster, and the loop stands in line with them. Two, so that a job of minutes does not
hold up all others."""

GARBAGE = (5_000, 5, 200)
"""New objects before the youngest are looked through, and how often that is done before those that stayed are: 25,000
objects take 10 ms. All of them, once in a dozen large jobs."""


class Threads(ThreadPoolExecutor):
    """asyncio's threads: what `asyncio.to_thread` is given computes. Jobs that have still to ask a model come first, because
    the model's time passes beside all others' computing; then the oldest; what is computed ahead comes last. Else jobs that
    begin together ask together and end together, and nobody computes while they wait. What waits has other threads: the
    names of providers, the archive's files.
    """

    def __init__(self) -> None:
        super().__init__(COMPUTING, "computing")
        self._waiting = ThreadPoolExecutor(thread_name_prefix="waiting")
        self._line: PriorityQueue[tuple[bool, bool, int, int, Callable[[], Any], Future[Any]]] = PriorityQueue()
        self._came = count()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As any executor."""
        if not _computes(fn):
            return self._waiting.submit(fn, *args, **kwargs)
        future, place = Future[T](), current_place()
        rank = (not place.holds, place.number) if place else (False, 0)
        self._line.put((AHEAD.get(), *rank, next(self._came), partial(fn, *args, **kwargs), future))
        super().submit(self._first)
        return future

    def _first(self) -> None:
        """Do what comes first now."""
        *_, call, future = self._line.get()
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is whoever waits for it that raises it
            future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Both kinds."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._waiting.shutdown(wait, cancel_futures=cancel_futures)


async def alone(work: Coroutine[Any, Any, None]) -> None:
    """Run it as all that this process does."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GARBAGE)
    asyncio.get_running_loop().set_default_executor(Threads())
    await work


def kept(load: Callable[[], None]) -> None:
    """Call what imports modules: they make no garbage, and stay, so nobody looks through them again."""
    gc.disable()
    try:
        load()
        gc.freeze()
    finally:
        gc.enable()


def _computes(call: Callable[..., object]) -> bool:
    """Is it from `asyncio.to_thread`? That runs it in a copy of its caller's context."""
    return isinstance(call, partial) and isinstance(getattr(call.func, "__self__", None), Context)
