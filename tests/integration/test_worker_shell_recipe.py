"""The worker around the real recipe and store: a session whose ring was lost is compacted by the sweep."""

from __future__ import annotations

import asyncio
import os
import signal

from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.stopping import stop
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE
from offturn_config.keys import QUEUE
from offturn_config.settings import load_worker_settings
from offturn_worker.app import Running, run_worker
from tests.conftest import TIMEOUT


async def test_a_lost_ring_is_made_good(redis: Redis, valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client:
        session = client.session("s1", format="openai-chat", window=16_000)
        for number in range(60):
            question = {
                "role": "user",
                "content": f"Question {number}: " + "what does this part of the text say? " * 12,
            }
            answer = {
                "role": "assistant",
                "content": f"Answer {number}: " + "it says this and that and something. " * 12,
            }
            await session.record([question, answer])
    store = SessionStore(redis)
    assert [key.session for key, _ in await store.due()] == ["s1"]
    await redis.delete(QUEUE, *await redis.keys("arq:*"))

    values = load_worker_settings(store_url=valkey_url, health_port=-1, sweep_seconds=0.1, poll_seconds=0.02)
    up: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    worker = asyncio.create_task(run_worker(values, summarizer=EXTRACTIVE, started=up.set_result))
    try:
        await up
        while True:
            await asyncio.sleep(0.05)
            if not await store.due() and not await redis.zcard(QUEUE):
                break
        os.kill(os.getpid(), signal.SIGTERM)
        await worker
    finally:
        await stop(worker)
    [(key, meta)] = [(key, await store.meta(key)) for key in await store.sessions("default")]
    assert key.session == "s1"
    assert meta is not None
    assert meta.current == 1
    assert await redis.keys("arq:*") == []
