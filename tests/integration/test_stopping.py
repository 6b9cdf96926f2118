"""What is stopped has ended, whatever swallows a cancellation on the way."""

from __future__ import annotations

import asyncio

import pytest

from offturn.stopping import stop


async def stubborn(times: int, asked: asyncio.Event) -> None:
    """A loop whose first cancellations get lost."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            asked.set()
            if not times:
                raise
            times -= 1


async def test_one_that_is_stopped_while_it_stops_leaves_nothing_running() -> None:
    asked = asyncio.Event()
    loop = asyncio.create_task(stubborn(2, asked))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(stop(loop))
    await asked.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert loop.cancelled()
