"""Stops background tasks for certain."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 0.2


async def stop(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks until each has ended; what they raised stays in them and is not reported as lost.

    Once is not enough: on Python 3.11 `asyncio.wait_for`, through which redis-py sends, swallows a cancellation that
    comes as its inner call ends, and a loop in the task would go on for ever. Cancelled itself, it goes on until they
    have ended: whoever stops the task that stops them asks twice too.
    """
    running, asked = set(tasks), False
    while running:
        for task in running:
            task.cancel()
        try:
            _, running = await asyncio.wait(running, timeout=AGAIN_SECONDS)
        except asyncio.CancelledError:
            asked = True
            running = {task for task in running if not task.done()}
    for task in tasks:
        if not task.cancelled():
            task.exception()
    if asked:
        raise asyncio.CancelledError
