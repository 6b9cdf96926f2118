"""A server at its memory limit: hosts get a view, jobs are handed back, nothing is paid twice, and room can be made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Archived, Compacted, CompactionClient, Failed, Session, StoreFull
from offturn.packing import unpack
from offturn.store.replies import Claim, Finished, Mended
from offturn.store.sessions import SessionStore
from offturn.store.unpacked import Unpacked
from offturn.testing import FakeSummarizer
from offturn_config.keys import due
from offturn_worker.archive.keeping import Kept
from offturn_worker.packer import Packer
from tests.integration.archived import brought_back, keeper_at, walk_of
from tests.integration.host import assert_sendable, human, turns

WINDOW = 14_000


def opened(client: CompactionClient, window: int = WINDOW) -> Session:
    return client.session("s", format="openai-chat", window=window)


@asynccontextmanager
async def full(redis: Any) -> AsyncIterator[None]:
    """No more room than the server itself takes."""
    limit = (await redis.config_get("maxmemory"))["maxmemory"]
    await redis.config_set("maxmemory", "1mb")
    try:
        yield
    finally:
        await redis.config_set("maxmemory", limit)


async def dumped(redis: Any) -> dict[bytes, Any]:
    return {name: await redis.dump(name) for name in sorted(await redis.keys())}


@pytest.mark.parametrize("outcome", ["compacted", "no-gain", "superseded", "failed", "deferred"])
async def test_a_claim_can_be_given_back(outcome: Any, redis: Redis, client: CompactionClient) -> None:
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))
    store = SessionStore(redis)
    claim = await store.claim(session.key, token="t", lease_ms=600_000)
    assert isinstance(claim, Claim)

    async with full(redis):
        assert isinstance(await store.finish(session.key, claim=claim, outcome=outcome), Finished)
        status = await session.status()
        if outcome != "no-gain":
            with pytest.raises(StoreFull):
                await store.claim(session.key, token="u", lease_ms=1)

    assert not status.running
    assert status.due is (outcome != "no-gain")


async def test_a_view_that_needs_an_emergency_is_made_for_the_call(redis: Redis, strict: CompactionClient) -> None:
    session = opened(strict)
    await session.record(turns("openai-chat", 40, size=1_500))
    before = await dumped(redis)

    async with full(redis):
        view = await session.view()
        with pytest.raises(StoreFull):
            await session.record([human("One more.")])

    assert_sendable(view)
    assert any("full" in warning for warning in view.warnings)
    assert await dumped(redis) == before
    assert (await session.view()).generation == 1


async def test_a_generation_that_cannot_be_adopted_waits(redis: Redis, client: CompactionClient) -> None:
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))
    await client.run_due(summarizer=FakeSummarizer())

    async with full(redis):
        view = await session.view()

    assert_sendable(view)
    assert view.generation == 0
    assert (await session.view()).generation == 1


async def test_a_host_that_mirrors_is_refused_and_loses_nothing(redis: Redis, strict: CompactionClient) -> None:
    session = opened(strict)
    history = turns("openai-chat", 4)
    await session.mirror(history)
    longer = [*history, human("One more.")]

    async with full(redis):
        with pytest.raises(StoreFull):
            await session.mirror(longer)
    view = await session.mirror(longer)

    assert list(view.messages) == longer


async def test_a_paid_summary_is_not_paid_again(redis: Redis, client: CompactionClient) -> None:
    """The server is full when the answer comes: the job is handed back, and the next one of this process has the answer."""
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))
    limits = await redis.config_get("maxmemory")

    async def fill(_request: object) -> None:
        await redis.config_set("maxmemory", "1mb")

    model = FakeSummarizer(on_request=fill)
    try:
        outcomes = await client.run_due(summarizer=model)
        status = await session.status()
    finally:
        await redis.config_set("maxmemory", limits["maxmemory"])

    assert outcomes == [Failed(kind="StoreFull", cause="store")]
    assert (status.due, status.running, len(model.asked)) == (True, False, 1)
    meta = await SessionStore(redis).meta(session.key)
    assert meta is not None
    assert meta.attempts == 0
    assert await client.run_due(summarizer=model) == []  # not at once again

    await redis.execute_command("ZADD", due(), 1, session.key.member)  # type: ignore[no-untyped-call]
    (outcome,) = await client.run_due(summarizer=model)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert len(model.asked) == 1
    assert await redis.execute_command("HLEN", session.key.key("chunks")) == 1  # type: ignore[no-untyped-call]


async def test_a_lost_generation_gives_way(redis: Redis, client: CompactionClient) -> None:
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await redis.delete(session.key.key("gen:1"))
    store = SessionStore(redis)

    async with full(redis):
        reply = await store.mend(session.key, incarnation=1, nonce="n")
        view = await opened(client).view()

    assert isinstance(reply, Mended)
    assert (reply.lost, view.generation) == (1, 0)


async def test_sessions_end_and_are_purged(redis: Redis, client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=WINDOW, overrides={"session.ttl": 3_600})
    await session.record([human("q")])

    async with full(redis):
        await redis.expire(session.key.key("meta"), 60)
        await session.view()
        assert await redis.ttl(session.key.key("meta")) > 60  # a view keeps it alive, which takes no room
        await session.purge()

    assert await redis.exists(session.key.key("log"), session.key.key("life")) == 0


async def test_the_claims_of_a_full_server_do_not_count(redis: Redis, client: CompactionClient) -> None:
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))

    async with full(redis):
        for _ in range(8):
            with pytest.raises(StoreFull):
                await client.run_due(summarizer=FakeSummarizer())
            await asyncio.sleep(0)

    assert [type(outcome) for outcome in await client.run_due(summarizer=FakeSummarizer())] == [Compacted]


async def test_a_full_server_gets_room_by_packing(redis: Any, client: CompactionClient) -> None:
    session = opened(client)
    await session.record(turns("openai-chat", 24, size=1_500))
    await client.run_due(summarizer=FakeSummarizer())
    raw = (await session.view(generation=0, window=10**7)).messages

    async with full(redis):
        assert await Packer(SessionStore(redis), Unpacked(redis), after=0).once() == 1
        packed = (await session.status()).stored_bytes
        store, meta = SessionStore(redis), await SessionStore(redis).meta(session.key)
        assert meta
        await unpack(store, session.key, meta, down_to=0)
        status = await session.status()

    assert packed < 0.5 * status.log_bytes
    assert status.stored_bytes == status.log_bytes
    assert (await opened(client).view(generation=0, window=10**7)).messages == raw


async def test_archiving_makes_room_and_coming_back_waits_for_it(
    redis: Redis, strict: CompactionClient, tmp_path: Path
) -> None:
    keeper = keeper_at(redis, tmp_path)
    session = opened(strict)
    await session.record(turns("openai-chat", 4))

    async with full(redis):
        assert isinstance(await keeper.archive(session.key), Kept)
        await walk_of(keeper).once()
        with pytest.raises(StoreFull):
            await session.status()
    await keeper.store.want(session.key)
    async with full(redis):
        with pytest.raises(StoreFull):
            await keeper.restore(session.key)
    with pytest.raises(Archived, match="no room"):
        await session.status()
    await redis.zadd(due(), {session.key.member: 1})
    async with brought_back(keeper, redis):
        assert (await session.status()).messages == 16
    async with full(redis):
        assert isinstance(await keeper.archive(session.key), Kept)
        await session.purge()
    await walk_of(keeper).once()
    stored = await keeper.store.trash(10, 0)
    assert stored == []
