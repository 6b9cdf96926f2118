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
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from offturn.ahead import AHEAD
from offturn_worker.slots import current_place

T = TypeVar("T")

SWITCH_SECONDS = 0.001
"""How long a thread computes while another one waits for the interpreter; Python's own 5 ms are a sum where several do."""

COMPUTING = 2
"""Threads that compute: more are no faster, and the loop stands in line with them. One of them is only for jobs that have
still to ask a model: they do not wait until a job that has its answer, or one of seconds, is done with a step."""

GARBAGE = (5_000, 5, 200)
"""New objects before the youngest are looked through, and how often that is done before those that stayed are: 25,000
objects take 10 ms. All of them, once in a dozen large jobs."""


@dataclass(frozen=True, slots=True, order=True)
class _Step:
    """Of a job, and where it stands in line."""

    ahead: bool
    answered: bool
    job: int
    came: int
    call: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)

    @property
    def first(self) -> bool:
        """Is it needed to ask a model?"""
        return not self.ahead and not self.answered


class Threads(ThreadPoolExecutor):
    """asyncio's threads: what `asyncio.to_thread` is given computes. Jobs that have still to ask a model come first, because
    the model's time passes beside all others' computing; then the oldest; what is computed ahead comes last. Else jobs that
    begin together ask together and end together, and nobody computes while they wait. What waits has other threads: the
    names of providers, the archive's files.
    """

    def __init__(self) -> None:
        super().__init__(COMPUTING - 1, "computing")
        self._first = ThreadPoolExecutor(1, "computing first")
        self._waiting = ThreadPoolExecutor(thread_name_prefix="waiting")
        self._line: list[_Step] = []
        self._changes, self._came = Lock(), count()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As any executor."""
        if not _computes(fn):
            return self._waiting.submit(fn, *args, **kwargs)
        future, place = Future[T](), current_place()
        answered, job = (not place.holds, place.number) if place else (False, 0)
        with self._changes:
            call = partial(fn, *args, **kwargs)
            heappush(self._line, _Step(AHEAD.get(), answered, job, next(self._came), call, future))
        super().submit(self._next)
        self._first.submit(self._next, only_first=True)
        return future

    def _next(self, only_first: bool = False) -> None:
        """Do what stands in front now, unless another thread did. only_first: if it is needed to ask a model."""
        with self._changes:
            if not self._line or (only_first and not self._line[0].first):
                return
            step = heappop(self._line)
        if not step.future.set_running_or_notify_cancel():
            return
        try:
            step.future.set_result(step.call())
        except BaseException as error:  # noqa: BLE001 - it is whoever waits for it that raises it
            step.future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """All kinds."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._first.shutdown(wait, cancel_futures=cancel_futures)
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
