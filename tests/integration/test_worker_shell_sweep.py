"""The sweep rings for what is due, whatever it meets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import Doorbell, job_id
from offturn.stopping import stop
from offturn.store.errors import StoreFault, StoreUnavailable, UnknownVersion
from offturn.store.sessions import SessionStore
from offturn_config.keys import QUEUE, SessionKey, due, swept
from offturn_worker import sweep as sweeping
from offturn_worker.sweep import LIMIT, TIDY_EVERY, Sweep
from tests.integration.shell import KEY, ticks, until
from tests.skew.record_dumps import handle, talk


class Store:
    """Due sessions of a test."""

    def __init__(self) -> None:
        self.sessions: dict[SessionKey, Any] = {}
        self.fault: Exception | None = None
        self.unlisted: list[SessionKey] = []

    async def due(self, limit: int = 100, *, but: Container[SessionKey] = ()) -> list[tuple[SessionKey, int]]:
        if self.fault:
            raise self.fault
        return [(key, 1) for key in self.sessions if key not in but][:limit]

    async def meta(self, key: SessionKey) -> Any:
        found = self.sessions[key]
        if isinstance(found, Exception):
            raise found
        return found

    async def unlist(self, key: SessionKey) -> None:
        self.unlisted.append(key)
        del self.sessions[key]

    async def any_due(self) -> bool:
        return bool(self.sessions)

    async def request_numbers(self, sessions: Sequence[SessionKey]) -> list[int | None]:
        return [None] * len(sessions)

    async def sweep_turn(self, rest_ms: int) -> bool:
        return True

    async def tidy(self) -> None:
        return


class Silent:
    """A bell that nobody hears."""

    async def ring(self, key: SessionKey, request_no: int) -> bool:
        return False

    async def waiting(self, requests: Sequence[tuple[SessionKey, int]]) -> list[bool]:
        return [False] * len(requests)


class MetaOf:
    """The one field the sweep reads."""

    def __init__(self, request_no: int) -> None:
        self.request_no = request_no


async def test_the_sweep_rings_each_due_session_under_its_number(redis: Redis) -> None:
    store = Store()
    store.sessions = {KEY: MetaOf(3), SessionKey("default", "s2"): MetaOf(1)}
    sweep = Sweep(store, Doorbell(redis), seconds=1, beat=lambda: None)
    assert await sweep.once() == 2
    assert await sweep.once() == 0
    ids = {job_id(KEY, 3).encode(), job_id(SessionKey("default", "s2"), 1).encode()}
    assert set(await redis.zrange(QUEUE, 0, -1)) == ids


async def test_the_sweep_passes_over_what_it_cannot_read(redis: Redis) -> None:
    store = Store()
    newer, gone = SessionKey("default", "newer"), SessionKey("default", "gone")
    store.sessions = {newer: UnknownVersion("v 9"), gone: None, KEY: MetaOf(1)}
    assert await Sweep(store, Doorbell(redis), seconds=1, beat=lambda: None).once() == 1
    assert await redis.zrange(QUEUE, 0, -1) == [job_id(KEY, 1).encode()]


async def test_the_sweep_outlives_an_outage(redis: Redis) -> None:
    store, beats = Store(), []
    store.sessions = {KEY: MetaOf(1)}
    store.fault = StoreUnavailable("gone")
    task = asyncio.create_task(Sweep(store, Doorbell(redis), seconds=0.01, beat=lambda: beats.append(1)).run())
    await until(lambda: len(beats) >= 3)
    assert await redis.zcard(QUEUE) == 0
    store.fault = None
    async for _ in ticks():
        if await redis.zcard(QUEUE):
            break
    await stop(task)


async def test_one_sweep_is_enough_for_all_workers_for_a_while(redis: Redis) -> None:
    store = SessionStore(redis)
    assert [await store.sweep_turn(60_000) for _ in range(3)] == [True, False, False]
    await redis.pexpire(swept(), 1)  # whoever had the turn says nothing more: it ends by itself
    async for _ in ticks():
        if await store.sweep_turn(60_000):
            break


async def test_a_worker_sweeps_only_in_its_turn(redis: Redis) -> None:
    store, beats, turns = Store(), [], [False, False, True]
    store.sessions = {KEY: MetaOf(1)}

    async def turn(rest_ms: int) -> bool:
        assert rest_ms == 4
        return turns.pop(0) if turns else False

    store.sweep_turn = turn  # type: ignore[method-assign]
    task = asyncio.create_task(Sweep(store, Doorbell(redis), seconds=0.01, beat=lambda: beats.append(1)).run())
    await until(lambda: len(beats) >= 3)
    await stop(task)
    assert await redis.zcard(QUEUE) == 1


async def test_where_nothing_is_due_nobody_takes_the_turn_but_now_and_then(redis: Redis) -> None:
    store, beats, turns = Store(), list[int](), list[int]()

    async def turn(rest_ms: int) -> bool:
        turns.append(len(beats))
        return True

    store.sweep_turn = turn  # type: ignore[method-assign]
    task = asyncio.create_task(Sweep(store, Doorbell(redis), seconds=0.001, beat=lambda: beats.append(1)).run())
    await until(lambda: len(beats) >= 2 * TIDY_EVERY)
    assert turns == [TIDY_EVERY - 1, 2 * TIDY_EVERY - 1]
    store.sessions = {KEY: MetaOf(1)}
    await until(lambda: len(turns) > 2)
    await stop(task)


async def test_the_store_says_whether_any_session_is_due(redis: Redis) -> None:
    store = SessionStore(redis)
    assert not await store.any_due()
    await redis.zadd(due(), {KEY.member: 2**50})  # later is due, too
    assert await store.any_due()


async def test_a_long_queue_costs_a_sweep_two_questions(redis: Redis, client: CompactionClient) -> None:
    """And a job that the queue has lost is found among them."""
    for n in range(40):
        await handle(client, f"s{n}").record(talk(24))
    store, bell = SessionStore(redis), Doorbell(redis)
    sweep = Sweep(store, bell, seconds=1, beat=lambda: None)
    assert await redis.zcard(QUEUE) == 40
    assert await sweep.once() == 0
    await redis.config_resetstat()
    assert await sweep.once() == 0
    asked = {name: facts["calls"] for name, facts in (await redis.info("commandstats")).items()}
    assert (asked.get("cmdstat_hmget"), asked.get("cmdstat_zmscore")) == (40, 1)  # the forty in one message
    assert "cmdstat_evalsha" not in asked
    await redis.zrem(QUEUE, job_id(handle(client, "s7").key, 1))
    assert await sweep.once() == 1
    assert await bell.waiting([(handle(client, "s7").key, 1), (handle(client, "s7").key, 2)]) == [True, False]


async def test_each_sweep_tells_how_many_it_rang_for(redis: Redis) -> None:
    store, told = Store(), list[int | None]()
    store.sessions = {KEY: MetaOf(1)}
    store.fault = StoreUnavailable("gone")
    task = asyncio.create_task(Sweep(store, Doorbell(redis), seconds=0.01, beat=lambda: None, swept=told.append).run())
    await until(lambda: told)
    store.fault = None
    await until(lambda: 0 in told)
    await stop(task)
    assert told[0] is None
    assert told.count(1) == 1


def reading(store: Store, redis: Redis) -> Sweep:
    return Sweep(store, Doorbell(redis), seconds=1, beat=lambda: None)


async def test_what_cannot_be_read_starves_nobody(redis: Redis, lines: Callable[[], list[dict[str, Any]]]) -> None:
    """More unreadable sessions and dead members in front than one sweep looks at; each is told of once."""
    store, count = Store(), LIMIT + 50
    later = {SessionKey("default", f"later{n}"): UnknownVersion("v 9") for n in range(count)}
    gone = {SessionKey("default", f"gone{n}"): None for n in range(count)}
    store.sessions = {**later, **gone, KEY: MetaOf(1)}
    sweep = reading(store, redis)
    assert [await sweep.once() for _ in range(4)] == [0, 0, 1, 0]
    told = [line["session"] for line in lines() if line["event"] == "session_unreadable"]
    assert sorted(told) == sorted(key.session for key in later)


async def test_what_was_set_aside_is_looked_at_again(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    monkeypatch.setattr(sweeping, "ASIDE_SECONDS", 0.0)
    store = Store()
    store.sessions = {KEY: UnknownVersion("v 9")}
    sweep = reading(store, redis)
    assert [await sweep.once() for _ in range(3)] == [0, 0, 0]
    assert len([line for line in lines() if line["event"] == "session_unreadable"]) == 1
    store.sessions = {KEY: MetaOf(1)}  # this release was the later one
    assert await sweep.once() == 1
    store.sessions = {KEY: UnknownVersion("v 9")}
    await sweep.once()
    assert len([line for line in lines() if line["event"] == "session_unreadable"]) == 2


async def test_what_is_set_aside_is_forgotten_in_time(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "ASIDE_SECONDS", 0.0)
    monkeypatch.setattr(sweeping, "FORGOTTEN_SECONDS", 0.0)
    store = Store()
    store.sessions = {SessionKey("default", f"s{n}"): UnknownVersion("v 9") for n in range(20)}
    sweep = reading(store, redis)
    await sweep.once()
    assert len(sweep._aside) == 20
    store.sessions = {}
    await sweep.once()
    assert not sweep._aside


async def test_a_queue_that_refuses_a_ring_is_no_fault_of_the_session() -> None:
    """A cluster, or a user that may not write there: it is told of, and no session is set aside for it."""
    store = Store()
    store.sessions = {KEY: MetaOf(1)}

    class Refusing(Silent):
        async def ring(self, key: SessionKey, request_no: int) -> bool:
            raise StoreFault("CROSSSLOT")

    sweep = Sweep(store, Refusing(), seconds=1, beat=lambda: None)
    for _ in range(2):
        with pytest.raises(StoreFault):
            await sweep.once()


async def test_a_request_no_job_can_carry_is_the_sessions_fault(redis: Redis) -> None:
    store = Store()
    bad: Any = MetaOf(10**30)
    store.sessions = {SessionKey("default", "broken"): bad, KEY: MetaOf(1)}
    assert await reading(store, redis).once() == 1
