"""Keeps arq's lock on a running job: one lease long, renewed four times in it, like our own claim."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn.stopping import stop

_LOCK_PREFIX = "arq:in-progress:"


@asynccontextmanager
async def lock_kept(redis: Redis, job_id: str, lease_ms: int) -> AsyncIterator[None]:
    """Renew the job's lock inside the block. A lost lock costs a second start, which our own claim refuses."""
    renewal = asyncio.create_task(_renew(redis, _LOCK_PREFIX + job_id, lease_ms))
    try:
        yield
    finally:
        await stop(renewal)


async def _renew(redis: Redis, lock: str, lease_ms: int) -> None:
    while True:
        await asyncio.sleep(lease_ms / 4000)
        try:
            await redis.pexpire(lock, lease_ms)  # touches an existing key only: a finished job's is not revived
        except (RedisError, OSError):
            continue  # an outage is the poller's to report
