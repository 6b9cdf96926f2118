"""What is true of all workers together is read when it is asked for, and a server that is away costs its own numbers only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.store.limits import SharedLimits
from offturn.store.pausing import Pauses
from offturn.store.sessions import SessionStore
from offturn.store.workers import About, Workers
from offturn_config import keys
from offturn_config.keys import QUEUE
from offturn_worker import fleet
from offturn_worker.fleet import Fleet
from tests.conftest import TIMEOUT
from tests.integration.clocks import Deadlines
from tests.integration.test_metrics import read
from tests.skew.record_dumps import handle, talk

SMALL, LARGE = "openai:small", "anthropic:large"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not pass for a server that is away."""
    monkeypatch.setattr(fleet, "SECONDS", TIMEOUT)


@pytest.fixture
async def nobody() -> AsyncIterator[Redis]:
    """A client of a port where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        client = Redis(port=held.getsockname()[1], retry=None)
        yield client
        await client.aclose()


async def test_due_parked_and_queued_are_told(redis: Redis, client: CompactionClient) -> None:
    for name in ("one", "two"):
        await handle(client, name).record(talk(24))
    store = SessionStore(redis)
    now = await store.now_ms()
    await redis.zadd(keys.due(), {handle(client, "one").key.member: now - 60_000})
    await redis.zadd(keys.due(), {"default:later": now + 60_000})
    await redis.hset(keys.dead(), "default:three", "{}")  # type: ignore[misc]  # its types leave open whether it is awaited
    text = await Fleet(redis, redis).text()
    assert read(text, "offturn_due_sessions") == 2
    waited = read(text, "offturn_oldest_due_seconds")
    assert waited is not None
    assert waited >= 60
    assert read(text, "offturn_parked_sessions") == 1
    assert read(text, "offturn_queue_length") == await redis.zcard(QUEUE) == 2


async def test_where_nothing_is_due_the_age_is_zero(redis: Redis) -> None:
    assert read(await Fleet(redis, redis).text(), "offturn_oldest_due_seconds") == 0


async def test_what_is_paused_asks_for_no_more_workers(redis: Redis) -> None:
    now = await SessionStore(redis).now_ms()
    await redis.zadd(keys.due(), {"acme:old": now - 90_000, "default:young": now - 30_000})
    pauses = Pauses(redis)
    await pauses.begin("acme")
    text = await Fleet(redis, redis).text()
    waited = read(text, "offturn_oldest_due_seconds")
    assert waited is not None
    assert 30 <= waited < 90
    assert read(text, "offturn_due_sessions") == 2
    assert read(text, "offturn_pauses") == 1
    await pauses.begin(None)
    text = await Fleet(redis, redis).text()
    assert read(text, "offturn_oldest_due_seconds") == 0
    assert read(text, "offturn_pauses") == 2


async def test_many_sessions_of_a_paused_tenant_do_not_make_the_store_look_away(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines = Deadlines()
    monkeypatch.setattr("offturn_worker.fleet.asyncio", deadlines)

    async def endless(*_: object, **__: object) -> None:
        deadlines.end()
        await asyncio.sleep(3600)

    await Pauses(redis).begin("acme")
    monkeypatch.setattr(SessionStore, "due", endless)
    text = await Fleet(redis, redis).text()
    assert read(text, "offturn_up_store") == 1
    assert read(text, "offturn_pauses") == 1
    assert read(text, "offturn_oldest_due_seconds") is None
    assert max(deadlines.seconds) <= TIMEOUT


async def test_workers_are_counted_by_state(redis: Redis) -> None:
    workers = Workers(redis)
    await workers.beat("a", About())
    await workers.beat("b", About())
    await workers.beat("c", About(draining=True))
    await workers.beat("bot", About(kind="in-process"))
    text = await Fleet(redis, redis).text()
    counts = {state: read(text, "offturn_workers", state=state) for state in ("ready", "draining", "in_process")}
    assert counts == {"ready": 2, "draining": 1, "in_process": 1}


def state_of(text: bytes, model: str) -> list[str]:
    return [
        state for state in ("closed", "half_open", "open") if read(text, "offturn_breaker", model=model, state=state)
    ]


async def test_a_breaker_is_closed_open_or_half_open(redis: Redis) -> None:
    limits, numbers = SharedLimits(redis), Fleet(redis, redis, (SMALL, LARGE))
    assert [state_of(await numbers.text(), model) for model in (SMALL, LARGE)] == [["closed"], ["closed"]]

    trouble: Any = {"trouble": "overloaded", "longest_ms": 60_000, "failures": 2}
    await limits.route_leave(f"{SMALL}#key", token="1", pause_ms=60_000, **trouble)
    assert state_of(await numbers.text(), SMALL) == ["closed"]  # one failure opens nothing
    await limits.route_leave(f"{SMALL}#key", token="2", pause_ms=60_000, **trouble)
    for token in ("3", "4"):
        await limits.route_leave(f"{LARGE}#key", token=token, pause_ms=0, **trouble)
    text = await numbers.text()
    assert [state_of(text, model) for model in (SMALL, LARGE)] == [["open"], ["half_open"]]
    assert b"#key" not in text


async def test_of_two_keys_of_one_model_the_worse_is_told(redis: Redis) -> None:
    trouble: Any = {"trouble": "auth", "permanent": True, "longest_ms": 60_000}
    limits = SharedLimits(redis)
    for entry, pause in ((f"{SMALL}#a", 60_000), (f"{SMALL}#b", 0)):
        await limits.route_leave(entry, token="t", failures=5, pause_ms=pause, **trouble)
    assert state_of(await Fleet(redis, redis).text(), SMALL) == ["open"]


async def test_a_store_that_is_away_costs_its_own_numbers_only(redis: Redis, nobody: Redis) -> None:
    text = await Fleet(nobody, redis, (SMALL,)).text()
    assert read(text, "offturn_up_store") == 0
    assert read(text, "offturn_up_queue") == 1
    assert read(text, "offturn_queue_length") == 0
    for absent in ("due_sessions", "oldest_due_seconds", "parked_sessions", "workers", "breaker"):
        assert f"\noffturn_{absent}".encode() not in text, absent


async def test_a_queue_that_is_away_too(redis: Redis, nobody: Redis) -> None:
    text = await Fleet(redis, nobody).text()
    assert read(text, "offturn_up_store") == 1
    assert read(text, "offturn_up_queue") == 0
    assert read(text, "offturn_queue_length") is None


async def test_a_silent_store_does_not_hold_a_scrape_up(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "SECONDS", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        client = Redis(port=server.sockets[0].getsockname()[1])
        async with asyncio.timeout(100):
            text = await Fleet(client, redis).text()
        await client.aclose(close_connection_pool=True)
    assert read(text, "offturn_up_store") == 0
