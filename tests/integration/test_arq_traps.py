"""arq's settings that lose, hide or stop jobs, as this worker runs it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from arq import constants
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from offturn.doorbell import Doorbell, job_id
from offturn.store.errors import StoreFull, StoreUnavailable, mapped
from offturn_config.keys import QUEUE, SessionKey
from offturn_engine.outcome import Skipped
from offturn_worker.jobs import Compact
from offturn_worker.outage import Watch
from offturn_worker.poller import Poller
from offturn_worker.wake import Wake
from tests.integration.shell import KEY, Compaction, lock_of, settings, ticks, until, until_empty, working


def poller(redis: Redis, compact: Compact, url: str, **values: Any) -> Poller:
    watch, wake = Watch({"queue": redis}, lease_ms=1000), Wake(redis)
    return Poller(redis, compact, settings(url, **values), watch=watch, wake=wake, beat=lambda: None)


async def crowd(redis: Redis, count: int) -> None:
    """So many jobs that run elsewhere, in front of the queue."""
    names = [f"elsewhere{number:04}" for number in range(count)]
    await redis.zadd(QUEUE, {name: 1 + number for number, name in enumerate(names)})
    await redis.mset({f"{constants.in_progress_key_prefix}{name}": 1 for name in names})


@pytest.mark.parametrize(("max_workers", "found"), [(1, False), (60, True)])
async def test_what_runs_elsewhere_hides_nothing_from_a_fleet_of_the_size_told(
    redis: Redis, valkey_url: str, max_workers: int, found: bool
) -> None:
    compact = Compaction()
    await crowd(redis, 180)  # 45 workers, four jobs each
    await Doorbell(redis).ring(KEY, 1)
    looking = poller(redis, compact, valkey_url, max_workers=max_workers)
    await looking._poll_iteration()
    await looking.drain(5)
    assert bool(compact.begun) is found


async def test_what_runs_elsewhere_costs_a_look_one_question(redis: Redis, valkey_url: str) -> None:
    """Not four for each job: with a hundred workers that would be what a store does all day."""
    await crowd(redis, 180)
    looking = poller(redis, Compaction(), valkey_url, max_workers=60)
    await looking._poll_iteration()  # connects
    await redis.config_resetstat()
    await looking._poll_iteration()
    asked = {name: facts["calls"] for name, facts in (await redis.info("commandstats")).items()}
    assert asked.get("cmdstat_mget") == 1
    assert sum(asked.values()) < 10


async def test_a_job_that_misses_its_cancellation_is_not_left_behind(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asyncio.wait_for`, through which arq runs it, gives up waiting where it is cancelled twice."""
    steps = list[str]()

    async def compact(key: SessionKey) -> Skipped:
        for step in ("missed", "heard"):
            try:
                steps.append("runs")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                steps.append(step)
        raise asyncio.CancelledError

    monkeypatch.setattr("offturn_worker.poller.RELEASE_SECONDS", 0.01)
    await Doorbell(redis).ring(KEY, 1)
    looking = poller(redis, compact, valkey_url)
    await looking._poll_iteration()
    await until(lambda: steps == ["runs"])

    assert await looking.drain(0) == 1

    assert steps == ["runs", "missed", "runs", "heard"]


async def test_a_left_over_abort_stops_no_job(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    await redis.zadd(constants.abort_jobs_ss, {job_id(KEY, 1): 10**15})
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
    assert compact.cancelled == []


async def test_a_worker_that_stops_takes_no_other_ones_health_key(redis: Redis, valkey_url: str) -> None:
    async with working(settings(valkey_url, worker_id="one"), Compaction()):
        second = poller(redis, Compaction(), valkey_url, worker_id="two")
        await second._poll_iteration()
        key = f"{QUEUE}:health-check:two"
        assert await redis.exists(key)
    assert await redis.keys(f"{QUEUE}:health-check*") == [key.encode()]


async def test_no_hook_can_raise(redis: Redis, valkey_url: str) -> None:
    """Their errors end arq's loop: there are none."""
    one = poller(redis, Compaction(), valkey_url)
    hooks = (one.on_startup, one.on_shutdown, one.on_job_start, one.on_job_end, one.after_job_end)
    assert hooks == (None,) * 5
    assert one.cron_jobs == []


async def test_a_job_that_raises_whatever_it_likes_leaves_a_free_slot(redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    async with working(settings(valkey_url, max_jobs=1), compact):
        for number, fault in enumerate([ValueError("x"), OSError("x"), ResponseError("OOM x"), TimeoutError()]):
            compact.fault = fault
            await Doorbell(redis).ring(SessionKey("default", f"s{number}"), 1)
            await until(lambda: len(compact.begun) == number + 1)  # noqa: B023 - awaited at once
            await until_empty(redis)
    assert not await redis.exists(lock_of(KEY))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Error running script (call to f_1): @user_script:9: -READONLY You can't write.", StoreUnavailable),
        ("Error running script (call to f_1): @user_script:9: -MISCONF Redis is configured.", StoreUnavailable),
        ("Error running script (call to f_1): @user_script:9: -OOM command not allowed.", StoreFull),
    ],
)
async def test_what_a_script_meets_on_redis_6_2_is_known(text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind), mapped():
        raise ResponseError(text)


async def test_looks_that_fail_for_good_are_told_of_once(redis: Redis, valkey_url: str, lines: Any) -> None:
    """Somebody put another type in the queue's place: the worker waits, and does not fill the log."""
    await redis.set(QUEUE, "no queue")
    await redis.config_resetstat()
    compact = Compaction()
    patient = settings(valkey_url, lease_ms=60_000)  # with a short one a late reply passes for an outage
    async with working(patient, compact):
        async for _ in ticks():
            refused = (await redis.info("errorstats")).get("errorstat_WRONGTYPE", {"count": 0})
            if refused["count"] > 4:
                break
        await redis.delete(QUEUE)
        await Doorbell(redis).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(redis)
    assert [line["event"] for line in lines()].count("look_failed") == 1
