"""Releases that read no packs: they refuse a session with packs, and one they take part in is not packed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Failed, UnknownVersion
from offturn.packing import unpack
from offturn.store import state
from offturn.store.scripts import NAMES, Scripts, texts
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config import keys
from tests.integration.packed import EVER, covered, opened, pack
from tests.integration.packed import small as small
from tests.integration.packed import state as state_of
from tests.skew.keyspace import Dump, dump, restore
from tests.skew.record_dumps import handle, talk
from tests.skew.test_older import DUMPS

READS = "s.v ~= '1' and s.v ~= '2'"
COUNTS = "  set('packable', length)"


async def become_older(client: CompactionClient, patch: pytest.MonkeyPatch) -> None:
    """The client is one of a release that knows of version 1 only, and of no packs."""
    store, scripts = (await client._connector.links()).store, {name: texts()[name] for name in NAMES}
    assert all(READS in text for text in scripts.values())
    assert all(COUNTS in scripts[name] for name in ("record", "undo"))
    changed = {name: text.replace(READS, "s.v ~= '1'").replace(COUNTS, "") for name, text in scripts.items()}
    store._scripts = Scripts(store._redis, changed)
    patch.setattr(state, "READABLE", ("1",))


async def test_an_older_release_changes_nothing_of_what_is_packed(
    client: CompactionClient, redis: Redis, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await covered(client)
    await pack(client, session)
    assert (await state_of(client, session)).base
    await session.request()
    before = await dump(redis)

    await become_older(client, monkeypatch)
    for call in (session.view, opened(client).view, session.purge, lambda: session.record(talk(1))):
        with pytest.raises(UnknownVersion, match="upgrade"):
            await call()
    outcomes = await client.run_due(summarizer=FakeSummarizer())

    assert outcomes == [Failed(kind="UnknownVersion", cause="store")]
    assert await dump(redis) == before
    assert await redis.zscore(keys.due(), session.key.member)


async def test_what_was_taken_apart_is_an_older_releases_again(
    client: CompactionClient, redis: Redis, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await covered(client)
    raw = (await session.view(generation=0, window=10**7)).messages
    await pack(client, session)
    store = (await client._connector.links()).store
    await unpack(store, session.key, await state_of(client, session), down_to=0)

    await become_older(client, monkeypatch)
    again = opened(client)
    assert (await again.view(generation=0, window=10**7)).messages == raw
    await again.record(talk(1))
    assert (await again.view()).generation == 1


async def test_nothing_is_packed_while_an_older_release_records(
    client: CompactionClient, redis: Any, small: None
) -> None:
    session = await covered(client)
    packable = await redis.hget(session.key.key("meta"), "packable")
    await session.record(talk(1))
    await redis.hset(session.key.key("meta"), "packable", packable)  # as an older release leaves it

    assert (await pack(client, session)).bytes == 0
    store, meta = SessionStore(redis), await state_of(client, session)
    items = await store.items(session.key, start=0, stop=4)
    assert type(await store.pack(session.key, incarnation=1, base=0, items=items, packed=b"")).__name__ == "PathMoved"
    assert meta.base == 0

    await session.record(talk(1, 1))
    assert (await pack(client, session, before_ms=EVER)).bytes


@pytest.fixture(params=DUMPS, ids=lambda path: path.stem)
def written(request: pytest.FixtureRequest) -> Dump:
    """What an older release wrote."""
    path: Path = request.param
    found: Dump = json.loads(path.read_text(encoding="utf-8"))
    return found


async def test_what_an_older_release_wrote_is_packed_once_it_is_recorded_on(
    client: CompactionClient, redis: Any, small: None, written: Dump
) -> None:
    await restore(redis, written)
    session = handle(client, "compacted")
    raw = list((await session.view(generation=0, window=10**7)).messages)

    assert (await pack(client, session)).bytes == 0
    more = talk(1, 90)
    await session.record(more)
    before = await state_of(client, session)
    assert (await pack(client, session)).bytes

    after = await state_of(client, session)
    assert after.base > 0
    assert after.log_bytes == before.log_bytes
    assert list((await handle(client, "compacted").view(generation=0, window=10**7)).messages) == [*raw, *more]
    again = await session.record(talk(1), ids=[f"row {i}" for i in range(4)])
    assert again.first_seq > again.last_seq, "ids of packed messages count"
