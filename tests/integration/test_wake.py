"""A ring wakes the workers that listen; nothing depends on it but how soon a job starts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from offturn.connect import open_redis
from offturn.doorbell import Doorbell
from offturn.stopping import stop
from offturn_config.keys import QUEUE, WAKE, SessionKey
from offturn_engine.outcome import Outcome
from offturn_worker.slots import asking
from offturn_worker.wake import Wake
from tests.conftest import TIMEOUT
from tests.integration.servers import running
from tests.integration.shell import KEY, Compaction, settings, ticks, until, until_empty, working

NEVER = {"poll_seconds": 3600.0, "sweep_seconds": 3600.0}  # only a ring starts a job


async def listeners(redis: Redis) -> int:
    ((_, count),) = await redis.pubsub_numsub(WAKE)
    return int(count)


async def command(redis: Redis, *words: str) -> Any:
    execute: Callable[..., Awaitable[Any]] = redis.execute_command
    return await execute(*words)


async def looks(redis: Redis) -> int:
    """How often `take.lua` has read the queue."""
    return int((await redis.info("commandstats")).get("cmdstat_zrange", {}).get("calls", 0))


async def until_listening(redis: Redis) -> None:
    async for _ in ticks():
        if await listeners(redis):
            return


async def test_a_ring_starts_a_job_without_a_look(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url, **NEVER), compact):
        await until_listening(redis)
        for number in range(1, 4):
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), number)
            await until(lambda: len(compact.begun) == number)  # noqa: B023 - awaited at once
        await until_empty(redis)


async def test_what_was_rung_before_anybody_listened_is_found(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    await Doorbell(redis).ring(KEY, 1)
    async with working(settings(valkey_url, **NEVER), compact):
        await until(lambda: compact.begun)


async def test_a_free_slot_takes_the_next_job_without_a_look(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url, max_jobs=1, **NEVER), compact):
        await until_listening(redis)
        for number in range(4):
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)
        await until(lambda: compact.begun)
        compact.go.set()
        await until(lambda: len(compact.begun) == 4)


async def test_a_summary_that_is_there_makes_its_worker_look(redis: Redis, valkey_url: str) -> None:
    compact, answer = Compaction(), asyncio.Event()
    compact.go.clear()

    async def by_a_model(key: SessionKey) -> Outcome:
        async with asking():
            await answer.wait()
        return await compact(key)

    async with working(settings(valkey_url, max_jobs=1, **NEVER), by_a_model):
        await until_listening(redis)
        for number in range(2):
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)
        answer.set()
        await until(lambda: compact.begun == ["s0", "s1"])  # the first one still runs
        compact.go.set()
        await until_empty(redis)


async def test_a_lost_subscription_is_made_anew(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url, **NEVER), compact):
        for number in range(1, 3):
            await until_listening(redis)
            await command(redis, "CLIENT", "KILL", "TYPE", "pubsub")
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)  # nobody hears it
            await until(lambda: len(compact.begun) == number)  # noqa: B023 - awaited at once


async def test_without_a_subscription_the_looks_go_on(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(self: Wake) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Wake, "run", deaf)
    compact = Compaction()
    async with working(settings(valkey_url, sweep_seconds=3600.0), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)


async def test_rings_of_a_queue_of_its_own_are_heard_there(redis: Redis, valkey_url: str, tmp_path: Path) -> None:
    compact = Compaction()
    with running(tmp_path) as server:
        async with working(settings(valkey_url, queue_url=server.url, **NEVER), compact):
            client = await open_redis(server.url, timeout=TIMEOUT)
            await until_listening(client)
            assert await listeners(redis) == 0
            await Doorbell(client).ring(KEY, 1)
            await until(lambda: compact.begun)
            await client.aclose()


async def test_a_ring_that_is_heard_is_told_and_a_subscription_is_not(redis: Redis) -> None:
    heard: list[int] = []
    wake = Wake(redis, rung=lambda: heard.append(1))
    listening = asyncio.create_task(wake.run())
    await until_listening(redis)
    await Doorbell(redis).ring(KEY, 1)
    await until(lambda: heard)
    await stop(listening)
    assert heard == [1]


async def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as server:
        client = await open_redis(server.url, timeout=TIMEOUT)
        calls, get_message = list[float](), cast("Any", PubSub.get_message)

        async def hear(channel: PubSub, timeout: float) -> Any:  # noqa: ASYNC109 -- redis-py's
            """The subscription, then a silence, an answer, a silence and so on; while it runs, an answer may take its time."""
            calls.append(timeout)
            if len(calls) == 8:  # a silence, after three that were answered
                server.freeze()
            answered = len(calls) % 2 == 1 and len(calls) < 8
            return await get_message(channel, timeout=TIMEOUT if answered else timeout)

        monkeypatch.setattr(PubSub, "get_message", hear)
        listening = asyncio.create_task(Wake(client, silence=0.1)._listen())
        try:
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(listening, TIMEOUT)
            assert calls == [0.1] * 9
        finally:
            server.thaw()
            await client.aclose()


async def test_nobody_rings_and_nothing_is_asked(redis: Redis, valkey_url: str) -> None:
    await redis.config_resetstat()
    async with working(settings(valkey_url, **NEVER), Compaction()):
        async for _ in ticks():
            if await looks(redis) == 2:  # at the start, and when it was heard
                break
        await redis.config_resetstat()
        await asyncio.sleep(1.0)
        assert await looks(redis) == 0


async def test_who_may_not_publish_rings_all_the_same(redis: Redis) -> None:
    await command(redis, "ACL", "SETUSER", "host", "on", ">word", "~*", "+@all", "resetchannels")
    options = redis.connection_pool.connection_kwargs
    host = Redis(host=options["host"], port=options["port"], username="host", password="word")
    try:
        assert await Doorbell(host).ring(KEY, 1)
        assert await redis.zcard(QUEUE) == 1
    finally:
        await host.aclose()
        await command(redis, "ACL", "DELUSER", "host")
