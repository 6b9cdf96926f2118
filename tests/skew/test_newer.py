"""Sessions that a newer release wrote. Of this major: unknown fields are passed over and kept. Of another: left alone."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, UnknownVersion
from offturn.store.entries import dumps
from offturn.store.scripts import NAMES, Scripts, texts
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Kept
from tests.integration.archived import keeper_at
from tests.integration.host import assert_sendable
from tests.skew.keyspace import dump
from tests.skew.record_dumps import handle, talk

KEY = SessionKey("default", "s")
META, LOG = KEY.key("meta"), KEY.key("log")


@pytest.fixture
async def written(redis: Redis, client: CompactionClient) -> Any:
    """A session with a generation, due again; what changes it."""
    session = handle(client, KEY.session)
    await session.record(talk(24))
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await session.record(talk(24, 24))
    return redis


def with_fields(text: bytes, *path: str) -> bytes:
    """JSON with an unknown field in the value at `path`."""
    value = json.loads(text)
    place = value
    for name in path:
        place = place[name]
    place["of_tomorrow"] = {"a": [1]}
    return json.dumps(value).encode()


async def enrich(redis: Any) -> None:
    """As a newer release of this major writes it."""
    await redis.hset(META, "of_tomorrow", "x")
    await redis.hset(META, "g:1", with_fields(await redis.hget(META, "g:1")))
    config = with_fields(await redis.hget(META, "config"))
    config = with_fields(with_fields(config, "policy"), "policy", "trigger")
    await redis.hset(META, "config", config)
    header, _, record = (await redis.get(KEY.key("gen:1"))).partition(b"\n")
    parts = json.loads(record)
    for part, inside in (("view", "spent"), ("rest", "audit")):
        fields = with_fields(with_fields(zlib.decompress(b64decode(parts[part]))), inside)
        parts[part] = b64encode(zlib.compress(fields)).decode()
    record = with_fields(dumps(parts))
    await redis.set(KEY.key("gen:1"), with_fields(header) + b"\n" + record)
    for index in range(await redis.llen(LOG)):
        chain, at, envelope = (await redis.lindex(LOG, index)).split(b" ", 2)
        await redis.lset(LOG, index, b" ".join((chain, at, with_fields(envelope))))


async def test_unknown_fields_of_this_major_are_passed_over_and_kept(written: Any, client: CompactionClient) -> None:
    await enrich(written)
    session = handle(client, KEY.session)

    view = await session.view()
    assert_sendable(view)
    assert view.generation == 1
    await session.record(talk(1, 60))
    await session.configure(overrides={"trigger.soft": 0.55})
    assert any(isinstance(outcome, Compacted) for outcome in await client.run_due(summarizer=FakeSummarizer()))
    await session.view()
    await session.rewind(turns=1)
    assert_sendable(await session.view())

    config = json.loads(await written.hget(META, "config"))
    assert [place.get("of_tomorrow") for place in (config, config["policy"], config["policy"]["trigger"])] == [
        {"a": [1]}
    ] * 3
    assert config["policy"]["trigger"]["soft"] == 0.55
    assert await written.hget(META, "of_tomorrow") == b"x"
    assert json.loads(await written.hget(META, "g:1"))["of_tomorrow"] == {"a": [1]}
    assert b"of_tomorrow" in await written.get(KEY.key("gen:1"))
    assert b"of_tomorrow" in await written.lindex(LOG, 0)


async def of_meta(redis: Any) -> None:
    await redis.hset(META, "v", "3")


async def of_config(redis: Any) -> None:
    config = json.loads(await redis.hget(META, "config"))
    await redis.hset(META, "config", json.dumps({**config, "v": 2}))


async def of_a_message(redis: Any) -> None:
    item = await redis.lindex(LOG, -1)  # what a view does not show it does not read
    await redis.lset(LOG, -1, item.replace(b'{"v":2', b'{"v":3', 1))


async def of_a_generation(redis: Any) -> None:
    stored = await redis.get(KEY.key("gen:1"))
    await redis.set(KEY.key("gen:1"), stored.replace(b'"v":2', b'"v":3', 1))


MAJORS = [of_meta, of_config, of_a_message, of_a_generation]


@pytest.mark.parametrize("change", MAJORS)
async def test_a_host_of_another_major_changes_nothing(
    change: Callable[[Any], Any], written: Any, client: CompactionClient
) -> None:
    await change(written)
    before = await dump(written)

    with pytest.raises(UnknownVersion, match="upgrade"):
        await handle(client, KEY.session).view()

    assert await dump(written) == before


@pytest.mark.parametrize("change", MAJORS)
async def test_a_worker_of_another_major_leaves_it_due_however_often(
    change: Callable[[Any], Any], written: Any, client: CompactionClient
) -> None:
    """More often than attempts are given: it is not parked, and a worker of the right release finds it due."""
    await change(written)
    unread = "events", "meta"
    before = {name: key for name, key in (await dump(written)).items() if not name.endswith(unread)}
    store, due = SessionStore(written), "offturn:{s00}:due"

    for _ in range(8):
        await written.zadd(due, {KEY.member: 1})
        assert await client.run_due(summarizer=FakeSummarizer()) == [Failed(kind="UnknownVersion", cause="store")]

    after = {name: key for name, key in (await dump(written)).items() if not name.endswith(unread)}
    assert {**after, due: None} == {**before, due: None}
    assert await written.zscore(due, KEY.member)
    assert await written.hget(META, "attempts") == b"0"
    assert await written.hget(META, "parked") in (None, b"0")
    if change is not of_meta:
        meta = await store.meta(KEY)
        assert meta is not None
        assert not meta.leased


@pytest.mark.parametrize("name", NAMES)
async def test_a_release_without_an_archive_leaves_what_is_archived_alone(name: str, written: Any) -> None:
    """Its scripts know one major only: they answer before they read their arguments."""
    await written.delete("offturn:{s00}:due")
    keeper = keeper_at(written, "memory://skew")
    assert isinstance(await keeper.archive(KEY), Kept)
    before, ours = await dump(written), "if s.v == 'archived' then return"
    assert ours in texts()[name]
    store = SessionStore(written)
    store._scripts = Scripts(written, {name: texts()[name].replace(ours, "if false then return")})

    with pytest.raises(UnknownVersion, match="upgrade"):
        await store._run(name, KEY, {"incarnation": 1})

    assert await dump(written) == before
    assert await store.sessions(KEY.tenant) == []
