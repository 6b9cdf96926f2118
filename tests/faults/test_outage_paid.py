"""An outage while a model is paid: its summary lands when the store is back, and nobody pays again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import PATIENCE, TIMEOUT, Store, count, fill, handle, settled, workers

OUTAGE = 10.0  # seconds


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store(tmp_path / "data")
    await opened.start()
    yield opened
    await opened.stop()


@pytest.mark.parametrize("frozen", [False, True], ids=["killed", "frozen"])
async def test_ten_seconds_without_a_store(store: Store, tmp_path: Path, frozen: bool) -> None:
    """Two workers; the one that holds the session finishes it, the other one waits for it."""
    async with (
        FakeModel(delay=2.0) as model,
        CompactionClient.from_url(store.url, timeout=TIMEOUT) as client,
        workers(store.url, tmp_path) as crew,
    ):
        settings = {"SUMMARIZER": f"openai:fake@{model.openai_url}", "OPENAI_API_KEY": "key"}
        settings |= {"TIMEOUT": "3", "LEASE_MS": "6000"}  # shorter than the outage, longer than a busy machine's pauses
        pair = [await crew.start(**settings) for _ in range(2)]
        session = handle(client, "s")
        await fill(session)
        await session.request()
        await asyncio.wait_for(model.called.wait(), PATIENCE)
        if frozen:
            store.freeze()
        else:
            await store.kill()
        await asyncio.sleep(OUTAGE)
        if frozen:
            store.thaw()
        else:
            await store.start()
        await settled(session)
        assert len(model.calls) == 1
        assert await count(session, "claimed") == 1
        assert await count(session, "committed") == 1
        (finished,) = [event for event in await session.events() if event.kind == "finished"]
        assert finished.fields["outcome"] == "compacted"
        assert all(worker.alive for worker in pair)
        for worker in pair:
            assert '"server_lost"' in worker.said
        later = handle(client, "later")  # and both go on
        await fill(later)
        await (await later.request()).wait(PATIENCE)


async def test_a_worker_that_begins_as_the_store_comes_back_claims_nothing_yet(store: Store, tmp_path: Path) -> None:
    """Who holds the session is heard first, though its lease ran out while nobody could renew it."""
    async with (
        FakeModel(delay=2.0) as model,
        CompactionClient.from_url(store.url, timeout=TIMEOUT) as client,
        workers(store.url, tmp_path) as crew,
    ):
        settings = {"SUMMARIZER": f"openai:fake@{model.openai_url}", "OPENAI_API_KEY": "key"}
        holds = await crew.start(**settings)
        session = handle(client, "s")
        await fill(session)
        await session.request()
        await asyncio.wait_for(model.called.wait(), PATIENCE)
        holds.freeze()
        async with Redis.from_url(store.url) as redis:  # as if the server had been away that long
            await redis.hset(session.key.key("meta"), "leased_until", 1)
            await redis.delete(*[name async for name in redis.scan_iter("arq:in-progress:*")])
        await store.kill()
        await store.start()
        begins = await crew.start(LEASE_MS="600000", **settings)  # for so long it waits
        await asyncio.sleep(2.0)  # in which it would have claimed the session
        holds.thaw()

        await settled(session)

        assert '"server_found"' not in begins.said, "what it waits for is older than itself"
        assert len(model.calls) == await count(session, "claimed") == await count(session, "committed") == 1
