"""How a worker takes jobs: one step a look, each job once, and few looks where there is nothing to take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from arq import constants
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import Doorbell, job_id
from offturn.stopping import stop
from offturn_config.keys import QUEUE, SessionKey, polling
from offturn_engine.outcome import Outcome
from offturn_worker.jobs import Compact
from offturn_worker.outage import Watch
from offturn_worker.poller import EMPTY_SECONDS, HEALTH_SECONDS, Poller
from offturn_worker.slots import asking
from offturn_worker.wake import Wake
from tests.conftest import TIMEOUT
from tests.integration.host import turns
from tests.integration.shell import Compaction, lock_of, settings, until, working

KEYS = [SessionKey("default", f"s{number}") for number in range(5)]
HOUR_MS = 3_600_000
LEASE_MS = 60_000  # no lock runs out while a test looks at it


def poller(redis: Redis, compact: Compact, url: str, **values: Any) -> Poller:
    watch, wake = Watch({"queue": redis}, lease_ms=LEASE_MS), Wake(redis)
    return Poller(redis, compact, settings(url, lease_ms=LEASE_MS, **values), watch=watch, wake=wake, beat=lambda: None)


async def ring(redis: Redis, keys: list[SessionKey] = KEYS) -> None:
    for key in keys:
        assert await Doorbell(redis).ring(key, 1)


async def asked(redis: Redis) -> dict[str, int]:
    return {name: facts["calls"] for name, facts in (await redis.info("commandstats")).items()}


async def test_a_look_takes_as_many_jobs_as_there_are_slots(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    await ring(redis)
    looking = poller(redis, compact, valkey_url, max_jobs=2)
    await looking._poll_iteration()
    assert list(looking.tasks) == [job_id(key, 1) for key in KEYS[:2]]  # the oldest first
    await until(lambda: len(compact.begun) == 2)
    assert [await redis.exists(lock_of(key)) for key in KEYS] == [1, 1, 0, 0, 0]
    assert 0 < await redis.pttl(lock_of(KEYS[0])) <= LEASE_MS
    await looking._poll_iteration()
    assert len(compact.begun) == 2
    compact.go.set()
    await looking.drain(TIMEOUT)
    await looking._poll_iteration()
    assert list(looking.tasks) == [job_id(key, 1) for key in KEYS[2:4]]
    await looking.drain(TIMEOUT)
    assert sorted(compact.begun) == ["s0", "s1", "s2", "s3"]


async def test_a_job_whose_summary_is_there_leaves_its_slot_to_the_next_one(redis: Redis, valkey_url: str) -> None:
    """And of these there are two at most when a new one begins."""
    compact, asked = Compaction(), dict[str, asyncio.Event]()
    compact.go.clear()

    async def by_a_model(key: SessionKey) -> Outcome:
        async with asking():
            await asked.setdefault(key.session, asyncio.Event()).wait()
        return await compact(key)

    await ring(redis)
    looking = poller(redis, by_a_model, valkey_url, max_jobs=2)
    for running, answered in ((2, ()), (3, ("s0",)), (4, ("s1",)), (4, ("s2", "s3"))):
        for name in answered:
            asked[name].set()
        await until(lambda: set(compact.begun) == {name for name, one in asked.items() if one.is_set()})
        await looking._poll_iteration()
        assert len(looking.tasks) == running
        await until(lambda: set(asked) >= {key.session for key in KEYS[: len(looking.tasks)]})
    compact.go.set()
    await until(lambda: all(task.done() for task in looking.tasks.values()))
    await looking._poll_iteration()
    await until(lambda: len(asked) == 5)
    asked["s4"].set()
    await looking.drain(TIMEOUT)
    assert compact.begun == ["s0", "s1", "s2", "s3", "s4"]


async def test_workers_that_look_at_once_take_each_job_once(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact, all_have_one = Compaction(), asyncio.Barrier(4)

    def at_once(take: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        asked = list[int]()

        async def taken(**given: Any) -> Any:
            found = await take(**given)
            asked.append(1)
            if len(asked) == 1:
                await all_have_one.wait()
            return found

        return taken

    await ring(redis)
    crew = [poller(redis, compact, valkey_url, max_jobs=4) for _ in range(4)]
    for one in crew:
        monkeypatch.setattr(one, "_take", at_once(one._take))
    await asyncio.gather(*(one._poll_iteration() for one in crew))
    shares = [len(one.tasks) for one in crew]
    for one in crew:
        await one.drain(TIMEOUT)
    assert sorted(compact.begun) == [key.session for key in KEYS]
    assert await redis.zcard(QUEUE) == 0
    assert sorted(shares) == [1, 1, 1, 2]  # a look takes one at a time, and leaves something for the others


async def test_a_job_is_taken_in_one_step(redis: Redis, valkey_url: str) -> None:
    """Where arq asks four things for each candidate; and who comes too late has asked one."""
    first, second = (poller(redis, Compaction(), valkey_url) for _ in range(2))
    for one in (first, second):
        await one._poll_iteration()  # connects, and tells that it looks
    await ring(redis, KEYS[:1])
    await redis.config_resetstat()
    await first._poll_iteration()
    await second._poll_iteration()
    counts = await asked(redis)
    assert counts["cmdstat_evalsha"] == 2
    assert "cmdstat_watch" not in counts
    assert "cmdstat_zrangebyscore" not in counts
    await first.drain(TIMEOUT)


async def test_a_job_of_later_waits_by_the_servers_clock(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact = Compaction()
    await ring(redis, KEYS[:2])
    seconds, _ = await redis.time()
    await redis.zadd(QUEUE, {job_id(KEYS[1], 1): seconds * 1000 + HOUR_MS})
    right = time.time
    looking = poller(redis, compact, valkey_url)
    for wrong in (-2 * HOUR_MS, 2 * HOUR_MS):  # the worker's own clock says another time
        monkeypatch.setattr(time, "time", lambda wrong=wrong: right() + wrong / 1000)
        await looking._poll_iteration()
        await looking.drain(TIMEOUT)
        assert compact.begun == ["s0"]
    assert await redis.zrange(QUEUE, 0, -1) == [job_id(KEYS[1], 1).encode()]
    await redis.zadd(QUEUE, {job_id(KEYS[1], 1): seconds * 1000})
    await looking._poll_iteration()
    await looking.drain(TIMEOUT)
    assert compact.begun == ["s0", "s1"]


async def test_thousands_of_running_jobs_in_front_hide_nothing(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    names = [f"elsewhere{number:05}" for number in range(2_500)]
    await redis.zadd(QUEUE, {name: 1 + number for number, name in enumerate(names)})
    await redis.mset({constants.in_progress_key_prefix + name: 1 for name in names})
    await ring(redis, KEYS[:1])
    looking = poller(redis, compact, valkey_url, max_workers=1_000)
    await looking._poll_iteration()
    await looking.drain(TIMEOUT)
    assert compact.begun == ["s0"]


async def test_an_id_that_is_no_text_leaves_no_lock(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    await redis.zadd(QUEUE, {b"\xff\xfe": 1, b"never": 0, b"long ago": float("-inf")})
    await ring(redis, KEYS[:1])
    looking = poller(redis, compact, valkey_url)
    await looking._poll_iteration()
    await looking.drain(TIMEOUT)
    assert compact.begun == ["s0"]
    assert await redis.keys(f"{constants.in_progress_key_prefix}*") == []
    assert await redis.zcard(QUEUE) == 0


async def test_an_empty_queue_is_looked_at_seldom_and_any_other_often(redis: Redis, valkey_url: str) -> None:
    """In one that is not empty a killed worker's lock may run out, and a handed back job may wait: nobody rings for them."""
    looking = poller(redis, Compaction(), valkey_url)
    often = looking.poll_delay_s
    await looking._poll_iteration()
    assert looking._rest == often  # rings are not heard
    looking._wake.hears = True
    assert looking._rest == EMPTY_SECONDS
    await redis.zadd(QUEUE, {"elsewhere": 1})
    await redis.set(f"{constants.in_progress_key_prefix}elsewhere", 1)
    await looking._poll_iteration()
    assert looking._rest == often
    await redis.delete(QUEUE)
    await looking._poll_iteration()
    assert looking._rest == EMPTY_SECONDS
    await redis.set(QUEUE, "no queue")
    await looking._poll_iteration()  # which nobody knows to be empty
    assert looking._rest == often


async def test_a_worker_that_may_not_begin_yet_looks_often(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its store has been away: who rings now is not heard again."""
    compact = Compaction()
    looking = poller(redis, compact, valkey_url)
    looking._wake.hears = True
    await looking._poll_iteration()
    assert looking._rest == EMPTY_SECONDS
    with monkeypatch.context() as away:
        away.setattr(Watch, "ready", False)
        await ring(redis, KEYS[:1])
        await looking._poll_iteration()
        assert compact.begun == []
        assert looking._rest == looking.poll_delay_s
    await looking._poll_iteration()
    await looking.drain(TIMEOUT)
    assert compact.begun == ["s0"]


async def test_a_look_at_an_empty_queue_asks_one_thing(redis: Redis, valkey_url: str) -> None:
    looking = poller(redis, Compaction(), valkey_url)
    await looking._poll_iteration()
    await redis.config_resetstat()
    await looking._poll_iteration()
    counts = await asked(redis)
    del counts["cmdstat_config|resetstat"]
    assert counts == {"cmdstat_evalsha": 1, "cmdstat_zrange": 1}


async def test_that_it_looks_is_told_for_longer_than_it_takes_to_look_again(redis: Redis, valkey_url: str) -> None:
    looking = poller(redis, Compaction(), valkey_url, worker_id="w")
    await looking._poll_iteration()
    assert await redis.pttl(polling("w")) > 1000 * (HEALTH_SECONDS + EMPTY_SECONDS)


async def test_a_job_that_nobody_heard_of_is_found_by_the_sweep(
    redis: Any, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rung by a host that may not publish: the worker believes that its queue is empty, and the session is due."""
    monkeypatch.setattr("offturn_worker.poller.EMPTY_SECONDS", 3600.0)
    await redis.execute_command("ACL", "SETUSER", "mute", "reset", "on", ">pw", "~*", "+@all", "resetchannels")
    compact = Compaction()
    try:
        async with (
            working(settings(valkey_url), compact),
            CompactionClient.from_url(valkey_url.replace("://", "://mute:pw@"), timeout=20) as client,
        ):
            await until_quiet(redis)
            session = client.session("s", format="openai-chat", window=14_000)
            await session.record(turns("openai-chat", 22, size=1_500))
            await until(lambda: compact.begun)
    finally:
        await redis.execute_command("ACL", "DELUSER", "mute")


async def until_quiet(redis: Redis) -> None:
    """The worker has heard that it listens, and looked once more: it rests."""
    looks = -1
    while looks != (now := (await asked(redis)).get("cmdstat_zrange", 0)) or now < 2:
        looks = now
        await asyncio.sleep(0.2)


async def test_wake_says_whether_it_hears(redis: Any) -> None:
    wake = Wake(redis)
    assert not wake.hears
    listening = asyncio.create_task(wake.run())
    await until(lambda: wake.hears)
    await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    await until(lambda: not wake.hears)
    await until(lambda: wake.hears)
    await stop(listening)
