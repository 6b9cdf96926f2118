"""Tasks that miss a cancellation are stopped all the same."""

from __future__ import annotations

import asyncio

import pytest

from offturn.stopping import stop


async def test_a_task_that_swallows_cancellations_is_stopped() -> None:
    swallowed: list[int] = []

    async def stubborn() -> None:
        while len(swallowed) < 3:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed.append(1)
        await asyncio.sleep(60)

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await stop(task)
    assert task.cancelled()
    assert len(swallowed) == 3


async def test_an_error_on_the_way_out_stays_in_the_task() -> None:
    async def failing() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("on the way out")

    tasks = [asyncio.create_task(failing()), asyncio.create_task(asyncio.sleep(60))]
    await asyncio.sleep(0)
    await stop(*tasks)
    assert isinstance(tasks[0].exception(), ValueError)
    assert tasks[1].cancelled()


async def test_nothing_to_stop() -> None:
    await stop()


async def test_who_is_cancelled_while_it_stops_others_leaves_none_behind() -> None:
    swallowed = asyncio.Event()

    async def stubborn() -> None:
        """Ends at the third cancellation, like a loop whose client swallows some."""
        for _ in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.set()
        await asyncio.Event().wait()

    left = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    stopping = asyncio.create_task(stop(left))
    await swallowed.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert left.cancelled()
