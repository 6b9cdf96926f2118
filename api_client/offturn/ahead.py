"""What a job computes while its model writes: the time until the answer is somebody else's, and after it a host waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context

from offturn.stopping import stop

AHEAD: ContextVar[bool] = ContextVar("offturn_ahead", default=False)
"""Is it computed ahead? A worker's threads do everything else first."""


@asynccontextmanager
async def ahead(compute: Callable[[], object]) -> AsyncIterator[None]:
    """Beside the block, in a thread. What it finds out stays with the messages; its result is nobody's, nor is its error.

    What has not begun when the block ends is not done any more.
    """
    copied = copy_context()
    copied.run(AHEAD.set, True)
    task = asyncio.create_task(asyncio.to_thread(compute), context=copied)
    try:
        yield
    finally:
        await stop(task)
