"""From a record to the start of its job, beside arq's own worker as it comes, and what a worker costs that has nothing to do."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from benchmarks.scale.fleet import Fleet
from benchmarks.scale.load import WINDOW, conversation
from benchmarks.scale.meter import Reading, cpu_seconds
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import p50, p99
from benchmarks.speed.stage import Run, batches, own_server, say
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_config.keys import due
from offturn_worker.fake_model.server import FakeModel

PART = "doorbell"
ROUNDS, WORKERS, IDLE_SECONDS = 20, 2, 30.0
STARTED = "benchmark:started"
SETTLED = 5.0  # seconds after its start a worker asks for what it keeps
TURN = 4  # messages
LONGEST = 60.0  # seconds of a job
MOST_CPU, MOST_COMMANDS = 0.5, 5.0  # percent of a core, and a second; of one worker


async def run(run: Run) -> None:
    """All figures of the part."""
    async with (
        own_server() as url,
        Redis.from_url(url) as redis,
        CompactionClient.from_url(url, timeout=30) as client,
        FakeModel() as provider,
        Fleet(url, provider.url, 8) as fleet,
    ):
        await fleet.scale(WORKERS)
        await asyncio.sleep(SETTLED)
        await _idle(run, redis, fleet)
        await _starts(run, url, redis, client)


async def _idle(run: Run, redis: Any, fleet: Fleet) -> None:
    seconds = IDLE_SECONDS / 3 if run.quick else IDLE_SECONDS
    counted, before, cpu = await _by_command(redis), await Reading.taken(redis), cpu_seconds(fleet.pids)
    await asyncio.sleep(seconds)
    after, burnt, then = await Reading.taken(redis), cpu_seconds(fleet.pids) - cpu, await _by_command(redis)
    rate = (before.rate(after) - 3 / seconds) / WORKERS  # what was asked here
    share = 100 * burnt / seconds / WORKERS
    limit = f"limit, {WORKERS} workers"
    run.add(
        Figure(part=PART, name="CPU of an idle worker", ours=share, other=MOST_CPU, unit="%", against=limit, target=1)
    )
    name = "Redis commands of an idle worker"
    run.add(Figure(part=PART, name=name, ours=rate, other=MOST_COMMANDS, unit="/s", against=limit, target=1))
    told = {name: number / seconds / WORKERS for name, number in (then - counted).most_common()}
    say("  " + ", ".join(f"{name} {each:.2f}" for name, each in told.items() if each > 0.02))


async def _by_command(redis: Any) -> Counter[str]:
    found = await redis.info("commandstats")
    return Counter({name.removeprefix("cmdstat_"): value["calls"] for name, value in found.items()})


async def _starts(run: Run, url: str, redis: Any, client: CompactionClient) -> None:
    """Both from before the call that asks to the job's first instruction, by one clock: all is on this machine."""
    rounds, ours, theirs = run.rounds(ROUNDS), list[float](), list[float]()
    settings = RedisSettings.from_dsn(url)
    arq = await asyncio.create_subprocess_exec(sys.executable, Path(__file__).with_name("arq_worker.py"), url)
    pool = await create_pool(settings, default_queue_name="benchmark:plain")
    rng = random.Random(1)
    try:
        for number in range(rounds + 1):
            pair = (await _our_start(client, number), await _their_start(pool))
            if number:  # the first waits for arq's process
                ours.append(pair[0])
                theirs.append(pair[1])
            async with asyncio.timeout(LONGEST):  # the job itself must not be in the way of the next one
                while await redis.zcard(due()):  # noqa: ASYNC110 - another process does it
                    await asyncio.sleep(0.02)
            await asyncio.sleep(rng.random() / 2)  # a queue that is looked at twice a second is met at any moment
    finally:
        arq.terminate()
        await arq.wait()
        await pool.aclose()
    against = "arq's worker, as it comes"
    common = {"part": PART, "unit": "ms", "samples": rounds}
    run.add(Figure(name="record to job start, p50", ours=p50(ours), other=p50(theirs), against=against, **common))
    run.add(Figure(name="record to job start, p99", ours=p99(ours), other=p99(theirs), against=against, **common))
    run.add(Figure(name="record to job start, p50", ours=p50(ours), other=5, against="limit", target=1, **common))


async def _our_start(client: CompactionClient, number: int) -> float:
    """A conversation recorded turn by turn; the turn that makes it due counts."""
    session = client.session(f"ring:{number}", format="openai-chat", window=WINDOW)
    began = 0.0

    async def claimed() -> float | None:
        return next((event.at - began for event in await session.events() if event.kind == "claimed"), None)

    for turn in batches(conversation(random.Random(number), 120), TURN):
        began = time.time() * 1000
        await session.record(turn)
        if any(event.kind == "due" for event in await session.events()):
            return await _until(claimed)
    raise AssertionError("a conversation of this length is due")


async def _their_start(pool: Any) -> float:
    began = time.time() * 1000
    await pool.enqueue_job("started")

    async def told() -> float | None:
        found = await pool.lpop(STARTED)
        return None if found is None else json.loads(found) - began

    return await _until(told)


async def _until(found: Callable[[], Awaitable[float | None]]) -> float:
    async with asyncio.timeout(30):
        while (value := await found()) is None:  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.02)
    return value
