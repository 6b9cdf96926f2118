"""What is written to Redis for each byte of a transcript, what packing saves, and what a second job reads."""

from __future__ import annotations

from typing import Any

from benchmarks import packing
from benchmarks.speed.figures import Figure
from benchmarks.speed.stage import Run, batches, conversation, own_server, size_of
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey

PART = "bytes"
MESSAGES, SIZE, WINDOW = 1_000, 2_000_000, 200_000


async def run(run: Run) -> None:
    """All figures of the part."""
    async with own_server() as url, Redis.from_url(url) as redis, CompactionClient.from_url(url, timeout=60) as client:
        await redis.config_set("auto-aof-rewrite-percentage", 0)
        await _second_job(run, redis, client)
        if not packing.SHARED.exists():
            run.skip(PART, "there are no transcripts beside this checkout")
            return
        sums = packing.Sums()
        for number, one in enumerate(packing.conversations(packing.SHARED)):
            if not run.quick or number % 5 == 0:
                await packing.one(client, redis, one, sums, 1)
    common = {"part": PART, "unit": "MB", "samples": sums.conversations}
    raw = sums.raw / 1e6
    for name, value, target in (
        ("written before packing", sums.without, 1.2),
        ("written with packing", sums.written, 1.6),
    ):
        run.add(
            Figure(name=name, ours=value / 1e6, other=raw, against="bytes of the messages", target=target, **common)
        )
    run.add(
        Figure(
            name="covered messages, packed",
            ours=sums.stored / 1e6,
            other=sums.covered / 1e6,
            against="what they took",
            target=0.35,
            **common,
        )
    )


async def _second_job(run: Run, redis: Any, client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=WINDOW)
    history = conversation(MESSAGES, SIZE)
    low = len(history) * 4 // 5
    for batch in batches(history[:low], 100):
        await session.record(batch)
    await session.request()
    await client.run_due()
    await session.view()
    new = history[low:]
    await session.record(new)
    await session.request()
    record = await SessionStore(redis).generation(SessionKey("default", "s"), 1)
    kept = len(record.model_dump_json()) if record else 0
    before = (await redis.info("stats"))["total_net_output_bytes"]
    await client.run_due()
    read = (await redis.info("stats"))["total_net_output_bytes"] - before
    run.add(
        Figure(
            part=PART,
            name="read by a second job",
            ours=read / 1e6,
            other=(size_of(new) + kept) / 1e6,
            unit="MB",
            against="what is new, and the record",
            target=1.5,
        )
    )
