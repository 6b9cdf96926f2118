"""Who is there: beats of workers and of `run_due`, `health()`, and what hosts are told when nobody is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn.doorbell import Doorbell
from offturn.embedded import open_server
from offturn.health import UNATTENDED
from offturn.store.errors import StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.store.workers import COUNTS_MS, About, Workers
from offturn_config import keys
from offturn_config.keys import QUEUE, SessionKey
from offturn_config.presets import load, names
from tests.conftest import TIMEOUT
from tests.integration.host import human, says
from tests.integration.shell import KEY, Compaction, settings, ticks, until, working

SOME = About(version="1.2", queue=QUEUE, max_jobs=3, policies={"p": "h"}, summarizers=("extractive",))
DAY_MS = 24 * 3600 * 1000


async def due_session(client: CompactionClient, name: str = "s") -> Session:
    session = client.session(name, format="openai-chat", window=14_000)
    await session.record([human("hello"), says("hi")])
    await session.request()
    return session


async def put(redis: Redis, field: str, value: str, name: str = keys.workers()) -> None:
    execute: Callable[..., Awaitable[int]] = redis.execute_command
    await execute("HSET", name, field, value)


async def held(redis: Redis) -> dict[bytes, bytes]:
    execute: Callable[..., Awaitable[dict[bytes, bytes]]] = redis.execute_command
    return await execute("HGETALL", keys.workers())


async def age(redis: Redis, key: SessionKey, ms: int) -> None:
    """As if the session had become due that long ago."""
    await redis.zincrby(keys.due(), -ms, key.member)


async def test_what_a_worker_says_is_read_as_values(redis: Redis) -> None:
    workers = Workers(redis)
    await workers.beat("a", SOME)
    await workers.beat("b", About(kind="in-process"))
    await workers.beat("a", SOME)
    found = {one.id: one for one in await SessionStore(redis).workers()}
    assert found["a"].about == SOME
    assert found["b"].about.kind == "in-process"
    assert (await SessionStore(redis).now_ms()) - found["a"].at >= found["a"].age_ms >= 0
    assert found["a"].here
    assert found["b"].here
    await workers.leave("a")
    assert [one.id for one in await workers.every()] == ["b"]


async def test_a_days_silence_is_forgotten(redis: Redis) -> None:
    workers, now = Workers(redis), await SessionStore(redis).now_ms()
    for name, at in (("old", now - DAY_MS - 60_000), ("late", now - DAY_MS + 600_000)):
        await put(redis, name, json.dumps({"at": at, "v": 1}, separators=(",", ":")))
    assert [one.id for one in await workers.every()] == ["late"]
    await workers.beat("new", SOME)
    assert sorted(await held(redis)) == [b"late", b"new"]
    assert not next(one for one in await workers.every() if one.id == "late").here


@pytest.mark.parametrize("text", ["no JSON", "5", "{}", '{"at":"x"}', '{"at":1,"summarizers":5}', "\udcff"])
async def test_what_no_worker_has_said_is_passed_over(client: CompactionClient, redis: Redis, text: str) -> None:
    """One such field, and health() and the doctor ended with a traceback."""
    await Workers(redis).beat("a", SOME)
    await put(redis, "w", text.encode("utf-8", "surrogateescape"))  # type: ignore[arg-type]
    assert [one.id for one in (await client.health()).workers] == ["a"]


async def test_a_later_releases_beat_is_read_as_far_as_it_is_known(redis: Redis) -> None:
    text = '{"at":1,"v":9,"version":"9.0","shape":"round"}'.replace("1", str(await SessionStore(redis).now_ms()), 1)
    await put(redis, "w", text)
    (found,) = await Workers(redis).every()
    assert (found.about.version, found.about.summarizers) == ("9.0", ())


async def test_a_short_beat_does_not_shorten_a_long_promise(redis: Redis) -> None:
    workers = Workers(redis)
    await workers.beat("w", SOME)
    assert 0 < await redis.pttl(keys.seen()) <= COUNTS_MS["worker"]
    await workers.beat("bot", About(kind="in-process"))
    await workers.beat("w", SOME)
    assert await redis.pttl(keys.seen()) > COUNTS_MS["worker"]


async def test_a_host_is_told_that_nobody_is_there(redis: Redis, client: CompactionClient) -> None:
    session = await due_session(client)
    assert UNATTENDED not in (await session.status()).warnings  # not at once: somebody may be starting
    await age(redis, session.key, 11_000)
    assert (await session.status()).warnings == (UNATTENDED,)
    assert UNATTENDED in (await session.record([human("more")])).warnings
    await Workers(redis).beat("w", SOME)
    assert (await session.status()).warnings == ()
    assert UNATTENDED not in (await session.record([human("and more")])).warnings
    await redis.delete(keys.seen())  # as its lifetime ends
    assert (await session.status()).warnings == (UNATTENDED,)


async def test_what_is_not_due_misses_nobody(redis: Redis, client: CompactionClient) -> None:
    session = await due_session(client)
    await redis.zadd(keys.due(), {session.key.member: 10**13})  # later, after a failure
    assert (await session.status()).warnings == ()
    await redis.zrem(keys.due(), session.key.member)
    assert (await session.status()).warnings == ()


async def test_a_bot_that_runs_its_own_jobs_misses_nobody(redis: Redis, client: CompactionClient) -> None:
    session = await due_session(client)
    await client.run_due()
    await session.request()
    await age(redis, session.key, 60_000)
    assert (await session.status()).warnings == ()
    (bot,) = (await client.health()).workers
    assert (bot.about.kind, bot.here) == ("in-process", True)


async def test_health_of_a_store(redis: Redis, client: CompactionClient) -> None:
    found = await client.health()
    assert (found.reachable, found.workers, found.due, found.oldest_due_s, found.parked) == (True, (), 0, 0.0, 0)
    assert found.server is not None
    assert found.server.split()[0] in ("valkey", "redis")
    assert not found.attended
    for name in ("one", "two", "later"):
        await due_session(client, name)
    await age(redis, SessionKey("default", "two"), 30_000)
    await redis.zadd(keys.due(), {SessionKey("default", "later").member: 10**13})
    await put(redis, "default:lost", "{}", keys.dead())
    await Workers(redis).beat("w", About(draining=True))
    found = await client.health()
    assert (found.due, found.parked) == (2, 1)
    assert 30.0 <= found.oldest_due_s < 30.0 + TIMEOUT
    assert not found.attended  # it drains
    await Workers(redis).beat("x", SOME)
    assert (await client.health()).attended


async def test_health_of_a_store_that_is_away(tmp_path: Path) -> None:
    server = open_server(tmp_path)
    async with CompactionClient.from_url(f"redis://127.0.0.1:{server.port}/0", timeout=TIMEOUT) as client:
        assert (await client.health()).reachable
        server.close()
        found = await client.health()
        assert (found.reachable, found.server, found.workers) == (False, None, ())
        with pytest.raises(StoreUnavailable):
            await client.run_due()


async def test_a_worker_is_on_the_list_while_it_runs(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    values = settings(
        valkey_url,
        worker_id="w1",
        max_jobs=2,
        summarizer="openai:m@http://user:hunter2@host/v1, anthropic:n",
        drain_seconds=60.0,
    )
    async with working(values, compact, asked=None):
        async for _ in ticks():
            if found := await Workers(redis).every():
                break
        (worker,) = found
        assert (worker.id, worker.here, worker.about.kind, worker.about.draining) == ("w1", True, "worker", False)
        assert (worker.about.queue, worker.about.max_jobs) == (QUEUE, 2)
        assert worker.about.policies == {name: load(name).hash for name in names()}
        assert worker.about.summarizers == ("openai:m", "anthropic:n")
        assert worker.about.version
        assert "hunter2" not in str(await held(redis))
    assert await Workers(redis).every() == []


async def test_a_worker_that_drains_says_so(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    values = settings(valkey_url, worker_id="w1", drain_seconds=60.0)

    async def release_when_draining() -> None:
        async for _ in ticks():
            if any(one.about.draining for one in await Workers(redis).every()):
                compact.go.set()
                return

    async with working(values, compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        releasing = asyncio.create_task(release_when_draining())
    await releasing
    assert await Workers(redis).every() == []
