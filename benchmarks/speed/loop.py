"""How long offturn keeps an event loop from its other work: in a host's process, and in a worker's."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.scale.fleet import Fleet
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import p99
from benchmarks.speed.stage import ROOT, Run, batches, conversation, own_server

from offturn import CompactionClient
from offturn_worker.fake_model.server import FakeModel

PART = "loop"
MESSAGES, SIZE, WINDOW, BATCH = 5_000, 10_000_000, 200_000, 20
TICK, LIMIT = 0.002, 50.0  # seconds; ms
JOBS, LATENCY, LONGEST = 4, 1.0, 300.0  # at a time; seconds of an answer, of a job


async def run(run: Run) -> None:
    """All figures of the part."""
    history = conversation(MESSAGES // (5 if run.quick else 1), SIZE // (5 if run.quick else 1))
    async with own_server() as url:
        async with watched() as quiet:
            await asyncio.sleep(2)
        async with CompactionClient.from_url(url, timeout=60) as client, watched() as host:
            session = client.session("s", format="openai-chat", window=WINDOW)
            for batch in batches(history, BATCH):
                await session.record(batch)
                await asyncio.sleep(0)
            await session.view()
        async with CompactionClient.from_url(url, timeout=60) as client, watched() as first:
            await client.session("s", format="openai-chat", window=WINDOW).view()
        worker = await _working(run, url, history[: len(history) // JOBS])
    for name, found in (
        ("records and views of a host", host),
        ("first view of a long session", first),
        ("jobs of a worker", worker),
    ):
        for what, value in (("p99", p99(found)), ("longest", max(found))):
            run.add(
                Figure(
                    part=PART,
                    name=f"{name}, {what} stall",
                    ours=1000 * value,
                    other=LIMIT if what == "p99" else 1000 * max(quiet),
                    unit="ms",
                    against="limit" if what == "p99" else "longest of an idle loop, this machine",
                    target=1.0 if what == "p99" else None,
                    samples=len(found),
                )
            )


async def _working(run: Run, url: str, history: list[dict[str, Any]]) -> list[float]:
    """A worker's ticks from its start, while it has several sessions to compact at a time."""
    async with CompactionClient.from_url(url, timeout=60) as client, FakeModel(delay=LATENCY) as provider:
        sessions = [
            client.session(f"w:{i}", format="openai-chat", window=WINDOW, overrides={"gate": "always_summarise"})
            for i in range(JOBS)
        ]
        for session in sessions:
            for batch in batches(history, 10 * BATCH):
                await session.record(batch)
        variables = Fleet(url, provider.url, JOBS).environment("loop")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.speed.loop_worker", env={**os.environ, **variables}, cwd=ROOT, stdout=PIPE
        )
        try:
            for _ in range(run.rounds(5)):
                for ticket in [await session.request() for session in sessions]:
                    await ticket.wait(LONGEST)
                for session in sessions:
                    await session.record(
                        [{"role": ("user", "assistant")[i % 2], "content": "more " * 400} for i in range(60)]
                    )
        finally:
            process.terminate()
            told, _ = await process.communicate()
        return list(json.loads(told))


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """By how many seconds a tick came late, tick by tick. A stall counts as every tick that it swallowed."""
    late: list[float] = []

    async def tick() -> None:
        expected = time.perf_counter()
        while True:
            await asyncio.sleep(TICK)
            expected += TICK
            behind = time.perf_counter() - expected
            while behind > TICK:  # as a busy server's other requests meet it
                late.append(behind)
                expected += TICK
                behind -= TICK
            late.append(max(0.0, behind))
            expected = time.perf_counter()

    ticking = asyncio.create_task(tick())
    try:
        yield late
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        late.append(0.0)
