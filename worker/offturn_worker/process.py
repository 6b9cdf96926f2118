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
from enum import IntEnum
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
"""Threads that compute: more are no faster, and the loop stands in line with them. Two, so that a job of minutes does not
hold up all others."""

GARBAGE = (5_000, 5, 200)
"""New objects before the youngest are looked through, and how often that is done before those that stayed are: 25,000
objects take 10 ms. All of them, once in a dozen large jobs."""


class Turn(IntEnum):
    """What comes first. Before a model is asked; after it has answered; and what is computed ahead."""

    ASKS = 0
    ANSWERED = 1
    AHEAD = 2


@dataclass(frozen=True, slots=True, order=True)
class _Step:
    """Of a job, and where it stands in line."""

    turn: Turn
    job: int
    came: int
    call: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)


class Threads(ThreadPoolExecutor):
    """asyncio's threads: what `asyncio.to_thread` is given computes. Jobs that have still to ask a model come first, because
    the model's time passes beside all others' computing; then the oldest; what is computed ahead comes last. Else jobs that
    begin together ask together and end together, and nobody computes while they wait. Of jobs that have their answer one
    computes at a time, so that those that have still to ask find a thread. What waits has other threads: the names of
    providers, the archive's files.
    """

    def __init__(self) -> None:
        super().__init__(COMPUTING, "computing")
        self._waiting = ThreadPoolExecutor(thread_name_prefix="waiting")
        self._line: list[_Step] = []
        self._taken = set[Turn]()  # of which a thread does one, and no other may
        self._changes, self._came = Lock(), count()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As any executor."""
        if not _computes(fn):
            return self._waiting.submit(fn, *args, **kwargs)
        future, place = Future[T](), current_place()
        turn = Turn.AHEAD if AHEAD.get() else Turn.ANSWERED if place and not place.holds else Turn.ASKS
        step = _Step(turn, place.number if place else 0, next(self._came), partial(fn, *args, **kwargs), future)
        with self._changes:  # the thread that comes for it waits until it is in line
            super().submit(self._compute)
            heappush(self._line, step)
        return future

    def _compute(self) -> None:
        """Do what may be done now, one step after the other; whoever ends one looks for those that had to wait for it."""
        while step := self._take():
            try:
                if step.future.set_running_or_notify_cancel():
                    step.future.set_result(step.call())
            except BaseException as error:  # noqa: BLE001 - it is whoever waits for it that raises it
                step.future.set_exception(error)
            finally:
                with self._changes:
                    self._taken.discard(step.turn)

    def _take(self) -> _Step | None:
        with self._changes:
            if not self._line or self._line[0].turn in self._taken:
                return None
            step = heappop(self._line)
            if step.turn is not Turn.ASKS:
                self._taken.add(step.turn)
            return step

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
