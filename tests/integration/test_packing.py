"""What is packed, when, and what holds of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, StoreFault, UnknownVersion
from offturn.packing import unpack
from offturn.store.packs import RAW_BYTES, lines
from offturn.store.packs import pack as packed
from offturn.store.replies import PathMoved
from offturn.store.sessions import SessionStore
from offturn.store.unpacked import Unpacked
from offturn.testing import FakeSummarizer
from offturn_config import keys
from offturn_engine.files import read
from offturn_worker.packer import LEASE_MS, Packer
from tests.integration.host import FORMATS, human, says, stored, turns
from tests.integration.keyspace import everything
from tests.integration.packed import EVER, covered, opened, pack, state
from tests.integration.packed import small as small
from tests.integration.shell import Compaction, settings, ticks, working

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"


async def test_what_the_current_generation_covers_is_packed_and_no_more(client: CompactionClient) -> None:
    session = await covered(client)
    [one] = await session.generations()
    before = await session.status()

    done = await pack(client, session)
    again = await pack(client, session)

    meta = await state(client, session)
    assert meta.base == one.covered[-1][1]
    assert done.bytes > 2 * done.stored
    assert not done.later
    assert (again.bytes, again.later) == (0, False)
    after = await session.status()
    assert (before.log_bytes, before.stored_bytes) == (after.log_bytes, after.log_bytes)
    assert after.log_bytes - after.stored_bytes == done.bytes - done.stored


async def test_nothing_is_packed_without_a_generation_or_of_a_short_one(client: CompactionClient) -> None:
    new = opened(client, "new")
    await new.record(turns("openai-chat", 2))
    short = opened(client, "short")
    await short.record(turns("openai-chat", 4, size=1_000))
    await short.request()
    await client.run_due(summarizer=FakeSummarizer())

    for session in (new, short):
        done = await pack(client, session)
        assert (done.bytes, done.later) == (0, False)
        assert (await state(client, session)).base == 0


async def test_young_messages_wait(client: CompactionClient, small: None) -> None:
    session = await covered(client)
    at = [line["at"] async for line in session.export() if line["kind"] == "message"]

    done = await pack(client, session, before_ms=at[0] - 1)

    assert (done.bytes, done.later) == (0, True)


async def test_a_message_larger_than_a_pack_has_its_own(client: CompactionClient, redis: Any) -> None:
    session = opened(client)
    sent = [*turns("openai-chat", 24), human("x " * RAW_BYTES), *turns("openai-chat", 24, start=24)]
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())

    await pack(client, session)

    packs = {int(first): len(lines(pack)) for first, pack in (await redis.hgetall(session.key.key("packs"))).items()}
    assert packs[96] == 1
    assert await stored(redis, "chat") == sent


async def test_small_messages_fill_a_pack_by_their_number(client: CompactionClient, redis: Any) -> None:
    session = opened(client)
    sent = [message for n in range(900) for message in (human(f"Is lamp {n} on?"), says(f"Lamp {n} is on, port {n}."))]
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())

    await pack(client, session)

    packs = await redis.hgetall(session.key.key("packs"))
    assert sorted(map(int, packs))[:3] == [0, 500, 1000]
    assert await stored(redis, "chat") == sent
    assert [line["message"] async for line in session.export() if line["kind"] == "message"] == sent


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_packed_session_goes_on(client: CompactionClient, redis: Redis, small: None, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=16_000)
    sent = turns(fmt, 24)
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await pack(client, session)
    before = await session.view()

    fresh = client.session("chat", format=fmt, window=16_000)
    assert (await fresh.view()).messages == before.messages
    more = turns(fmt, 20, start=24)
    await fresh.record(more)
    await session.record([human("From a handle that had read it before.")])
    assert await client.run_due(summarizer=FakeSummarizer())
    await pack(client, session)

    assert (await fresh.view()).generation == 2
    assert await stored(redis, "chat") == [*sent, *more, human("From a handle that had read it before.")]
    assert (await state(client, session)).base > len(sent) // 2


async def test_redact_reaches_what_is_packed(client: CompactionClient, redis: Redis, small: None) -> None:
    session = opened(client)
    said = human("The lamp is verdigris.")
    await session.record([*turns("openai-chat", 10), said, *turns("openai-chat", 14, start=10)])
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await pack(client, session)
    assert (await state(client, session)).base > 40
    assert b"verdigris" in await everything(redis)
    raw = (await session.view(generation=0, window=1_000_000)).messages

    assert await session.redact(40, reason="asked") == (40,)

    assert b"verdigris" not in await everything(redis)
    assert 0 < (await state(client, session)).base <= 40
    left = (await opened(client).view(generation=0, window=1_000_000)).messages
    assert [*left] == [*raw[:40], {"role": "user", "content": "[redacted]"}, *raw[41:]]
    assert (await session.search("verdigris")) == []


async def test_a_pack_is_taken_apart_as_it_was_read_or_not_at_all(
    client: CompactionClient, redis: Redis, small: None
) -> None:
    """Between the read and the script another took it apart, redacted a message in it, and packed the rest again."""
    session = await covered(client)
    await pack(client, session)
    store, other = SessionStore(redis), (await client._connector.links()).store
    meta = await state(client, session)
    run = store._run

    async def overtaken(name: str, *args: Any, **options: Any) -> Any:
        if name == "unpack":
            before = meta.base - 1
            await session.redact(before, reason="asked")
            items = await other.items(session.key, start=(await state(client, session)).base, stop=meta.base)
            await other.pack(session.key, incarnation=1, base=meta.base - len(items), items=items, packed=packed(items))
            assert (await state(client, session)).base == meta.base
        return await run(name, *args, **options)

    store._run = overtaken  # type: ignore[method-assign]

    assert await store.unpack_last(session.key, incarnation=1, base=meta.base) == PathMoved()


@pytest.mark.parametrize("damage", ["no packs", "no marks", "one pack", "garbage", "version"])
async def test_damage_is_told_and_can_be_purged(client: CompactionClient, redis: Any, small: None, damage: str) -> None:
    session = await covered(client)
    await pack(client, session)
    packs, marks = session.key.key("packs"), session.key.key("marks")
    first = sorted(map(int, await redis.hkeys(packs)))[1]
    match damage:
        case "no packs":
            await redis.delete(packs)
        case "no marks":
            await redis.delete(marks)
        case "one pack":
            await redis.hdel(packs, first)
        case "garbage":
            await redis.hset(packs, first, b"1no xz at all")
        case _:
            await redis.hset(packs, first, b"9" + (await redis.hget(packs, first))[1:])

    with pytest.raises(UnknownVersion if damage == "version" else StoreFault) as refused:
        await opened(client).explain(0)  # which needs all of the log
    assert "module" not in str(refused.value)
    if damage.startswith("no "):
        with pytest.raises(StoreFault):
            await session.record([human("More.")])
    with pytest.raises((StoreFault, UnknownVersion)):
        await unpack((await client._connector.links()).store, session.key, await state(client, session), down_to=0)

    await session.purge()
    assert await client.sessions() == []
    assert not await redis.exists(packs, marks)


# -- the worker


def packer(redis: Redis, after: float = 0) -> Packer:
    return Packer(SessionStore(redis), Unpacked(redis), after=after)


async def noted(redis: Any) -> dict[bytes, float]:
    return dict(await redis.zrange(keys.packing(), 0, -1, withscores=True))


async def test_a_worker_packs_what_was_compacted_long_enough_ago(client: CompactionClient, redis: Any) -> None:
    session = await covered(client)
    assert list(await noted(redis)) == [session.key.member.encode()]

    assert await packer(redis, after=3600).once() == 0
    assert (await state(client, session)).base == 0
    assert await packer(redis).once() == 1

    assert (await state(client, session)).base > 0
    assert await noted(redis) == {}
    assert await packer(redis).once() == 0


async def test_young_messages_are_looked_at_again(client: CompactionClient, redis: Any) -> None:
    session = await covered(client)
    await redis.zadd(keys.packing(), {session.key.member: 1})

    assert await packer(redis, after=3600).once() == 1

    assert (await state(client, session)).base == 0
    assert (await noted(redis))[session.key.member.encode()] > 1
    assert await packer(redis, after=3600).once() == 0


async def test_what_a_worker_has_taken_is_its_own_for_a_while(client: CompactionClient, redis: Any) -> None:
    session = await covered(client)
    notes = Unpacked(redis)
    [note] = await notes.take(limit=9, age_ms=0, lease_ms=LEASE_MS)

    assert await notes.take(limit=9, age_ms=0, lease_ms=LEASE_MS) == []
    await session.record(turns("openai-chat", 20, start=24))
    await client.run_due(summarizer=FakeSummarizer())
    await notes.settle(note, again=False)

    assert [one.key for one in await notes.take(limit=9, age_ms=0, lease_ms=LEASE_MS)] == [session.key]


async def test_a_session_that_cannot_be_packed_keeps_no_other_from_it(
    client: CompactionClient, redis: Any, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    broken, purged, whole = [await covered(client, name) for name in ("broken", "purged", "whole")]
    await redis.hset(broken.key.key("meta"), "v", "9")
    await purged.purge()
    await redis.zadd(keys.packing(), {purged.key.member: 1, "no session": 1})

    await packer(redis).once()

    assert (await state(client, whole)).base > 0
    assert broken.key.member.encode() in await noted(redis)
    assert purged.key.member.encode() not in await noted(redis)
    told = [line for line in lines() if line["event"] == "session_not_packed"]
    assert [(line["session"], line["error"]) for line in told] == [("broken", "UnknownVersion")]


async def test_a_worker_process_packs(
    client: CompactionClient, redis: Any, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offturn_worker.packer.EVERY_SECONDS", 0.05)
    session = await covered(client)

    async with working(settings(valkey_url, pack_after_seconds=0), Compaction()):
        async for _ in ticks():
            if not await noted(redis):
                break

    assert (await state(client, session)).base > 0


# -- at once


async def test_hosts_and_packers_at_once(client: CompactionClient, redis: Redis, small: None) -> None:
    session = await covered(client)
    sent = turns("openai-chat", 24)

    async def write(name: str) -> None:
        handle = opened(client)
        for number in range(8):
            fresh = turns("openai-chat", 3, start=100 + number)
            await handle.record([human(f"{name} {number}"), *fresh[:1], *fresh[3:5]])

    async def keep() -> None:
        for number in range(12):
            await pack(client, session)
            if number % 3 == 2:
                await unpack(SessionStore(redis), session.key, await state(client, session), down_to=20)
            await client.run_due(summarizer=FakeSummarizer())

    with_calls = [write("a"), write("b"), keep(), keep()]
    await asyncio.gather(*with_calls)

    log = await stored(redis, "chat")
    assert log[: len(sent)] == sent
    said = [m["content"] for m in log if m["role"] == "user"]
    assert [text for text in said if text.startswith("a ")] == [f"a {n}" for n in range(8)]
    assert [text for text in said if text.startswith("b ")] == [f"b {n}" for n in range(8)]
    raw = (await opened(client).view(generation=0, window=1_000_000)).messages
    assert list(raw) == log


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder shared/transcripts is not beside this checkout")
@pytest.mark.parametrize("name", ["hermes_stage0.json", "cc_stage0_large.jsonl", "codex_stage0_large.jsonl"])
async def test_recorded_sessions_take_a_third(client: CompactionClient, redis: Redis, name: str) -> None:
    conversation = max(read((SHARED / name).read_bytes(), format=None), key=lambda one: len(one.messages))
    session = client.session("chat", format=conversation.format, window=20_000)
    await session.record(conversation.messages)
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    before = (await session.view(generation=0, window=10**8)).messages

    done = await pack(client, session, before_ms=EVER)

    assert done.stored <= 0.35 * done.bytes
    fresh = client.session("chat", format=conversation.format, window=20_000)
    assert json.dumps((await fresh.view(generation=0, window=10**8)).messages) == json.dumps(before)
