"""What the store keeps of Idempotency-Keys: the newest of each API key, and nothing is done twice for one it forgot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.links import Connector
from offturn_config import keys
from offturn_http.once import Once
from tests.http.conftest import Ask
from tests.http.serving import CHAT, says, user


@pytest.fixture
async def connector(valkey_url: str) -> AsyncIterator[Connector]:
    connector = Connector(valkey_url, None, 20.0, on_outage="raise")
    yield connector
    await connector.close()


async def test_an_api_key_has_so_many_at_most_and_the_oldest_go(connector: Connector, tenant: str) -> None:
    once = Once(connector, most=3)
    ask: Callable[..., Awaitable[Any]] = (await connector.links()).redis.execute_command

    async def kept() -> list[str]:
        return [name for name in "abcdexyz" if await ask("EXISTS", keys.once(tenant, name))]

    for name in ("a", "b", "c", "d", "e"):
        assert await once.said(tenant, "mine", name, f"print {name}") == f"print {name}"
    assert await kept() == ["c", "d", "e"]
    assert await ask("LLEN", keys.once_order(tenant, "mine")) == 3
    assert await once.said(tenant, "mine", "c", "another") == "print c"  # a repeat pushes nobody out
    assert await once.said(tenant, "theirs", "c", "another") == "print c"  # one tenant's, whoever of it asks
    assert await once.said(tenant, "theirs", "x", "print x") == "print x"
    assert await kept() == ["c", "d", "e", "x"]
    assert await once.said(tenant, "mine", "a", "new") == "new"
    assert 0 < await ask("TTL", keys.once_order(tenant, "mine")) <= 24 * 3600
    assert 0 < await ask("TTL", keys.once(tenant, "a")) <= 24 * 3600


async def test_requests_at_once_leave_no_more(connector: Connector, tenant: str) -> None:
    once = Once(connector, most=3)
    ask: Callable[..., Awaitable[Any]] = (await connector.links()).redis.execute_command
    await asyncio.gather(*(once.said(tenant, "mine", f"{i}", "p") for i in range(40)))
    left = [name for i in range(40) if await ask("EXISTS", name := keys.once(tenant, f"{i}"))]
    assert len(left) == 3


def test_a_turn_whose_key_was_forgotten_is_not_stored_twice(ask: Ask, valkey_url: str, tenant: str) -> None:
    host = ask()
    head = {"Idempotency-Key": "first"}
    first = {"session": CHAT, "messages": [user("one")]}
    assert host.post("/v1/sessions/chat/turn", json=first, headers=head).status_code == 200
    next_ = {"after": "*", "messages": [says("two")]}
    assert host.post("/v1/sessions/chat/turn", json=next_, headers={"Idempotency-Key": "next"}).status_code == 200
    asyncio.run(forget(valkey_url, tenant))
    for _ in range(2):
        again = host.post("/v1/sessions/chat/turn", json={**next_}, headers={"Idempotency-Key": "next"})
        assert again.json()["recorded"] is None
        assert again.json()["view"]["tail"] == [user("one"), says("two")]


async def forget(url: str, tenant: str) -> None:
    async with Redis.from_url(url) as redis:
        notes = [name async for name in redis.scan_iter(f"*:{tenant}:once:*")]
        assert len(notes) == 2
        await redis.unlink(*notes)
