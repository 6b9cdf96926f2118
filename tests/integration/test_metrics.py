"""What a worker counts, and that nothing of a conversation is in it."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import Doorbell
from offturn.recipe import run
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE
from offturn.testing import FakeSummarizer
from offturn_config.errors import InvalidSetting
from offturn_engine.compaction import Audit, Compaction, KindAudit, Spent
from offturn_engine.economics import PerMillion
from offturn_engine.errors import SummarizerError
from offturn_worker import fleet
from offturn_worker.app import Running, run_worker
from offturn_worker.labels import MOST_WORDS, OTHER
from offturn_worker.metrics import Metrics
from tests.conftest import TIMEOUT
from tests.integration.shell import settings, ticks, until_empty
from tests.skew.record_dumps import handle, talk

SMALL = "openai:small"


def read(text: bytes, name: str, **labels: str) -> float | None:
    """The one sample with these labels; None where there is none."""
    found = [
        sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if sample.name == name and sample.labels.items() >= labels.items()
    ]
    assert len(found) < 2
    return found[0] if found else None


def facts(metrics: Metrics) -> dict[str, float]:
    """The counts of facts that are not zero."""
    lines = metrics.text().decode().splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("offturn_audit_facts_total{"))
    every = {name.removeprefix("offturn_audit_facts_total"): float(value) for name, value in found.items()}
    return {name: value for name, value in every.items() if value}


def audited(*kinds: KindAudit) -> Compaction:
    return Compaction(audit=Audit(kinds=kinds))


def test_facts_are_counted_by_kind_and_verdict() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.committed(audited(KindAudit(kind="constraint", kept=3, mutated=1)))
    assert facts(metrics) == {'{kind="constraint",verdict="kept"}': 6, '{kind="constraint",verdict="mutated"}': 2}
    assert read(metrics.text(), "offturn_audit_facts_total", kind="constraint", verdict="lost") == 0


def test_two_workers_of_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.committed(audited(KindAudit(kind="file", kept=1)))
    assert facts(other) == {}


def test_a_generation_counts_by_method_and_reason_with_what_it_saves() -> None:
    metrics = Metrics()
    metrics.committed(Compaction(method="model", reason="phase", tokens_before=900, tokens_after=300))
    metrics.committed(
        Compaction(method="model", reason="phase", tokens_before=100, tokens_after=200)
    )  # an imported one
    text = metrics.text()
    assert read(text, "offturn_generations_total", method="model", reason="phase") == 2
    assert read(text, "offturn_tokens_saved_total") == 600


def test_a_claim_tells_the_wait_and_a_death() -> None:
    metrics = Metrics()
    fields: dict[str, Any] = dict.fromkeys(Claim.__dataclass_fields__, 0)
    metrics.claimed(Claim(**{**fields, "waited_ms": 2_500, "died": True}))
    text = metrics.text()
    assert read(text, "offturn_claim_wait_seconds_sum") == 2.5
    assert read(text, "offturn_leases_expired_total") == 1


def test_a_call_counts_tokens_cost_and_result() -> None:
    price = PerMillion(input=2.0, output=10.0, cached=1.0)
    metrics = Metrics((SMALL,), {SMALL: price}.get)
    for finish in ("stop", "length"):
        with metrics.call(SMALL) as call:
            call.finish = finish
            call.spent = Spent(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=100_000)
    text = metrics.text()
    assert read(text, "offturn_model_calls_total", model=SMALL, result="ok") == 1
    assert read(text, "offturn_model_calls_total", model=SMALL, result="cut") == 1
    assert read(text, "offturn_model_tokens_total", model=SMALL, kind="cached") == 1_000_000
    assert read(text, "offturn_model_cost_dollars_total", model=SMALL) == pytest.approx(2 * (1.0 + 0.5 + 1.0))
    assert read(text, "offturn_model_calls_unpriced_total", model=SMALL) is None


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (SummarizerError("rate_limited", "m", retryable=True), "rate_limited"),
        (SummarizerError("no word: 8443", "m", retryable=True), OTHER),
        (asyncio.CancelledError(), "cancelled"),
        (RuntimeError("a secret"), "error"),
    ],
)
def test_a_call_that_fails_counts_by_kind(error: BaseException, result: str) -> None:
    metrics = Metrics((SMALL,))
    with pytest.raises(type(error)), metrics.call(SMALL):
        raise error
    assert read(metrics.text(), "offturn_model_calls_total", model=SMALL, result=result) == 1
    assert read(metrics.text(), "offturn_model_call_seconds_count", model=SMALL) == 1


def test_where_nobody_can_be_asked_nothing_is_counted() -> None:
    metrics = Metrics((SMALL,))
    with pytest.raises(InvalidSetting), metrics.call(SMALL):
        raise InvalidSetting("no key")
    assert read(metrics.text(), "offturn_model_call_seconds_count", model=SMALL) is None


def test_a_paid_call_without_a_price_is_told() -> None:
    metrics = Metrics((SMALL,))
    with metrics.call(SMALL) as call:
        call.finish, call.spent = "stop", Spent(input_tokens=10, output_tokens=1)
    assert read(metrics.text(), "offturn_model_calls_unpriced_total", model=SMALL) == 1


def test_models_that_hosts_name_share_a_label() -> None:
    metrics = Metrics((SMALL,))
    for name in ("anthropic:mine", "anthropic:yours"):
        with metrics.call(name) as call:
            call.finish = "stop"
    text = metrics.text()
    assert read(text, "offturn_model_calls_total", model="anthropic:other", result="ok") == 2
    assert b"mine" not in text


def test_words_from_elsewhere_do_not_make_series_without_end() -> None:
    metrics = Metrics()
    digits = str.maketrans("0123456789", "abcdefghij")
    for number in range(MOST_WORDS + 50):
        metrics.ended("failed", f"kind_{number}".translate(digits), 0.1)
    series = [line for line in metrics.text().decode().splitlines() if line.startswith("offturn_jobs_total{")]
    assert len(series) <= MOST_WORDS + 2
    assert read(metrics.text(), "offturn_jobs_total", outcome="failed", reason=OTHER) == 50


async def test_a_committed_generation_is_audited_counted_and_shown(redis: Redis, client: CompactionClient) -> None:
    session, metrics, store = handle(client, "a secret name"), Metrics(), SessionStore(redis)
    await session.record([{"role": "user", "content": "Never touch config/prod.yaml."}, *talk(24)])
    await run(session.key, store=store, doorbell=Doorbell(redis), summarizer=FakeSummarizer(), observer=metrics)
    [made] = await session.generations()
    assert made.audit is not None
    told: Any = {kind.kind: kind for kind in made.audit.kinds}
    assert told["constraint"].total > 0
    assert (made.audit.lost, made.audit.mutated) == (0, 0)
    counted = facts(metrics)
    assert counted['{kind="constraint",verdict="kept"}'] == told["constraint"].kept
    assert sum(counted.values()) == sum(kind.total for kind in made.audit.kinds)
    text = metrics.text().decode()
    assert all(word not in text for word in ("secret", "8443", "module", "prod.yaml"))


async def test_each_step_of_a_job_is_timed_once(redis: Redis, client: CompactionClient) -> None:
    session, metrics, store = handle(client, "s"), Metrics(), SessionStore(redis)
    await session.record(talk(24))
    await run(session.key, store=store, doorbell=Doorbell(redis), summarizer=FakeSummarizer(), observer=metrics)
    text = metrics.text()
    for step in ("claim", "load", "plan", "summarise", "apply", "accept", "commit", "finish"):
        assert read(text, "offturn_step_seconds_count", step=step) == 1, step
    assert read(text, "offturn_claim_wait_seconds_count") == 1
    assert read(text, "offturn_generations_total", method="model", reason="threshold") == 1


async def test_a_worker_tells_it_over_http(
    redis: Redis, client: CompactionClient, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "SECONDS", TIMEOUT)
    session, store = handle(client, "s"), SessionStore(redis)
    await session.record([{"role": "user", "content": "Never touch config/prod.yaml."}, *talk(24)])
    up: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    worker = asyncio.create_task(run_worker(settings(valkey_url), summarizer=EXTRACTIVE, started=up.set_result))
    running = await up
    try:
        async for _ in ticks():
            if (await session.status()).current and await store.workers():  # it beats beside its jobs
                break
        url = f"http://127.0.0.1:{running.health_port}/metrics"
        async with aiohttp.ClientSession() as http:
            async for _ in ticks():  # counted after the commit
                async with http.get(url) as reply:
                    text = await reply.read()
                if read(text, "offturn_jobs_total", outcome="compacted"):
                    break
        await until_empty(redis)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        await worker
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert b'offturn_audit_facts_total{kind="constraint",verdict="kept"} 1.0' in text
    assert read(text, "offturn_up_store") == 1
    assert read(text, "offturn_up_queue") == 1
    assert read(text, "offturn_due_sessions") == 0
    assert read(text, "offturn_workers", state="ready") == 1
    assert read(text, "offturn_jobs_limit") == settings(valkey_url).max_jobs
    assert read(text, "offturn_draining") == 0
