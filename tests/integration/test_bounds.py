"""How long a session lives and how large it gets: TTL, quota, and what is kept beside the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import time
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidPolicy, Session, StoreFull
from offturn.doorbell import Doorbell
from offturn.errors import SessionFull
from offturn.store.entries import NewEntry
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import QUEUE, SessionKey, dead, due
from offturn_worker.sweep import Sweep
from tests.integration.host import assert_sendable, human, says, turns

KEY = SessionKey("default", "s")
WINDOW = 14_000
DAY = 24 * 3600
KINDS = ("meta", "log", "ops", "ids", "events", "chunks", "chunksq", "gen:1")


def opened(client: CompactionClient, **session: int) -> Session:
    overrides = {f"session.{name}": value for name, value in session.items()}
    return client.session(KEY.session, format="openai-chat", window=WINDOW, overrides=overrides)


async def with_generation(client: CompactionClient, **session: int) -> Session:
    handle = opened(client, **session)
    sent = turns("openai-chat", 24, size=1_500)
    await handle.record(sent, ids=[str(i) for i in range(len(sent))])
    await client.run_due(summarizer=FakeSummarizer())
    assert (await handle.view()).generation == 1
    return handle


async def left(redis: Any) -> dict[str, int]:
    """Seconds until each key ends; -1: never."""
    found = {kind: await redis.ttl(KEY.key(kind)) for kind in KINDS}
    return {kind: seconds for kind, seconds in found.items() if seconds != -2}


@asynccontextmanager
async def started_again(redis: Any) -> AsyncIterator[None]:
    """Each key's day starts anew in the block, at whatever moment of it: by the server's clock, to the millisecond."""
    before = ms_of(await redis.time())
    yield
    async with redis.pipeline(transaction=True) as pipe:
        pipe.time()
        for kind in KINDS:
            pipe.pttl(KEY.key(kind))
        now, *found = await pipe.execute()
    lasts = {kind: left for kind, left in zip(KINDS, found, strict=True) if left != -2}
    assert lasts
    assert all(0 <= DAY * 1000 - left <= ms_of(now) - before for left in lasts.values()), lasts


def ms_of(time: tuple[int, int]) -> int:
    return time[0] * 1000 + time[1] // 1000


async def aged(redis: Any, seconds: int) -> None:
    """So many seconds are left."""
    for kind in KINDS:
        await redis.expire(KEY.key(kind), seconds)


async def expired(redis: Any) -> None:
    """The server's clock passes the end of the session."""
    for kind in KINDS:
        await redis.pexpire(KEY.key(kind), 0)


async def test_without_a_ttl_nothing_ends(redis: Redis, client: CompactionClient) -> None:
    await with_generation(client)

    assert set((await left(redis)).values()) == {-1}
    assert await redis.exists(KEY.key("life")) == 0


async def test_all_keys_end_together_and_every_write_starts_the_time_again(
    redis: Redis, client: CompactionClient
) -> None:
    async with started_again(redis):
        handle = await with_generation(client, ttl=DAY)

    for write in (
        lambda: handle.record([says("Thank you.")]),
        handle.request,
        handle.cancel,
        handle.unblock,
        lambda: handle.amend(3, says("Yes.")),
        handle.rewind,
        lambda: handle.rollback(generation=0, force=True),
        lambda: handle.configure(overrides={"trigger.soft": 0.55}),
    ):
        await aged(redis, DAY - 100)  # hardly a quarter: a view alone would not write
        async with started_again(redis):
            await write()


async def test_a_job_keeps_its_session_alive(redis: Redis, client: CompactionClient) -> None:
    handle = await with_generation(client, ttl=DAY)
    await handle.request()
    store = SessionStore(redis)

    await aged(redis, 50)
    async with started_again(redis):
        claim = await store.claim(KEY, token="t", lease_ms=600_000)
    assert isinstance(claim, Claim)
    await aged(redis, 50)
    async with started_again(redis):
        assert await store.renew(KEY, claim=claim, lease_ms=600_000)
    await aged(redis, 50)
    async with started_again(redis):
        assert await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key="c", value="v")
    await aged(redis, 50)
    async with started_again(redis):
        await store.finish(KEY, claim=claim, outcome="failed")


async def test_a_view_starts_the_time_again_once_a_quarter_of_it_has_passed(
    redis: Redis, client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await with_generation(client, ttl=DAY)
    store = SessionStore(redis)

    await aged(redis, DAY * 9 // 10)
    await handle.view()
    assert max((await left(redis)).values()) <= DAY * 9 // 10

    await aged(redis, DAY // 2)
    monkeypatch.setattr("offturn.unchanged.time", lambda: time() + DAY // 2)
    await store.meta(KEY)  # a look from the side
    assert max((await left(redis)).values()) <= DAY // 2
    async with started_again(redis):
        await handle.view()


async def test_the_ttl_can_be_changed_and_taken_away(redis: Redis, client: CompactionClient) -> None:
    handle = await with_generation(client)

    async with started_again(redis):
        await handle.configure(overrides={"session.ttl": DAY})

    await handle.configure(overrides={"session.ttl": 0})
    assert set((await left(redis)).values()) == {-1}


async def test_the_next_session_of_that_id_is_another_one(redis: Redis, client: CompactionClient) -> None:
    handle = await with_generation(client, ttl=DAY)
    await expired(redis)

    with pytest.raises(Conflict, match="expired"):
        await handle.record([human("Are you there?")])
    recorded = await handle.record([human("Are you there?")])
    view = await handle.view()

    assert (recorded.first_seq, recorded.last_seq) == (0, 0)
    assert list(view.messages) == [human("Are you there?")]
    meta = await SessionStore(redis).meta(KEY)
    assert meta is not None
    assert meta.incarnation == 2


async def test_a_host_that_mirrors_goes_on_after_the_end(redis: Redis, client: CompactionClient) -> None:
    handle = await with_generation(client, ttl=DAY)
    history = turns("openai-chat", 3)
    await expired(redis)

    view = await handle.mirror(history)

    assert list(view.messages) == history
    assert any("expired" in warning for warning in view.warnings)


async def test_an_expired_session_is_in_no_list_for_long(redis: Redis, client: CompactionClient) -> None:
    """Due or parked, by a sweep or by a worker's claim."""
    store, commands = SessionStore(redis), redis.execute_command
    handle = await with_generation(client, ttl=DAY)
    await handle.request()
    await commands("HSET", dead(), KEY.member, "{}")  # type: ignore[no-untyped-call]
    await expired(redis)
    await redis.delete(QUEUE)

    assert await Sweep(store, Doorbell(redis), seconds=1, beat=lambda: None).once() == 0
    assert (await redis.exists(due()), await redis.exists(dead()), await redis.exists(QUEUE)) == (0, 0, 0)

    await commands("HSET", dead(), KEY.member, "{}")  # type: ignore[no-untyped-call]
    await Sweep(store, Doorbell(redis), seconds=1, beat=lambda: None).once()
    assert await redis.exists(dead()) == 0

    await commands("ZADD", due(), 1, KEY.member)  # type: ignore[no-untyped-call]
    assert [outcome.reason for outcome in await client.run_due()] == ["idle"]  # type: ignore[union-attr]
    assert await redis.exists(due()) == 0


async def test_what_is_parked_and_lives_stays_listed(redis: Redis) -> None:
    store = SessionStore(redis)
    await store.record(KEY, op="a", incarnation=1, tail_length=0, tail_chain="", entries=[])
    await redis.execute_command("HSET", dead(), KEY.member, "{}")  # type: ignore[no-untyped-call]

    await store.tidy()

    assert await redis.exists(dead()) == 1


@pytest.mark.parametrize("ttl", [1, 59, -1])
def test_a_ttl_shorter_than_a_job_is_refused(ttl: int) -> None:
    with pytest.raises(InvalidPolicy, match=rf"session\.ttl = {ttl}: (use 0 \(never\) or at least 60|Input)"):
        opened(CompactionClient.from_url("redis://localhost:1/0"), ttl=ttl)


# -- quota


async def test_a_record_over_the_quota_is_refused_with_the_numbers(redis: Redis, client: CompactionClient) -> None:
    handle = opened(client, bytes=10_000)
    sent = [human("q" * 4_000), says("a" * 4_000)]
    await handle.record(sent)
    before = await redis.dump(KEY.key("meta"))

    with pytest.raises(SessionFull) as refused:
        await handle.record([human("q" * 4_000)])

    meta = await SessionStore(redis).meta(KEY)
    assert meta is not None
    assert f"{meta.log_bytes} of 10000 bytes" in str(refused.value)
    assert "session.bytes" in str(refused.value)
    assert "fork(new_id, at=...)" in str(refused.value)
    assert isinstance(refused.value, StoreFull)
    assert not refused.value.retryable
    assert await redis.dump(KEY.key("meta")) == before
    assert list((await handle.view()).messages) == sent


async def test_a_session_at_its_quota_goes_on_compacting_and_with_a_larger_one_recording(
    redis: Redis, client: CompactionClient
) -> None:
    handle = opened(client, bytes=80_000)
    await handle.record(turns("openai-chat", 24, size=1_500))
    with pytest.raises(SessionFull):
        await handle.record(turns("openai-chat", 24, size=1_500, start=24))
    with pytest.raises(SessionFull):
        await handle.amend(3, says("b" * 30_000))

    await client.run_due(summarizer=FakeSummarizer())
    view = await handle.view()
    assert view.generation == 1
    assert_sendable(view)
    assert_sendable(await handle.view(window=4_000))
    await handle.rewind()

    await handle.configure(overrides={"session.bytes": 200_000})
    await handle.record(turns("openai-chat", 24, size=1_500, start=24))


async def test_a_fork_has_the_bounds_of_its_session(redis: Redis, client: CompactionClient) -> None:
    handle = opened(client, bytes=10_000, ttl=DAY)
    await handle.record([human("q")])

    await handle.fork("f")

    meta = await SessionStore(redis).meta(SessionKey("default", "f"))
    assert meta is not None
    assert (meta.quota, meta.ttl) == (10_000, DAY * 1000)
    assert await redis.ttl(SessionKey("default", "f").key("log")) > 0


# -- what is kept beside the log


async def size_of(redis: Any, kind: str) -> tuple[int, int]:
    """Fields of a hash, and bytes of their values."""
    values = await redis.hvals(KEY.key(kind))
    return len(values), sum(map(len, values))


async def test_paid_chunks_are_bounded_in_bytes_and_the_newest_stays(redis: Redis) -> None:
    store, commands = SessionStore(redis), redis.execute_command
    await store.record(KEY, op="a", incarnation=1, tail_length=0, tail_chain="", entries=[])

    for n in range(30):
        await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key=f"chunk {n}", value="v" * 500_000)
    count, size = await size_of(redis, "chunks")
    assert size <= 4 * 1024 * 1024
    assert await store.chunk(KEY, "chunk 29")
    assert await store.chunk(KEY, "chunk 0") is None
    assert count == await commands("LLEN", KEY.key("chunksq"))  # type: ignore[no-untyped-call]

    await store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key="huge", value="v" * 9_000_000)
    assert await size_of(redis, "chunks") == (1, 9_000_000)


async def test_replies_of_operations_are_bounded_in_bytes(redis: Redis) -> None:
    """A reply is as long as its record has messages; the newest is kept in any case."""
    store, commands = SessionStore(redis), redis.execute_command
    entry = NewEntry.of({"content": "x"}, origin="human", tokens=1, host_id="1")
    await store.record(KEY, op="first", incarnation=1, tail_length=0, tail_chain="", entries=[entry])
    for n in range(10):
        await commands("HSET", KEY.key("ops"), f"long {n}", "x" * 200_000)  # type: ignore[no-untyped-call]

    async def again() -> object:
        return await store.record(KEY, op="many", incarnation=1, tail_length=0, tail_chain="", entries=[entry] * 20_000)

    first = await again()
    count, size = await size_of(redis, "ops")
    assert 1 < count < 8
    assert size <= 1024 * 1024
    assert await again() == first
