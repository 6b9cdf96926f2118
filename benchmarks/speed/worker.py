"""A worker in front of a provider that takes twenty seconds, with jobs on sessions of a megabyte; and its start."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from typing import Any

from benchmarks.scale.fleet import Fleet
from benchmarks.scale.load import conversation
from benchmarks.scale.meter import cpu_seconds, resident
from benchmarks.scale.provider import billed
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import p50
from benchmarks.speed.stage import Run, batches, own_server, say, size_of
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_config.keys import due
from offturn_worker.fake_model.server import FakeModel

PART = "worker"
JOBS, SLOTS, LATENCY, SIZE, WINDOW = 64, 16, 20.0, 1_000_000, 400_000
MOST_RESIDENT, MOST_START = 500.0, 1.0  # MB, seconds
LONGEST = 1_200.0


async def run(run: Run) -> None:
    """All figures of the part."""
    jobs, latency = (SLOTS, LATENCY / 4) if run.quick else (JOBS, LATENCY)
    async with (
        own_server() as url,
        Redis.from_url(url) as redis,
        CompactionClient.from_url(url, timeout=60) as client,
        FakeModel(delay=latency, keep_bodies=True) as provider,
    ):
        await _ready(run, url, provider)
        await _throughput(run, url, redis, client, provider, jobs)


async def _ready(run: Run, url: str, provider: FakeModel) -> None:
    """Of modules that are compiled, as an image's are; the first start compiles them."""
    spent: list[float] = []
    with tempfile.TemporaryDirectory(prefix="offturn-compiled-") as folder:
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        for number in range(run.rounds(10) + 1):
            async with Fleet(url, provider.url, SLOTS, compiled) as fleet:
                began = time.perf_counter()
                await fleet.scale(1)
                if number:
                    spent.append(time.perf_counter() - began)
    run.add(
        Figure(
            part=PART,
            name="start of a process to its first look at the queue",
            ours=p50(spent),
            other=MOST_START,
            unit="s",
            against="limit",
            target=1,
            samples=len(spent),
        )
    )


async def _throughput(run: Run, url: str, redis: Any, client: CompactionClient, provider: FakeModel, jobs: int) -> None:
    sizes = 0
    for number in range(jobs):
        session = client.session(
            f"w:{number}", format="openai-chat", window=WINDOW, overrides={"gate": "always_summarise"}
        )
        pair = size_of(conversation(random.Random(number), 2))
        messages = conversation(random.Random(number), 2 * (SIZE // pair))
        sizes += size_of(messages)
        for batch in batches(messages, 200):
            await session.record(batch)
        await session.request()
    one_call = {"OFFTURN_SUMMARIZER_WINDOW": str(WINDOW)}
    async with Fleet(url, provider.url, SLOTS, one_call) as fleet:
        with billed(provider) as billing:
            await fleet.scale(1)
            began, cpu, most = time.monotonic(), cpu_seconds(fleet.pids), 0
            async with asyncio.timeout(LONGEST):
                while await redis.zcard(due()):
                    most = max(most, resident(fleet.pids))
                    await asyncio.sleep(0.25)
            took, burnt = time.monotonic() - began, cpu_seconds(fleet.pids) - cpu
        bill = billing.total()
    ideal = bill.paid * bill.latency / SLOTS
    say(
        f"  {jobs} jobs of {sizes / jobs / 1e6:.2f} MB, {bill.paid} calls of {bill.latency:.1f} s, {bill.twice} paid twice"
    )
    common = {"part": PART, "samples": jobs}
    run.add(
        Figure(
            name=f"time of {jobs} jobs, {SLOTS} at a time",
            ours=ideal,
            other=took,
            unit="s of the provider's",
            against="seconds it took",
            target=0.95,
            least=True,
            **common,
        )
    )
    run.add(
        Figure(
            name="resident memory, at most",
            ours=most / 1e6,
            other=MOST_RESIDENT,
            unit="MB",
            against="limit",
            target=1,
            **common,
        )
    )
    run.add(
        Figure(
            name="CPU of a job on 1 MB",
            ours=1000 * burnt / jobs / (sizes / jobs / 1e6),
            other=1000 * bill.latency,
            unit="ms",
            against="the provider's time",
            **common,
        )
    )
