"""What a worker counts, and that nothing of a conversation is in it."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.doorbell import Doorbell
from offturn.recipe import run
from offturn.stopping import stop
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE
from offturn.testing import FakeSummarizer
from offturn_engine.compaction import Audit, KindAudit
from offturn_worker.app import Running, run_worker
from offturn_worker.metrics import Metrics
from tests.integration.shell import settings, ticks
from tests.skew.record_dumps import handle, talk


def samples(metrics: Metrics) -> dict[str, float]:
    lines = metrics.text().decode().splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("offturn_audit_facts_total{"))
    return {name.removeprefix("offturn_audit_facts_total"): float(value) for name, value in found.items()}


def test_facts_are_counted_by_kind_and_verdict() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.audited(Audit(kinds=(KindAudit(kind="constraint", kept=3, mutated=1),)))
    assert samples(metrics) == {
        '{kind="constraint",verdict="kept"}': 6,
        '{kind="constraint",verdict="lost"}': 0,
        '{kind="constraint",verdict="mutated"}': 2,
        '{kind="constraint",verdict="recoverable"}': 0,
    }


def test_two_workers_of_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.audited(Audit(kinds=(KindAudit(kind="file", kept=1),)))
    assert samples(other) == {}


async def test_a_committed_generation_is_audited_counted_and_shown(redis: Redis, client: CompactionClient) -> None:
    session, metrics, store = handle(client, "a secret name"), Metrics(), SessionStore(redis)
    await session.record([{"role": "user", "content": "Never touch config/prod.yaml."}, *talk(24)])
    await run(session.key, store=store, doorbell=Doorbell(redis), summarizer=FakeSummarizer(), count=metrics.audited)
    [made] = await session.generations()
    assert made.audit is not None
    told: Any = {kind.kind: kind for kind in made.audit.kinds}
    assert told["constraint"].total > 0
    assert (made.audit.lost, made.audit.mutated) == (0, 0)
    counted = samples(metrics)
    assert counted['{kind="constraint",verdict="kept"}'] == told["constraint"].kept
    assert sum(counted.values()) == sum(kind.total for kind in made.audit.kinds)
    text = metrics.text().decode()
    assert all(word not in text for word in ("secret", "8443", "module", "prod.yaml"))


async def test_a_worker_tells_it_over_http(redis: Redis, client: CompactionClient, valkey_url: str) -> None:
    session = handle(client, "s")
    await session.record([{"role": "user", "content": "Never touch config/prod.yaml."}, *talk(24)])
    up: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    worker = asyncio.create_task(run_worker(settings(valkey_url), summarizer=EXTRACTIVE, started=up.set_result))
    try:
        running = await up
        async for _ in ticks():
            if (await session.status()).current:
                break
        url = f"http://127.0.0.1:{running.health_port}/metrics"
        async with aiohttp.ClientSession() as http:
            async for _ in ticks():  # counted after the commit
                async with http.get(url) as reply:
                    text = await reply.text()
                if 'verdict="kept"' in text:
                    break
    finally:
        await stop(worker)
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'offturn_audit_facts_total{kind="constraint",verdict="kept"} 1.0' in text
