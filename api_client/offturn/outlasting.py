"""Sends a write again until the store is back, so that what was paid for lands.

While the server is away nobody can take the session, and when it is back other workers wait one lease before they do: a
write that is sent several times in a lease comes first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from offturn.store.errors import StoreUnavailable

T = TypeVar("T")

OUTAGE_SECONDS = 60.0
"""A restart with a large append-only file, or a failover. What takes longer is paid for again."""

PAUSE_SECONDS = 0.2


async def outlasting(send: Callable[[], Awaitable[T]], *, seconds: float = OUTAGE_SECONDS) -> T:
    """The answer to `send`, which must take effect once however often it is called.

    After `seconds` StoreUnavailable is raised. A full store is no outage: who knows how long that lasts.
    """
    give_up = time.monotonic() + seconds
    while True:
        try:
            return await send()
        except StoreUnavailable:
            if time.monotonic() >= give_up:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
