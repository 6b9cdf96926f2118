"""A job's slot: held until its model has answered, and again while it asks once more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from offturn.observing import UNOBSERVED
from offturn.progress import Progress
from offturn.summarizer import EXTRACTIVE
from offturn_models.breaker import Closed, Entry
from offturn_models.route import Route
from offturn_worker.asked import asked, in_slot
from offturn_worker.slots import Place, asking
from tests.integration.shell import until
from tests.integration.test_models_route import REQUEST, Scripted


class Left:
    """How often a slot was given back."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


async def place(slots: asyncio.Semaphore, left: Left) -> Place:
    await slots.acquire()
    return Place(slots, 1, left)


@asynccontextmanager
async def called(job: Place) -> AsyncIterator[asyncio.Event]:
    """A request of this job that lasts as long as the block, or until it may not begin; the event says that it has begun."""
    begun, answer = asyncio.Event(), asyncio.Event()

    async def ask() -> None:
        async with asking():
            begun.set()
            await answer.wait()

    task = asyncio.create_task(ask(), context=job.variables)
    yield begun
    answer.set()
    await task


async def test_an_answer_frees_the_slot_and_the_next_request_takes_one_again() -> None:
    slots, left = asyncio.Semaphore(1), Left()
    job = await place(slots, left)
    async with called(job) as begun:
        await begun.wait()
        assert slots.locked()
    assert (job.holds, slots.locked(), left.times) == (False, False, 1)
    other = await place(slots, left)
    async with called(job) as begun:
        await asyncio.sleep(0)
        assert not begun.is_set()
        other.leave()
        assert slots.locked()  # it was waited for: no new job gets it
        await begun.wait()
        assert job.holds
    job.leave()
    other.leave()
    assert (slots._value, left.times) == (1, 3)


async def test_to_wait_for_a_slot_is_no_stall_of_the_job() -> None:
    slots, progress = asyncio.Semaphore(1), Progress()
    job = await place(slots, Left())
    job.leave()
    other = await place(slots, Left())
    last = progress._last
    waiting = asyncio.create_task(one_request(), context=progress.variables.run(lambda: job.variables))
    await asyncio.sleep(0.01)
    assert progress._last == last
    other.leave()
    await waiting
    assert progress._last > last
    last = progress._last
    await asyncio.create_task(one_request(), context=job.variables)  # of no job whose progress is watched
    assert progress._last == last


async def test_no_wait_for_a_slot_is_too_long() -> None:
    slots, progress = asyncio.Semaphore(1), Progress()
    job = await place(slots, Left())
    job.leave()
    other = await place(slots, Left())
    waiting = asyncio.create_task(one_request(), context=progress.variables.run(lambda: job.variables))
    await asyncio.sleep(0)
    progress._last -= 1_000
    stalled = asyncio.create_task(progress.stalled(100))
    await asyncio.sleep(0.01)
    assert not stalled.done()
    other.leave()
    await waiting
    assert not stalled.done()
    progress._last -= 1_000
    await asyncio.wait_for(progress.stalled(100), 100)
    stalled.cancel()


async def one_request() -> None:
    async with asking():
        pass


async def test_requests_at_a_time_need_one_slot() -> None:
    slots, left = asyncio.Semaphore(1), Left()
    job = await place(slots, left)
    async with called(job) as first:
        await first.wait()
    async with called(job) as first, called(job) as second:
        await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), 100)
        assert slots.locked()
    assert (slots._value, left.times) == (1, 2)


async def test_a_request_that_is_cancelled_while_it_waits_takes_no_slot() -> None:
    slots, left = asyncio.Semaphore(1), Left()
    job = await place(slots, left)
    job.leave()
    other = await place(slots, left)
    waiting = asyncio.create_task(job.asking().__aenter__(), context=job.variables)
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other.leave()
    await until(lambda: not slots.locked())
    async with called(job) as begun:
        await asyncio.wait_for(begun.wait(), 100)
    assert slots._value == 1


async def test_an_error_is_an_answer_and_nobody_s_request_needs_no_slot() -> None:
    slots, left = asyncio.Semaphore(1), Left()
    job = await place(slots, left)
    with pytest.raises(ZeroDivisionError):
        async with job.asking():
            raise ZeroDivisionError
    assert not slots.locked()
    async with asking():
        pass


class Open:
    """A gate that lets everybody through, and notes whom."""

    def __init__(self) -> None:
        self.entered = list[str]()

    async def enter(self, entry: Entry, request: object) -> str | Closed:
        self.entered.append(entry.model)
        return "pass"

    async def leave(self, entry: Entry, shown: str, trouble: object) -> None:
        pass


async def test_nobody_passes_a_gate_before_there_is_a_slot_which_is_kept_to_the_last_entry() -> None:
    """A pass is for now: a probe's ends, and a rate counts by the minute."""
    slots, left, gate = asyncio.Semaphore(1), Left(), Open()
    job = await place(slots, left)
    job.leave()
    other = await place(slots, left)
    route: Any = asked(Route([Scripted("a", "overloaded"), Scripted("b", "stop")]), UNOBSERVED)
    summarizer: Any = in_slot(route.behind(gate))
    asks = asyncio.create_task(summarizer.summarize(REQUEST), context=job.variables)
    await asyncio.sleep(0.01)
    assert gate.entered == []
    other.leave()
    assert (await asks).model == "b"
    assert gate.entered == ["a", "b"]
    assert (slots._value, left.times) == (1, 3)
    assert (summarizer.model, summarizer.window) == (route.model, route.window)
    assert in_slot(EXTRACTIVE) is EXTRACTIVE
