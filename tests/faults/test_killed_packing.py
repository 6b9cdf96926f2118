"""Whoever packs is killed at any instant, or the server is: the session says what it said, and can be packed on."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.packing import unpack
from offturn.store.sessions import SessionStore
from tests.faults.processes import TIMEOUT, Store
from tests.integration.host import human, stored
from tests.integration.packed import covered, opened, pack, state

KILLS = 12


@asynccontextmanager
async def packer(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """It has packed all there is at least once."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.packing_process",
        url,
        "chat",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout
        assert int(await process.stdout.readline()) > 0
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def assert_whole(client: CompactionClient, redis: Redis, messages: list[object]) -> None:
    """All that was recorded is there, and however it is kept now, it can be kept the other way."""
    session = opened(client)
    assert await stored(redis, "chat") == messages
    assert list((await session.view(generation=0, window=10**7)).messages) == messages
    assert await redis.llen(session.key.key("log")) == len(messages) - (await state(client, session)).base  # type: ignore[misc]
    await pack(client, session)
    assert await stored(redis, "chat") == messages
    await unpack(SessionStore(redis), session.key, await state(client, session), down_to=0)
    assert await redis.exists(session.key.key("packs"), session.key.key("marks")) == 0


async def test_a_packer_killed_at_any_instant(valkey_url: str, redis: Redis, client: CompactionClient) -> None:
    session = await covered(client)
    messages: list[object] = [*await stored(redis, "chat")]

    for number in range(KILLS):
        async with packer(valkey_url):
            messages.append(human(f"Meanwhile {number}."))
            await session.record([messages[-1]])
            await asyncio.sleep(random.uniform(0, 0.1))
        await assert_whole(client, redis, messages)


async def test_a_server_killed_while_packs_are_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    await store.start()
    try:
        async with CompactionClient.from_url(store.url, timeout=TIMEOUT) as client, Redis.from_url(store.url) as redis:
            await covered(client)
            messages: list[object] = [*await stored(redis, "chat")]
            async with packer(store.url):
                await asyncio.sleep(random.uniform(0, 0.3))
                await store.kill()
        await store.start()
        async with CompactionClient.from_url(store.url, timeout=TIMEOUT) as client, Redis.from_url(store.url) as redis:
            await assert_whole(client, redis, messages)
    finally:
        await store.stop()
