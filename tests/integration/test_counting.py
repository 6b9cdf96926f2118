"""What is counted of jobs, and what their sessions tell afterwards: adoption, emergencies, dense sessions."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import Doorbell
from offturn.recipe import run
from offturn.session import Session
from offturn.store.errors import StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_engine.outcome import Failed, Outcome, Skipped
from offturn_worker.counting import counted
from offturn_worker.jobs import Compact
from offturn_worker.metrics import Metrics
from tests.integration.test_metrics import read
from tests.skew.record_dumps import handle, talk

KEY = SessionKey("default", "s")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def compact(redis: Redis, metrics: Metrics) -> Compact:
    store = SessionStore(redis)
    means = partial(run, store=store, doorbell=Doorbell(redis), summarizer=FakeSummarizer(), observer=metrics)
    return counted(means, metrics, store)


async def again(session: Session, compact: Compact, first: int) -> None:
    """More talk, and another generation."""
    await session.record(talk(24, first))
    await compact(session.key)


async def test_how_a_job_ends_is_counted(redis: Redis) -> None:
    metrics = Metrics()
    ends: list[Outcome | BaseException] = [
        Skipped(reason="busy"),
        Failed(kind="overloaded", cause="provider"),
        StoreUnavailable("m"),
        asyncio.CancelledError(),
    ]

    async def compact(_: SessionKey) -> Outcome:
        assert read(metrics.text(), "offturn_jobs_in_flight") == 1
        end = ends.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    job = counted(compact, metrics, SessionStore(redis))
    for _ in range(2):
        await job(KEY)
    with pytest.raises(StoreUnavailable):
        await job(KEY)
    with pytest.raises(asyncio.CancelledError):
        await job(KEY)
    text = metrics.text()
    assert read(text, "offturn_jobs_total", outcome="skipped", reason="busy") == 1
    assert read(text, "offturn_jobs_total", outcome="failed", reason="overloaded") == 1
    assert read(text, "offturn_jobs_total", outcome="raised", reason="StoreUnavailable") == 1
    assert read(text, "offturn_jobs_total", outcome="cancelled", reason="") == 1
    assert read(text, "offturn_job_seconds_count", outcome="skipped") == 1
    assert read(text, "offturn_jobs_in_flight") == 0


async def test_an_adoption_is_seen_at_the_next_commit(
    client: CompactionClient, metrics: Metrics, compact: Compact
) -> None:
    session = handle(client, "s")
    await again(session, compact, 0)
    assert read(metrics.text(), "offturn_adoption_seconds_count") == 0
    assert (await session.view()).generation == 1
    await again(session, compact, 50)
    text = metrics.text()
    assert read(text, "offturn_adoption_seconds_count") == 1
    assert read(text, "offturn_generations_never_adopted_total") == 0


async def test_a_generation_nobody_was_shown_is_counted(
    client: CompactionClient, metrics: Metrics, compact: Compact
) -> None:
    session = handle(client, "s")
    await again(session, compact, 0)
    await again(session, compact, 50)
    text = metrics.text()
    assert len(await session.generations()) == 2
    assert read(text, "offturn_adoption_seconds_count") == 0
    assert read(text, "offturn_generations_never_adopted_total") == 1


async def test_a_shadow_session_is_not(client: CompactionClient, metrics: Metrics, compact: Compact) -> None:
    session = handle(client, "s")
    await again(session, compact, 0)
    await session.configure(adopt="never")
    await again(session, compact, 50)
    assert read(metrics.text(), "offturn_generations_never_adopted_total") == 0


async def test_an_emergency_is_seen_at_the_next_commit(
    client: CompactionClient, metrics: Metrics, compact: Compact
) -> None:
    session = handle(client, "s")
    await session.record(talk(200))
    assert (await session.view()).kind == "emergency"
    await again(session, compact, 200)
    made = await session.generations()
    assert [one.provisional for one in made] == [True, False]
    assert read(metrics.text(), "offturn_emergencies_total") == 1


async def test_a_breaker_that_a_claim_opens_is_counted(redis: Redis) -> None:
    metrics = Metrics()

    async def compact(_: SessionKey) -> Outcome:
        return Skipped(reason="blocked")

    await counted(compact, metrics, SessionStore(redis))(KEY)
    assert read(metrics.text(), "offturn_sessions_too_dense_total") == 1
