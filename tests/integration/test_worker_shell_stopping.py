"""Tasks that miss a cancellation are stopped all the same."""

from __future__ import annotations

import asyncio

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
