"""What workers share: breakers of a route's entries, rates of providers, places of tenants."""

from __future__ import annotations

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.store.limits import Entered, Left, OverRate, SharedLimits, Shut
from offturn_config import keys
from offturn_config.keys import SessionKey

ENTRY = "openai:m#1"


class Breaker:
    """Short for one entry's."""

    def __init__(self, redis: Redis) -> None:
        self.redis: Any = redis
        self.limits = SharedLimits(redis)

    async def enter(self, token: str = "t", **options: Any) -> Entered | Shut | OverRate:
        return await self.limits.route_enter(ENTRY, account="openai#1", token=token, **{"probe_ms": 60_000, **options})

    async def leave(self, trouble: str | None, token: str = "t", *, permanent: bool = False, after: int = 0) -> Left:
        return await self.limits.route_leave(
            ENTRY,
            token=token,
            trouble=trouble,
            permanent=permanent,
            failures=3,
            pause_ms=50_000,
            longest_ms=150_000,
            retry_after_ms=after,
        )

    async def opened(self) -> None:
        for _ in range(3):
            await self.leave("overloaded")

    async def over(self, *names: str) -> None:
        """The time these fields name has come."""
        route = json.loads(await self.redis.hget(keys.routes(), ENTRY))
        await self.redis.hset(keys.routes(), ENTRY, json.dumps({**route, **dict.fromkeys(names or ("until",), 1)}))


@pytest.fixture
def breaker(redis: Redis) -> Breaker:
    return Breaker(redis)


async def test_it_opens_after_several_failures_in_a_row(breaker: Breaker) -> None:
    assert not (await breaker.leave("overloaded")).opened
    assert not (await breaker.leave("timeout")).opened
    await breaker.leave(None)
    for _ in range(2):
        assert not (await breaker.leave("overloaded")).opened
    assert isinstance(await breaker.enter(), Entered)
    opened = await breaker.leave("timeout")

    assert opened.opened
    assert opened.wait_ms == 50_000
    shut = await breaker.enter()
    assert isinstance(shut, Shut)
    assert (shut.reason, shut.permanent) == ("timeout", False)
    assert 0 < shut.wait_ms <= 50_000
    [route] = await breaker.limits.routes()
    assert (route.entry, route.open, route.reason, route.failures) == (ENTRY, True, "timeout", 3)
    assert route.until - route.since == 50_000


async def test_one_probe_goes_through_and_its_answer_closes_it(breaker: Breaker) -> None:
    await breaker.opened()
    await breaker.over()

    assert isinstance(await breaker.enter("probe"), Entered)
    assert isinstance(await breaker.enter("other"), Shut)
    assert await breaker.leave(None, "probe") == Left(opened=False, closed=True, wait_ms=0)

    assert isinstance(await breaker.enter("other"), Entered)
    assert await breaker.limits.routes() == []


async def test_a_probe_that_fails_doubles_the_pause(breaker: Breaker) -> None:
    await breaker.opened()
    waits = []
    for number in range(3):
        await breaker.over()
        await breaker.enter(f"probe {number}")
        waits.append((await breaker.leave("overloaded", f"probe {number}")).wait_ms)

    assert waits == [100_000, 150_000, 150_000]  # the longest


async def test_a_call_that_began_before_does_not_prolong_it(breaker: Breaker) -> None:
    await breaker.opened()
    before = (await breaker.limits.routes())[0].until

    assert not (await breaker.leave("timeout", "late")).opened

    assert (await breaker.limits.routes())[0].until == before
    assert (await breaker.leave(None, "late too")).closed  # the provider is there


async def test_a_probe_whose_worker_died_is_followed_by_another(breaker: Breaker) -> None:
    await breaker.opened()
    await breaker.over()
    await breaker.enter("dies")
    await breaker.over("probe_until")

    assert isinstance(await breaker.enter("next"), Entered)


async def test_when_to_come_back_is_honoured_at_once(breaker: Breaker) -> None:
    opened = await breaker.leave("rate_limited", after=7_000)

    assert opened == Left(opened=True, closed=False, wait_ms=7_000)
    await breaker.over()
    await breaker.enter("probe")
    assert (await breaker.leave("rate_limited", "probe", after=300_000)).wait_ms == 300_000


async def test_what_needs_a_repair_opens_it_at_once(breaker: Breaker) -> None:
    assert (await breaker.leave("auth", permanent=True)).opened
    shut = await breaker.enter()
    assert isinstance(shut, Shut)
    assert (shut.reason, shut.permanent) == ("auth", True)


async def test_entries_nobody_asks_are_forgotten(breaker: Breaker) -> None:
    await breaker.opened()
    await breaker.over("at")
    await breaker.limits.route_leave(
        "other", token="t", trouble="auth", permanent=True, failures=3, pause_ms=1, longest_ms=1
    )

    assert [route.entry for route in await breaker.limits.routes()] == ["other"]


async def test_requests_a_minute(breaker: Breaker) -> None:
    for _ in range(3):
        assert isinstance(await breaker.enter(requests_a_minute=3), Entered)
    over = await breaker.enter(requests_a_minute=3)

    assert isinstance(over, OverRate)
    assert 0 < over.wait_ms <= 20_000
    assert isinstance(await breaker.enter(), Entered)  # without a limit


async def test_tokens_a_minute(breaker: Breaker) -> None:
    rate: Any = {"tokens_a_minute": 1_000}
    assert isinstance(await breaker.enter(tokens=900, **rate), Entered)
    over = await breaker.enter(tokens=400, **rate)
    assert isinstance(over, OverRate)
    assert 0 < over.wait_ms <= 18_000  # 300 tokens are missing


async def test_a_request_above_a_whole_minute_goes_when_a_minute_is_full(breaker: Breaker) -> None:
    rate: Any = {"tokens_a_minute": 1_000}
    assert isinstance(await breaker.enter(tokens=5_000, **rate), Entered)
    over = await breaker.enter(tokens=1, **rate)
    assert isinstance(over, OverRate)
    assert 200_000 < over.wait_ms <= 300_000  # it has to be worked off


async def test_a_limited_probe_stays_a_probe(breaker: Breaker) -> None:
    await breaker.enter(requests_a_minute=1)
    await breaker.opened()
    await breaker.over()
    assert isinstance(await breaker.enter("probe", requests_a_minute=1), OverRate)
    assert isinstance(await breaker.enter("probe"), Entered)


async def test_places_of_a_tenant(redis: Redis) -> None:
    limits = SharedLimits(redis)
    one, two, foreign = SessionKey("acme", "1"), SessionKey("acme", "2"), SessionKey("other", "1")

    async def enter(key: SessionKey, token: str, lease_ms: int = 60_000) -> bool:
        return await limits.tenant_enter(key, token=token, places=1, lease_ms=lease_ms, delay_ms=5_000)

    await redis.zadd(keys.due(), {two.member: 1, foreign.member: 1})
    assert await enter(one, "a")
    assert await enter(one, "a")  # kept on
    assert not await enter(two, "b")
    assert await enter(foreign, "c")
    later = await redis.zscore(keys.due(), two.member)
    assert later is not None
    assert later > 1
    assert await redis.zscore(keys.due(), one.member) is None  # what is not due does not become it
    await limits.tenant_leave(one, token="a")
    assert await enter(two, "b", lease_ms=1)
    while not await enter(one, "a"):  # the lease of a killed worker's place runs out
        pass
