"""Jobs in a worker in this process: arq's traps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from arq import constants
from redis.asyncio import Redis

from offturn.connect import open_redis
from offturn.doorbell import Doorbell, job_id
from offturn.embedded import open_server
from offturn_config import keys
from offturn_config.keys import QUEUE, SessionKey
from offturn_config.settings import load_worker_settings
from offturn_worker import lease
from offturn_worker.app import Servers, open_servers
from offturn_worker.outage import Watch
from offturn_worker.poller import Poller
from offturn_worker.wake import Wake
from tests.conftest import TIMEOUT
from tests.integration.clocks import Naps
from tests.integration.shell import KEY, Compaction, lock_of, settings, until, until_empty, working


async def test_a_rung_job_runs_and_leaves_nothing_in_arq(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
        assert await redis.keys("arq:*") == []
    assert compact.begun == ["s1"]
    assert await redis.keys(f"{QUEUE}*") == []  # the health key too


async def test_a_used_id_can_be_rung_again(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        for _ in range(2):
            assert await Doorbell(redis).ring(KEY, 1)
            await until(lambda: compact.begun)
            compact.begun.clear()
            await until_empty(redis)


async def test_the_lock_lasts_one_lease_and_is_renewed(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps, lease_ms, compact = Naps(), 600_000, Compaction()
    monkeypatch.setattr(lease, "asyncio", naps)
    compact.go.clear()
    async with working(settings(valkey_url, lease_ms=lease_ms, job_timeout=3600.0), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        for renewals in range(8):  # twice the lease, in all
            await until(lambda: len(naps.seconds) == renewals + 1)  # noqa: B023 - awaited at once
            assert lease_ms / 2 < await redis.pttl(lock_of(KEY)) <= lease_ms
            await redis.pexpire(lock_of(KEY), lease_ms // 4)  # as if that much of it had passed
            naps.end()
        await until(lambda: len(naps.seconds) == 9)
        compact.go.set()
        await until_empty(redis)
        assert not await redis.exists(lock_of(KEY))
    assert compact.begun == ["s1"]
    assert naps.seconds == [lease_ms / 4000] * 9


async def test_a_lost_lock_starts_no_twin_in_this_process(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await redis.delete(lock_of(KEY))
        await asyncio.sleep(0.2)
        compact.go.set()
        await until_empty(redis)
    assert compact.begun == ["s1"]


async def test_a_bad_job_is_dropped_and_the_worker_goes_on(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        for number, payload in enumerate([b"\x80\x04}.", b"{}", b'{"t":null,"f":"x","a":[],"k":{},"et":1}', b"[]"]):
            await redis.psetex(f"{constants.job_key_prefix}bad{number}", 60_000, payload)
            await redis.zadd(QUEUE, {f"bad{number}": 1})
        no_tenant = b'{"t":null,"f":"compact_session","a":["NOT A TENANT","s",1],"k":{},"et":1}'
        await redis.psetex(f"{constants.job_key_prefix}bad", 60_000, no_tenant)
        await redis.zadd(QUEUE, {"bad": 1, "expired": 1})
        await until_empty(redis)
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun == ["s1"])
        await until_empty(redis)
        assert await redis.keys("arq:result:*") == []


async def test_no_more_jobs_at_a_time_than_allowed(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url, max_jobs=2), compact):
        for number in range(5):
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)
        await until(lambda: len(compact.begun) == 2)
        await asyncio.sleep(0.2)
        assert len(compact.begun) == 2
        compact.go.set()
        await until(lambda: len(compact.begun) == 5)
        await until_empty(redis)


async def test_an_answer_that_is_lost_after_a_lock_was_taken_costs_no_slot(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact, watch = Compaction(), Watch({"queue": redis}, lease_ms=1000)
    values = settings(valkey_url, max_jobs=2, lease_ms=60_000)  # no lock runs out while the answers are lost
    poller = Poller(redis, compact, values, watch=watch, wake=Wake(redis), beat=lambda: None)
    monkeypatch.setattr(Watch, "ready", True)  # an outage would keep it from looking
    take = poller._take
    for number in range(3):  # more often than there are slots
        await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)
        with monkeypatch.context() as broken:
            broken.setattr(poller, "_take", losing(take))
            await poller._poll_iteration()
        assert await redis.exists(lock_of(SessionKey("default", f"s{number}")))
    await poller._poll_iteration()
    assert (compact.begun, poller.tasks) == ([], {})  # as long as the locks last, a lease
    for number in range(3):
        await redis.delete(lock_of(SessionKey("default", f"s{number}")))
    for _ in range(2):
        await poller._poll_iteration()
        await asyncio.wait(poller.tasks.values())
    assert sorted(compact.begun) == ["s0", "s1", "s2"]


def losing(take: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def lost(**given: Any) -> Any:
        await take(**given)
        raise ConnectionError("closed by server")

    return lost


async def test_no_time_to_drain_cancels_and_hands_back(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url, drain_seconds=0.0), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
    assert compact.cancelled == ["s1"]
    assert not await redis.exists(lock_of(KEY))
    assert await redis.zrange(QUEUE, 0, -1) == [job_id(KEY, 1).encode()]
    assert await redis.exists(constants.job_key_prefix + job_id(KEY, 1))


async def test_cancelled_from_outside_it_leaves_no_job_running(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url), compact, asked=None):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
    assert compact.cancelled == ["s1"]
    assert not await redis.exists(lock_of(KEY))


async def test_arq_has_no_clock_over_a_job(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url, job_timeout=0.2, summarizer_timeout=0.1), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await asyncio.sleep(0.6)
        compact.go.set()
        await until_empty(redis)
        assert await redis.keys("arq:*") == []
    assert compact.cancelled == []


async def test_an_unreachable_store_is_told_without_secrets(lines: Callable[[], list[dict[str, Any]]]) -> None:
    values = load_worker_settings(store_url="redis://user:hunter2@127.0.0.1:1/0", timeout=0.5)
    async with open_servers(values):
        [told] = [line for line in lines() if line["event"] == "server_awaited"]
    assert told["setting"] == "OFFTURN_STORE_URL"
    assert told["url"] == "redis://***@127.0.0.1:1/0"
    assert "hunter2" not in str(told)


async def test_a_queue_of_its_own(redis: Redis, valkey_url: str, tmp_path: Path) -> None:
    server, compact = open_server(tmp_path), Compaction()
    values = settings(valkey_url, queue_url=f"redis://127.0.0.1:{server.port}/0")
    async with working(values, compact):
        client = await open_redis(str(values.queue_url), timeout=TIMEOUT)
        await Doorbell(client).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(client)
        await client.aclose()
    server.close()
    left = {keys.seen().encode(), keys.probe().encode()}  # for some seconds
    assert set(await redis.keys("*")) <= left


def test_servers_are_listed_once() -> None:
    one = Redis()
    assert Servers(store=one, queue=one).each == (one,)
    assert len(Servers(store=one, queue=Redis()).each) == 2
