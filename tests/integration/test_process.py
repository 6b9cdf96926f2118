"""A worker's process: few threads compute, what waits never stands in line with them, and garbage is looked for in portions."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from offturn.ahead import AHEAD, ahead
from offturn_worker.process import COMPUTING, GARBAGE, SWITCH_SECONDS, alone, kept
from offturn_worker.slots import Place, asking
from tests.integration.shell import until

STATE: ContextVar[str] = ContextVar("state")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)
    gc.unfreeze()


def test_what_computes_takes_turns_and_what_waits_does_not_stand_behind_it() -> None:
    running, most, go = list[int](), list[int](), threading.Event()

    def compute(number: int) -> str:
        running.append(number)
        most.append(len(running))
        go.wait(100)
        running.remove(number)
        return f"{number} {STATE.get()} {threading.current_thread().name}"

    async def work() -> None:
        STATE.set("kept")
        loop = asyncio.get_running_loop()
        computing = [asyncio.create_task(asyncio.to_thread(compute, number)) for number in range(6)]
        await until(lambda: len(running) == COMPUTING)
        assert await loop.getaddrinfo("127.0.0.1", 80)  # the address of a provider
        assert "waiting" in await loop.run_in_executor(None, lambda: threading.current_thread().name)  # a file
        assert len(running) == COMPUTING
        go.set()
        told = [line.split(" ", 2) for line in await asyncio.gather(*computing)]
        assert [number for number, _, _ in told] == ["0", "1", "2", "3", "4", "5"]
        assert {state for _, state, _ in told} == {"kept"}
        assert all(name.startswith("computing") for _, _, name in told)

    asyncio.run(alone(work()))
    assert max(most) == COMPUTING
    assert not [one for one in threading.enumerate() if one.name.startswith(("computing", "waiting"))]


def test_who_has_to_ask_computes_first_then_the_oldest_and_an_error_is_the_caller_s() -> None:
    order, go = list[str](), threading.Event()

    async def job(name: str, turn: asyncio.Event) -> None:
        await turn.wait()
        if name.startswith("answered"):
            async with asking():
                pass
        async with ahead(partial(order.append, f"ahead {name}")):
            await asyncio.to_thread(order.append, name)
            if name == "old":
                await until(lambda: "ahead old" in order)

    async def work() -> None:
        slots = asyncio.Semaphore(0)
        turns = {name: asyncio.Event() for name in ("answered", "answered later", "old", "young")}
        tasks = [
            asyncio.create_task(job(name, turn), context=Place(slots, number, lambda: None).variables)
            for number, (name, turn) in enumerate(turns.items())
        ]
        held = [asyncio.create_task(asyncio.to_thread(go.wait, 30)) for _ in range(COMPUTING)]
        await asyncio.sleep(0)
        threads: Any = asyncio.get_running_loop()._default_executor  # type: ignore[attr-defined]
        await until(lambda: not threads._line)  # no thread is free
        for number, turn in enumerate(reversed(turns.values()), 1):  # the order in which they come to the threads
            turn.set()
            await until(lambda: len(threads._line) == 2 * number)  # noqa: B023 -- awaited at once
        go.set()
        await asyncio.gather(*tasks, *held)
        with pytest.raises(ValueError, match="nothing"):
            await asyncio.to_thread(int, "nothing")

    asyncio.run(alone(work()))
    assert sorted(order[:2]) == ["old", "young"]
    assert order[2:4] == ["answered", "answered later"]
    assert "ahead old" in order[4:]


def test_a_job_that_has_to_ask_does_not_wait_for_one_that_has_its_answer() -> None:
    steps, go = list[str](), threading.Event()

    def compute(name: str) -> None:
        steps.append(name)
        if name == "long":
            go.wait(30)

    async def work() -> None:
        slots = asyncio.Semaphore(0)

        def begin(name: str, number: int, *, answered: bool) -> asyncio.Task[None]:
            place = Place(slots, number, lambda: None)
            if answered:
                place.leave()
            return asyncio.create_task(asyncio.to_thread(compute, name), context=place.variables)

        long = begin("long", 0, answered=True)
        await until(lambda: steps == ["long"])
        answered = begin("answered", 1, answered=True)
        await begin("asks", 2, answered=False)
        await begin("asks too", 3, answered=False)
        assert steps == ["long", "asks", "asks too"]
        go.set()
        await asyncio.gather(long, answered)

    asyncio.run(alone(work()))
    assert steps[-1] == "answered"


def test_a_job_that_has_its_answer_waits_for_no_other_s_long_step_before_it_asks() -> None:
    go, long = threading.Event(), threading.Event()

    def hold() -> None:
        long.set()
        go.wait(30)

    async def work() -> None:
        slots = asyncio.Semaphore(0)
        for number, computed_ahead in enumerate((False, True)):
            place = Place(slots, number, lambda: None)
            variables = place.variables
            variables.run(AHEAD.set, computed_ahead)
            held = asyncio.create_task(asyncio.to_thread(hold), context=variables)
            await until(long.is_set)
            answered = Place(slots, 9, lambda: None)
            answered.leave()
            await asyncio.create_task(asyncio.to_thread(int), context=answered.variables)
            assert not held.done()
            go.set()
            await held
            go.clear()
            long.clear()

    asyncio.run(alone(work()))


def test_a_process_of_its_own_puts_its_loop_first() -> None:
    async def work() -> None:
        assert gc.get_threshold() == GARBAGE
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)

    asyncio.run(alone(work()))


def test_what_is_loaded_is_looked_through_no_more() -> None:
    gc.unfreeze()
    kept(lambda: None)
    assert gc.get_freeze_count() > 1_000
    assert gc.isenabled()
    with pytest.raises(ImportError):
        kept(broken)
    assert gc.isenabled()


def broken() -> None:
    assert not gc.isenabled()
    raise ImportError
