"""Due sessions that this release cannot read: they stay due, are not parked, and the due set is read past them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, Session, recipe
from offturn.store import sessions
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_config.keys import SessionKey
from tests.integration.test_recipe import talk

Change = Callable[[Redis, Session], Awaitable[None]]


async def command(redis: Redis, *words: Any) -> Any:
    execute: Callable[..., Awaitable[Any]] = redis.execute_command
    return await execute(*words)


async def later_entry(redis: Redis, session: Session) -> None:
    name = session.key.key("log")
    item = (await command(redis, "LINDEX", name, 3)).replace(b'{"v":2,', b'{"v":3,')
    await command(redis, "LSET", name, 3, item)


async def later_config(redis: Redis, session: Session) -> None:
    await change_config(redis, session, v=2)


async def later_format(redis: Redis, session: Session) -> None:
    await change_config(redis, session, format="format-of-tomorrow")


async def change_config(redis: Redis, session: Session, **values: Any) -> None:
    name = session.key.key("meta")
    config = json.loads(await command(redis, "HGET", name, "config"))
    await command(redis, "HSET", name, "config", json.dumps({**config, **values}))


async def at_once(redis: Redis, key: SessionKey) -> None:
    await redis.zadd(keys.due(), {key.member: 1}, xx=True)


@pytest.mark.parametrize("change", [later_entry, later_config, later_format])
async def test_a_session_of_a_later_release_is_never_parked(
    redis: Redis, client: CompactionClient, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "FIRST_BACKOFF_MS", 60_000)
    session = client.session("s", format="openai-chat", window=12_000)
    await session.record(talk(36))
    kept = await redis.dump(session.key.key("meta")), await redis.dump(session.key.key("log"))
    await change(redis, session)
    for _ in range(8):  # more often than a session may fail
        (outcome,) = await client.run_due()
        assert isinstance(outcome, Failed)
        meta = await SessionStore(redis).meta(session.key)
        assert meta is not None
        assert (meta.due, meta.parked, meta.attempts, meta.leased) == (True, False, 0, False)
        assert await client.run_due() == []  # later, not at once again
        await at_once(redis, session.key)
    for name, data in zip(("meta", "log"), kept, strict=True):  # a worker that can read it
        await redis.restore(session.key.key(name), 0, data, replace=True)
    assert isinstance((await client.run_due())[0], Compacted)


async def test_the_due_set_is_read_past_what_is_no_session(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "DUE_PAGE", 3)
    store = SessionStore(redis)
    names = [f"default:s{number}" for number in range(5)]
    await redis.zadd(keys.due(), {f"NO TENANT:{number}": 1 for number in range(7)})
    await redis.zadd(keys.due(), {name: 2 + number for number, name in enumerate(names)})
    found = [key.member for key, _ in await store.due(3)]
    assert found == names[:3]
    assert [key.member for key, _ in await store.due(100)] == names
    passed = {SessionKey.of_member(name) for name in names[:4]}
    assert [key.member for key, _ in await store.due(1, but=passed)] == names[4:]
