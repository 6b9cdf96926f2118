"""What bounds jobs: an hour's compactions of a session, places of a tenant, attempts, and a deadline that progress moves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, Outcome, Pruned, Session, Skipped, recipe
from offturn.doorbell import Doorbell
from offturn.store.limits import SharedLimits
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_engine.errors import SummarizerError
from offturn_engine.outcome import LIMITED
from offturn_engine.summary import SummaryRequest
from offturn_worker.tenants import within_places
from tests.integration.clocks import Clock
from tests.integration.host import turns
from tests.integration.shell import ticks, until

WINDOW = 14_000


@dataclass
class Place:
    """A session that is due, and what its jobs work with."""

    session: Session
    store: SessionStore
    redis: Any
    said: int = 0

    async def run(self, summarizer: Any, **options: Any) -> Outcome:
        """A job, whenever the session would be due."""
        await self.redis.zadd(keys.due(), {self.session.key.member: 1}, xx=True)
        return await recipe.run(
            self.session.key, store=self.store, doorbell=Doorbell(self.redis), summarizer=summarizer, **options
        )

    async def grow(self) -> None:
        await self.session.record(turns("openai-chat", 24, start=self.said, size=1_500))
        self.said += 24


@pytest.fixture
async def place(client: CompactionClient, redis: Redis) -> Place:
    session = client.session("s", format="openai-chat", window=WINDOW)
    made = Place(session, SessionStore(redis), redis)
    await session.record(turns("openai-chat", 22, size=1_500))
    made.said = 22
    assert (await session.status()).due
    return made


def failing(kind: str, *, times: int = 100, retryable: bool = True) -> FakeSummarizer:
    error = SummarizerError(kind, kind, retryable=retryable, retry_after=0.1)
    return FakeSummarizer([error] * times)


# -- the deadline


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time that a job's deadline counts: none passes while a busy machine gets as far as the first request."""
    made = Clock()
    monkeypatch.setattr("offturn.progress.time", made)
    monkeypatch.setattr("offturn.progress._LONGEST_SLEEP", 0.01)
    return made


async def test_without_progress_a_job_ends_and_counts(place: Place, clock: Clock) -> None:
    closed = asyncio.Event()

    async def for_ever(_: SummaryRequest) -> None:
        clock.now += 0.3
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            closed.set()
            raise

    outcome = await place.run(FakeSummarizer(on_request=for_ever), patience=0.2)

    assert outcome == Failed(kind="stalled")
    assert closed.is_set()
    status = await place.session.status()
    assert (status.due, status.running, status.trouble) == (True, False, "1 x stalled")


async def test_each_part_that_is_kept_starts_it_anew(place: Place, clock: Clock) -> None:
    async def slow(_: SummaryRequest) -> None:
        clock.now += 0.4
        seen = clock.asked
        await until(lambda: clock.asked > seen + 1)  # the deadline was looked at

    model = FakeSummarizer(on_request=slow, window=4_700)
    outcome = await place.run(model, patience=1.0)

    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert len(model.asked) >= 3  # more than the second the job had without them


async def test_what_was_kept_before_a_stall_is_not_paid_again(place: Place, clock: Clock) -> None:
    asked: list[str] = []

    async def second_stalls(request: SummaryRequest) -> None:
        asked.append(request.key)
        if len(asked) == 2:
            clock.now += 0.6
            await asyncio.Event().wait()

    model = FakeSummarizer(on_request=second_stalls, window=4_700)
    assert await place.run(model, patience=0.5) == Failed(kind="stalled")

    assert isinstance(await place.run(model), Compacted)
    assert asked[1] == asked[2]
    assert asked.count(asked[0]) == 1


# -- attempts


async def test_failures_of_providers_do_not_count_as_attempts(place: Place) -> None:
    model = failing("overloaded")
    outcomes = [await place.run(model) for _ in range(2)]

    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert (meta.attempts, meta.failures, meta.ends) == (0, 2, ())
    assert {(o.kind, o.cause) for o in outcomes if isinstance(o, Failed)} == {("overloaded", "provider")}
    after = await place.run(model)  # the third time it does without
    assert isinstance(after, Compacted)
    assert (after.method, after.fallback) == ("extractive", "overloaded")


async def test_a_limit_of_ours_counts_as_nothing(place: Place) -> None:
    for _ in range(8):
        outcome = await place.run(failing(LIMITED))
        assert outcome == Failed(kind=LIMITED, retry_after=0.1, cause="limit")
    meta = await place.store.meta(place.session.key)
    assert meta is not None
    assert (meta.attempts, meta.failures, meta.parked) == (0, 0, False)
    assert isinstance(await place.run(FakeSummarizer()), Compacted)


async def test_a_parked_session_tells_why(place: Place, client: CompactionClient) -> None:
    for number in range(4):
        await place.store.claim(place.session.key, token=f"dies {number}", lease_ms=0, worker=f"pod-{number}")

    async def broken(_: SummaryRequest) -> None:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await place.run(FakeSummarizer(on_request=broken), worker_id="pod-9")
    assert await client.parked() == []
    assert await place.run(FakeSummarizer()) == Skipped(reason="parked")

    [letter] = await client.parked()
    assert letter.key == place.session.key
    assert letter.attempts == 6
    assert letter.why == "6 jobs in a row ended badly: 4 x died, 2 x bug"
    assert [end.worker for end in letter.ends] == ["pod-0", "pod-1", "pod-2", "pod-3", "pod-9", "pod-9"]
    assert all(0 < end.at <= letter.since for end in letter.ends)
    status = await place.session.status()
    assert (status.parked, status.trouble) == (True, "4 x died, 2 x bug")
    raw = await place.redis.hget(keys.dead(), place.session.key.member)
    assert b"module" not in raw  # of the conversation
    assert await place.store.dead_letters("other") == []

    await place.session.unblock()
    assert await client.parked() == []
    assert (await place.session.status()).trouble == ""
    assert isinstance(await place.run(FakeSummarizer()), Compacted)


# -- an hour's compactions


async def test_automatic_compactions_of_an_hour_are_limited(place: Place) -> None:
    for _ in range(2):
        assert isinstance(await place.run(FakeSummarizer(), hourly=2), Compacted | Pruned)
        await place.grow()
    assert (await place.session.status()).requirement != "none"

    model = FakeSummarizer()
    assert await place.run(model, hourly=2) == Skipped(reason="limited")
    score = await place.redis.zscore(keys.due(), place.session.key.member)
    status = await place.session.status()

    assert model.asked == []
    assert (status.due, status.parked, status.blocked) == (True, False, "")
    wait = score - await place.store.now_ms()
    assert 3_500_000 < wait <= 3_600_000  # until the first of them is an hour old
    await place.session.request()  # what is asked for is not limited
    assert isinstance(await place.run(FakeSummarizer(), hourly=2), Compacted | Pruned)


async def test_as_many_as_there_may_be_after_the_hour(place: Place) -> None:
    await place.run(FakeSummarizer(), hourly=1)
    await place.grow()
    assert await place.run(FakeSummarizer(), hourly=1) == Skipped(reason="limited")
    await place.redis.hset(place.session.key.key("meta"), "starts", "[1000]")
    assert isinstance(await place.run(FakeSummarizer(), hourly=1), Compacted | Pruned)


# -- places of a tenant


async def test_a_tenant_has_so_many_places(redis: Redis) -> None:
    running: set[str] = set()
    both, theirs, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def compact(key: SessionKey) -> Outcome:
        running.add(key.session)
        if len(running) == 2:
            both.set()
        if key.tenant == "other":
            theirs.set()
        await go.wait()
        return Skipped(reason="test")

    class Patient(SharedLimits):
        """A place outlasts whatever a busy machine does between two times that it is kept."""

        async def tenant_enter(self, key: SessionKey, *, lease_ms: int, **given: Any) -> bool:
            return await super().tenant_enter(key, lease_ms=60_000, **given)

    async def lasts() -> dict[bytes, float]:
        return dict(await redis.zrange(keys.inflight("acme"), 0, -1, withscores=True))

    limited = within_places(compact, Patient(redis), places=2, lease_ms=100)
    waiting = SessionKey("acme", "third")
    await redis.zadd(keys.due(), {waiting.member: 1})
    jobs = [asyncio.ensure_future(limited(SessionKey("acme", name))) for name in ("first", "second")]
    await both.wait()
    first = await lasts()
    async for _ in ticks():  # each place is kept
        now = await lasts()
        if all(now[token] > ends for token, ends in first.items()):
            break
    assert len(first) == 2

    assert await limited(waiting) == Skipped(reason="tenant_busy")
    assert await SessionStore(redis).due() == []  # later
    other = asyncio.ensure_future(limited(SessionKey("other", "theirs")))
    await theirs.wait()
    go.set()
    await asyncio.gather(*jobs, other)
    assert await limited(waiting) == Skipped(reason="test")
    assert await redis.keys("*inflight*") == []


async def test_a_job_that_raises_gives_its_place_back(redis: Redis) -> None:
    async def compact(_: SessionKey) -> Outcome:
        raise ZeroDivisionError

    limited = within_places(compact, SharedLimits(redis), places=1, lease_ms=60_000)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await limited(SessionKey("acme", "s"))
