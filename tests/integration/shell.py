"""A worker around a compaction that a test follows and holds, in this process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from arq import constants
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import job_id
from offturn.stopping import stop
from offturn_config.keys import QUEUE, SessionKey
from offturn_config.settings import WorkerSettings, load_worker_settings
from offturn_engine.outcome import Outcome, Skipped
from offturn_worker.app import Running, open_servers, serve
from offturn_worker.jobs import Compact
from offturn_worker.metrics import Metrics
from tests.conftest import TIMEOUT

KEY = SessionKey("default", "s1")


def lock_of(key: SessionKey, number: int = 1) -> str:
    return constants.in_progress_key_prefix + job_id(key, number)


class Compaction:
    """A compaction a test can follow and hold."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self.go = asyncio.Event()
        self.go.set()
        self.fault: Exception | None = None
        self.reason = "test"

    async def __call__(self, key: SessionKey) -> Outcome:
        self.begun.append(key.session)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(key.session)
            raise
        if self.fault:
            raise self.fault
        return Skipped(reason=self.reason)


async def ticks() -> AsyncIterator[None]:
    while True:
        yield
        await asyncio.sleep(0.01)


async def until(condition: Callable[[], Any]) -> None:
    async for _ in ticks():
        if condition():
            return


async def until_empty(redis: Redis) -> None:
    async for _ in ticks():
        if not await redis.zcard(QUEUE):
            return


async def until_found_again(client: CompactionClient) -> None:
    """Until a client that met an outage knows that the store is back: its calls before that wait for a moment only."""
    timely: Any = (await client._connector.links()).redis
    await until(lambda: not timely._away)


SHORT = 1000  # ms: the shortest lease, for tests that wait until one is over after an outage


def settings(url: str, **overrides: Any) -> WorkerSettings:
    """A worker that looks often, and takes no late reply for an outage: a quarter of its lease is longer than any."""
    quick = {"poll_seconds": 0.02, "sweep_seconds": 0.05, "lease_ms": 30_000, "health_port": 0, "timeout": TIMEOUT}
    return load_worker_settings(store_url=url, **{**quick, **overrides})


@asynccontextmanager
async def working(
    values: WorkerSettings,
    compact: Compact,
    *,
    asked: signal.Signals | None = signal.SIGTERM,
    metrics: Metrics | None = None,
    later: Callable[[], None] = lambda: None,
) -> AsyncIterator[Running]:
    """A worker in this process, asked to stop by a signal at the end."""
    up: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    async with open_servers(values) as servers:
        task = asyncio.create_task(serve(values, servers, compact, up.set_result, metrics, later))
        try:
            yield await up
            if asked:
                os.kill(os.getpid(), asked)
                await task
        finally:
            await stop(task)
