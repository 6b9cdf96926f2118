"""The worker's heartbeat: hosts and operators see that somebody is there, and what it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import structlog
from redis.exceptions import RedisError

from offturn.beating import about
from offturn.stopping import stop as stop_tasks
from offturn.store.workers import Workers
from offturn_config.errors import OffturnError
from offturn_config.settings import WorkerSettings
from offturn_models.route import names_of

BEAT_SECONDS = 5.0
"""A third of the time after which a worker is missed."""

LONGEST_BEAT = 5.0  # seconds: a silent store must not hold up the end of a worker

log = structlog.get_logger(__name__)


class Heartbeat:
    """Beats from start to end, also while the worker drains; `stopping` is set when it is asked to stop."""

    def __init__(self, workers: Workers, settings: WorkerSettings, stopping: asyncio.Event) -> None:
        names = tuple(name.partition("@")[0] for name in names_of(settings.summarizer))
        self._about = about(max_jobs=settings.max_jobs, summarizers=names)
        self._workers = workers
        self._id = settings.worker_id
        self._stopping = stopping
        self._lost = False

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Beat inside the block, and take the worker off the list after it."""
        beating = asyncio.create_task(self._run())
        try:
            yield
        finally:
            await stop_tasks(beating)
            with suppress(OffturnError, RedisError, OSError, TimeoutError):  # else it is missed in a while
                async with asyncio.timeout(LONGEST_BEAT):
                    await self._workers.leave(self._id)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            await self._beat(draining=False)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), BEAT_SECONDS)
        while True:
            await self._beat(draining=True)
            await asyncio.sleep(BEAT_SECONDS)

    async def _beat(self, *, draining: bool) -> None:
        try:
            async with asyncio.timeout(LONGEST_BEAT):
                await self._workers.beat(self._id, replace(self._about, draining=draining))
        except (OffturnError, RedisError, OSError) as error:
            if not self._lost:
                log.warning("beat_failed", error=type(error).__name__)
            self._lost = True
        else:
            self._lost = False
