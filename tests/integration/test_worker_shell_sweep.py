"""The sweep rings for what is due, whatever it meets."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis

from offturn.doorbell import Doorbell, job_id
from offturn.stopping import stop
from offturn.store.errors import StoreUnavailable, UnknownVersion
from offturn_config.keys import QUEUE, SessionKey
from offturn_worker.sweep import Sweep
from tests.integration.shell import KEY, ticks, until


class Store:
    """Due sessions of a test."""

    def __init__(self) -> None:
        self.sessions: dict[SessionKey, Any] = {}
        self.fault: Exception | None = None
        self.unlisted: list[SessionKey] = []

    async def due(self, limit: int = 100) -> list[tuple[SessionKey, int]]:
        if self.fault:
            raise self.fault
        return [(key, 1) for key in self.sessions][:limit]

    async def meta(self, key: SessionKey) -> Any:
        found = self.sessions[key]
        if isinstance(found, Exception):
            raise found
        return found

    async def unlist(self, key: SessionKey) -> None:
        self.unlisted.append(key)

    async def tidy(self) -> None:
        return


class MetaOf:
    """The one field the sweep reads."""

    def __init__(self, request_no: int) -> None:
        self.request_no = request_no


async def test_the_sweep_rings_each_due_session_under_its_number(redis: Redis) -> None:
    store = Store()
    store.sessions = {KEY: MetaOf(3), SessionKey("default", "s2"): MetaOf(1)}
    sweep = Sweep(store, Doorbell(redis).ring, seconds=1, beat=lambda: None)
    assert await sweep.once() == 2
    assert await sweep.once() == 0
    ids = {job_id(KEY, 3).encode(), job_id(SessionKey("default", "s2"), 1).encode()}
    assert set(await redis.zrange(QUEUE, 0, -1)) == ids


async def test_the_sweep_passes_over_what_it_cannot_read(redis: Redis) -> None:
    store = Store()
    newer, gone = SessionKey("default", "newer"), SessionKey("default", "gone")
    store.sessions = {newer: UnknownVersion("v 9"), gone: None, KEY: MetaOf(1)}
    assert await Sweep(store, Doorbell(redis).ring, seconds=1, beat=lambda: None).once() == 1
    assert await redis.zrange(QUEUE, 0, -1) == [job_id(KEY, 1).encode()]


async def test_the_sweep_outlives_an_outage(redis: Redis) -> None:
    store, beats = Store(), []
    store.sessions = {KEY: MetaOf(1)}
    store.fault = StoreUnavailable("gone")
    task = asyncio.create_task(Sweep(store, Doorbell(redis).ring, seconds=0.01, beat=lambda: beats.append(1)).run())
    await until(lambda: len(beats) >= 3)
    assert await redis.zcard(QUEUE) == 0
    store.fault = None
    async for _ in ticks():
        if await redis.zcard(QUEUE):
            break
    await stop(task)
