"""Sessions in the archive: what leaves the store, how it comes back, and what is said where it cannot."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    Archived,
    CompactionClient,
    StoreFault,
    StoreUnavailable,
)
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper, Kept
from tests.conftest import TIMEOUT
from tests.integration.archived import (
    KEY,
    WINDOW,
    brought_back,
    filled,
    handle,
    keeper_at,
    objects,
    own,
    walk_of,
)
from tests.integration.host import human, says, turns


@pytest.fixture
def keeper(redis: Redis, tmp_path: Path) -> Keeper:
    return keeper_at(redis, tmp_path)


@pytest.fixture
async def quick(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A host that does not wait long for the archive."""
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as opened:
        links = await opened._connector.links()
        monkeypatch.setattr(links.store._bring, "_timeout", 0.3)
        yield opened


async def test_what_leaves_comes_back_byte_for_byte(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    await filled(client)
    await redis.hset(KEY.key("chunks"), "bytes", b"\xff\x00 \xed\xa0\x80")  # type: ignore[misc, arg-type]
    before = await own(redis)

    kept = await keeper.archive(KEY)

    assert isinstance(kept, Kept)
    assert kept.messages == 82
    assert [name for name in await own(redis) if KEY.member in name] == [KEY.key("meta")]
    (written,) = objects(tmp_path)
    assert written.stat().st_size == kept.bytes
    lines = [json.loads(line) for line in gzip.decompress(written.read_bytes()).splitlines()]
    assert lines[0] == {"v": 1, "tenant": "default", "session": KEY.session, "incarnation": 1}
    assert await keeper.archive(KEY) == "archived"

    assert await keeper.restore(KEY)

    assert await own(redis) == before
    assert await keeper.store.archived() == []
    assert not await keeper.restore(KEY)


async def test_every_call_of_a_host_finds_it(redis: Redis, client: CompactionClient, keeper: Keeper) -> None:
    session = await filled(client)
    shown, told = await session.view(), await session.status()

    async with brought_back(keeper, redis):
        for call in (
            lambda: session.view(),
            lambda: handle(client).view(),
            lambda: handle(client).status(),
            lambda: handle(client).generations(),
            lambda: handle(client).events(),
            lambda: session.record([human("And now?"), says("Later.")], ids=["a", "b"]),
            lambda: handle(client).search("module"),
            lambda: session.request(),
        ):
            await client.run_due(summarizer=FakeSummarizer())
            assert isinstance(await keeper.archive(KEY), Kept)
            assert await call()
            assert await keeper.store.stub(KEY) is None
    assert (await handle(client).view(generation=0, window=1_000_000)).messages[:82] == (
        await session.view(generation=0, window=1_000_000)
    ).messages[:82]
    assert shown.generation == told.generation


async def test_a_host_without_a_worker_goes_on_as_in_an_outage(
    redis: Redis, client: CompactionClient, quick: CompactionClient, keeper: Keeper
) -> None:
    await filled(client)
    session = handle(quick)
    seen = await session.view()
    await keeper.archive(KEY)

    done = await session.record([human("Are you there?")])
    shown = await session.view()
    with pytest.raises(Archived, match="OFFTURN_ARCHIVE_URL"):
        await handle(quick, KEY.session).status()
    assert issubclass(Archived, StoreUnavailable)

    assert not done.durable
    assert shown.stale
    assert shown.messages[: len(seen.messages)] == seen.messages
    async with brought_back(keeper, redis):
        assert not (await handle(client).view()).stale
        again = await session.record([says("Yes.")])
    assert again.durable
    assert session.undelivered() == []
    raw = await handle(client).view(generation=0, window=1_000_000)
    assert [one["content"] for one in raw.messages[-2:]] == ["Are you there?", "Yes."]


async def test_what_is_due_running_or_changed_stays(
    redis: Redis, client: CompactionClient, keeper: Keeper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = await filled(client)
    store = SessionStore(redis)
    await session.request()
    assert await keeper.archive(KEY) == "due"
    await store.claim(KEY, token="t", lease_ms=60_000)
    assert await keeper.archive(KEY) == "running"
    assert await keeper.archive(SessionKey("default", "none")) == "gone"

    await redis.zrem("offturn:{s00}:due", KEY.member)
    await redis.hset(KEY.key("meta"), "leased_until", "0")  # type: ignore[misc]
    size = keeper.objects.size

    async def meanwhile(name: str) -> int:
        await session.record([human("Wait!")])
        return await size(name)

    monkeypatch.setattr(keeper.objects, "size", meanwhile)
    assert await keeper.archive(KEY) == "changed"
    raw = await session.view(generation=0, window=1_000_000)
    assert raw.messages[-1] == human("Wait!")
    monkeypatch.undo()
    await walk_of(keeper).once()
    assert objects(tmp_path) == []


@pytest.mark.parametrize("changed", ["chunks", "events", "log"])
async def test_each_key_must_be_as_it_was_written(
    redis: Redis, client: CompactionClient, keeper: Keeper, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    await filled(client)
    commands: Any = redis
    size = keeper.objects.size

    async def meanwhile(name: str) -> int:
        if changed == "chunks":
            await commands.hset(KEY.key("chunks"), "late", "paid")
        elif changed == "events":
            await commands.xadd(KEY.key("events"), {"kind": "late"})
        else:
            await commands.rpush(KEY.key("log"), "late")
        return await size(name)

    monkeypatch.setattr(keeper.objects, "size", meanwhile)
    assert await keeper.archive(KEY) == "changed"
    assert await commands.exists(KEY.key("log"))


async def test_a_purge_needs_no_restore_and_takes_the_object(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    await filled(client)
    await keeper.archive(KEY)

    await handle(client).purge()

    assert await keeper.store.stub(KEY) is None
    assert await keeper.store.archived() == []
    await walk_of(keeper).once()
    assert objects(tmp_path) == []
    await handle(client).record([human("Anew.")])
    meta = await SessionStore(redis).meta(KEY)
    assert meta is not None
    assert meta.incarnation == 2


async def test_what_waits_for_an_archived_session_goes_with_it(
    redis: Redis, client: CompactionClient, quick: CompactionClient, keeper: Keeper
) -> None:
    await filled(client)
    session = handle(quick)
    await session.status()
    assert isinstance(await keeper.archive(KEY), Kept)
    assert not (await session.record([human("Forget me.")])).durable

    await session.purge()

    assert quick.undelivered() == []
    await quick.close()  # which tries once more
    assert await SessionStore(redis).meta(KEY) is None


async def test_a_host_whose_server_user_may_not_touch_the_archives_lists_purges(
    redis: Redis, client: CompactionClient, keeper: Keeper, valkey_url: str, tmp_path: Path
) -> None:
    await filled(client)
    await keeper.archive(KEY)
    shared = ("due", "dead", "seen", "packing", "tenants")
    granted = ("~offturn:{s00}:default:*", *(f"~offturn:{{s00}}:{name}" for name in shared), "~offturn:queue")
    commands: Any = redis
    await commands.execute_command("ACL", "SETUSER", "narrow", "reset", "on", ">pw", *granted, "&*", "+@all")
    try:
        async with CompactionClient.from_url(valkey_url.replace("://", "://narrow:pw@"), timeout=20) as narrow:
            await handle(narrow).purge()
    finally:
        await commands.execute_command("ACL", "DELUSER", "narrow")

    assert await keeper.store.stub(KEY) is None
    for _ in range(2):  # the walk finds the object, then deletes it
        await walk_of(keeper).once()
    assert objects(tmp_path) == []
    assert await keeper.store.archived() == []


async def test_what_a_restore_has_filled_is_no_session(
    redis: Redis, client: CompactionClient, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(client)
    await keeper.archive(KEY)
    seen: list[list[SessionKey]] = []
    activate = keeper.store.activate

    async def looked(*args: Any) -> bool:
        seen.append(await client.sessions())
        assert (await keeper.store.resting(0))[1] == []
        return await activate(*args)

    monkeypatch.setattr(keeper.store, "activate", looked)
    assert await keeper.restore(KEY)

    assert seen == [[]]
    assert await client.sessions() == [KEY]


async def test_a_redaction_restores_first_and_the_object_goes(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    await filled(client)
    await keeper.archive(KEY)

    async with brought_back(keeper, redis):
        await handle(client).redact([0], reason="asked")

    await redis.zadd("offturn:{s00}:trash", dict.fromkeys(await redis.zrange("offturn:{s00}:trash", 0, -1), 1))
    await walk_of(keeper).once()
    assert objects(tmp_path) == []


async def test_a_missing_or_damaged_object_is_said_and_nothing_is_deleted(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    await filled(client)
    before = await own(redis)
    await keeper.archive(KEY)
    (written,) = objects(tmp_path)
    whole = written.read_bytes()

    async with brought_back(keeper, redis):
        written.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(StoreFault, match=f"object default/.*{written.name} is damaged"):
            await handle(client).view()
        text = gzip.decompress(whole).replace(b"row 1", b"row X", 1)
        written.write_bytes(gzip.compress(text))
        with pytest.raises(StoreFault, match="is damaged"):
            await handle(client).view()
        written.unlink()
        with pytest.raises(StoreFault, match="is not there"):
            await handle(client).view()
        assert [name for name in await own(redis) if KEY.member in name] == [KEY.key("meta")]
        written.write_bytes(whole)
        await handle(client).status()
    after = await own(redis)
    assert after == before


async def test_an_expired_session_takes_its_object_with_it(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    session = client.session(KEY.session, format="openai-chat", window=WINDOW, overrides={"session.ttl": 3600})
    await session.record(turns("openai-chat", 2))
    await keeper.archive(KEY)
    assert 0 < await redis.pttl(KEY.key("meta")) <= 3_600_000
    async with brought_back(keeper, redis):
        await handle(client).view()
    for kind in ("meta", "log", "ops"):
        assert 0 < await redis.pttl(KEY.key(kind)) <= 3_600_000
    await keeper.archive(KEY)

    await redis.delete(KEY.key("meta"))  # as the TTL does
    walk = walk_of(keeper)
    await walk.once()
    assert await keeper.store.archived() == []
    await redis.zadd("offturn:{s00}:trash", dict.fromkeys(await redis.zrange("offturn:{s00}:trash", 0, -1), 1))
    await walk.once()
    assert objects(tmp_path) == []
    assert not await redis.exists("offturn:{s00}:trash")


async def test_the_walk_takes_what_is_idle_and_leaves_the_rest(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path
) -> None:
    for number in range(30):
        await handle(client, f"s{number}").record([human("Hello?"), says("Yes.")])
    for number in range(20):
        await redis.hset(SessionKey("default", f"s{number}").key("meta"), "updated", "1")  # type: ignore[misc]
    await handle(client, "s0").request()
    await redis.hset(SessionKey("default", "s0").key("meta"), "updated", "1")  # type: ignore[misc]
    walk, other = walk_of(keeper, after=3600), walk_of(keeper, after=3600)

    gone = await walk.once()

    assert gone == 19
    assert {one.key.session for one in await keeper.store.archived()} == {f"s{n}" for n in range(1, 20)}
    assert await other.once() == 0  # nobody walks for a while after a round
    assert len(await client.sessions()) == 11
    assert len(objects(tmp_path)) == 19


async def test_a_session_that_cannot_be_read_stays_and_keeps_no_other(
    redis: Redis, client: CompactionClient, keeper: Keeper
) -> None:
    commands: Any = redis
    for name in ("torn", "odd", "good", "leased", "version"):
        await handle(client, name).record([human("Hello?")])
        await commands.hset(SessionKey("default", name).key("meta"), "updated", "1")
    await commands.hset(SessionKey("default", "torn").key("meta"), "incarnation", "none")
    await commands.hset(SessionKey("default", "leased").key("meta"), "leased_until", "soon")
    await commands.hset(SessionKey("default", "version").key("meta"), "v", b"\xff")
    await commands.delete(SessionKey("default", "odd").key("ids"))
    await commands.sadd(SessionKey("default", "odd").key("ids"), "x")
    await commands.hset("offturn:{s00}:walk", "place", "of a later release")

    gone = await walk_of(keeper, after=60).once()

    assert gone == 1
    assert [one.key.session for one in await keeper.store.archived()] == ["good"]
    assert await commands.exists(SessionKey("default", "odd").key("log"), SessionKey("default", "torn").key("log")) == 2
    with pytest.raises(StoreFault, match="ids is a set"):
        await keeper.archive(SessionKey("default", "odd"))
