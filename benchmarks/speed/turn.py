"""What a host's turn costs beside the bare operations on the same server that it cannot do without."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from benchmarks.peers.hermes import DRIVER
from benchmarks.retention.environments import NotInstalled
from benchmarks.speed.figures import Figure
from benchmarks.speed.rounds import Samples, p50, p99, side_by_side, turned
from benchmarks.speed.stage import Run, batches, child, conversation, hermes, own_server
from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn_config.keys import SessionKey
from offturn_engine.errors import SummarizerError
from offturn_engine.summary import SummaryReply, SummaryRequest

PART = "turn"
MESSAGES, SIZE, WINDOW = 5_000, 10_000_000, 200_000
NEVER = 10**9  # a window in which nothing gets due
BATCH, PAGE = 100, 256 * 1024
SLOW_SECONDS, PACE = 30.0, 0.025


async def run(run: Run) -> None:
    """All figures of the part."""
    history = conversation(MESSAGES, SIZE)
    async with own_server() as url, Redis.from_url(url) as redis, CompactionClient.from_url(url, timeout=60) as client:
        await _record(run, client, redis, history)
        await _views(run, client, url, redis, history)


async def filled(client: CompactionClient, name: str, history: list[Any], window: int) -> Session:
    """A session of its own with all of it."""
    session = client.session(name, format="openai-chat", window=window)
    for batch in batches(history, BATCH):
        await session.record(batch)
    return session


async def _record(run: Run, client: CompactionClient, redis: Any, history: list[Any]) -> None:
    session = await filled(client, "records", history, NEVER)
    await redis.rpush("bare", *(orjson.dumps(message) for message in history))
    place = count(0)

    def four() -> list[Any]:
        low = next(place) * 4 % (len(history) - 8)
        return history[low + 1 : low + 5]  # repeats what was said: the log does not mind

    def plain() -> list[Any]:
        return [{"role": "user", "content": str(m.get("content") or "")} for m in four()]

    async def record() -> None:
        await session.record(plain())

    async def push() -> None:
        await redis.rpush("bare", *(orjson.dumps(message) for message in plain()))

    found = await side_by_side(run.rounds(500), record=record, bare=push)
    _both(run, "record of 4 messages", found, "record", "bare", "RPUSH of the same bytes", 3.0)


async def _views(run: Run, client: CompactionClient, url: str, redis: Any, history: list[Any]) -> None:
    session = await filled(client, "views", history, WINDOW)
    small = await filled(client, "small", history[: MESSAGES // 10], WINDOW)
    await client.run_due()
    script = await redis.script_load("return 1")

    async def bare() -> None:
        await redis.evalsha(script, 1, "bare")

    await session.view()
    found = await side_by_side(run.rounds(300), view=session.view, bare=bare)
    _both(run, "view, nothing new", found, "view", "bare", "bare EVALSHA", 1.5)
    await _new_generation(run, client, url, session, small)
    await _first_view(run, url, redis)
    await _added_wait(run, client, url, history)


async def _new_generation(run: Run, client: CompactionClient, url: str, session: Session, small: Session) -> None:
    """Of a session ten times as long: what is read is the new record, so the time must not grow with the transcript."""
    spent: dict[str, list[float]] = {"long": [], "short": []}
    more = [
        {"role": ("user", "assistant")[i % 2], "content": f"step {i}: " + "word and thing " * 400} for i in range(60)
    ]
    async with CompactionClient.from_url(url, timeout=60) as other:
        for _ in range(run.rounds(10)):
            for name, handle in (("long", session), ("short", small)):
                await handle.record(more)
                await handle.view()
                await other.session(handle.key.session, format="openai-chat", window=WINDOW).request()
                await client.run_due()
                began = time.perf_counter()
                view = await handle.view()
                spent[name].append((time.perf_counter() - began) / max(1, view.tokens) * 10_000)
    run.add(
        Figure(
            part=PART,
            name="view of a new generation, per 10k tokens shown",
            ours=1000 * p50(spent["long"]),
            other=1000 * p50(spent["short"]),
            unit="ms",
            against="the same at a tenth of the transcript",
            target=1.5,
            samples=len(spent["long"]),
        )
    )


async def _first_view(run: Run, url: str, redis: Any) -> None:
    """A handle that knows nothing, beside reading and parsing the very entries of the log."""
    log = SessionKey("default", "views").key("log")
    length = await redis.llen(log)

    async def first() -> None:
        async with CompactionClient.from_url(url, timeout=60) as fresh:
            await fresh.session("views", format="openai-chat", window=WINDOW).view()

    async def bare() -> None:
        async with Redis.from_url(url) as fresh:
            step = max(1, PAGE * length // SIZE)
            for low in range(0, length, step):
                for entry in await fresh.lrange(log, low, low + step - 1):
                    orjson.loads(entry.split(b" ", 2)[2])

    found = await side_by_side(run.rounds(15), first=first, bare=bare)
    _add(run, "first view of a process", found, "first", "bare", "reading and orjson of the same bytes", 1.5)


async def _added_wait(run: Run, client: CompactionClient, url: str, history: list[Any]) -> None:
    """Turns while a summarizer takes half a minute, in turn with those of a session without one, and the peer's in line."""
    try:
        python = hermes()
    except NotInstalled as why:
        run.skip("turn, Hermes 0.19 called in line", str(why))
        return
    delay = SLOW_SECONDS / (5 if run.quick else 1)

    class Slow:
        model, window = "slow", WINDOW

        async def summarize(self, _: SummaryRequest) -> SummaryReply:
            await asyncio.sleep(delay)
            raise SummarizerError("overloaded", "slow", retryable=False)

    async def turn(handle: Session) -> float:
        began = time.perf_counter()
        await handle.record([{"role": "user", "content": "and then?"}, {"role": "assistant", "content": "this."}])
        await handle.view()
        return time.perf_counter() - began

    session, twin = [await filled(client, name, history, WINDOW) for name in ("slow", "twin")]
    await client.run_due()
    for handle in (session, twin):
        await turn(handle)
    await session.request()
    during, alone = list[float](), list[float]()
    async with CompactionClient.from_url(url, timeout=60) as other, asyncio.TaskGroup() as group:
        in_line = group.create_task(asyncio.to_thread(_in_line, python, history, delay))
        job = group.create_task(other.run_due(summarizer=Slow()))
        while not job.done():
            for handle, spent in turned([(session, during), (twin, alone)], len(during)):
                spent.append(await turn(handle))
                await asyncio.sleep(PACE)
    common = {"part": PART, "unit": "ms", "samples": len(during)}
    run.add(
        Figure(
            name="longest turn while a job works",
            ours=1000 * max(during),
            other=1000 * max(alone),
            against="longest of a session without",
            **common,
        )
    )
    run.add(
        Figure(
            name=f"wait added to a turn by a summarizer of {delay:g} s",
            ours=1000 * max(0.0, p50(during) - p50(alone)),
            other=1000 * in_line.result(),
            against="Hermes 0.19, in line",
            target=0.01,
            **common,
        )
    )


def _in_line(python: Path, history: list[Any], delay: float) -> float:
    """Seconds that a turn waits where the peer's compressor is called in it, with as slow a model."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.json"
        file.write_text(json.dumps(history), encoding="utf-8")
        with child([python, Path(__file__).with_name("engine_in_venv.py"), DRIVER]) as peer:
            return float(peer.ask({"history": str(file), "window": WINDOW, "delay": delay})["waited"])


def _both(run: Run, name: str, found: Samples, ours: str, other: str, against: str, target: float) -> None:
    _add(run, f"{name}, p50", found, ours, other, against, target)
    _add(run, f"{name}, p99", found, ours, other, against, target, p99)


def _add(
    run: Run, name: str, found: Samples, ours: str, other: str, against: str, target: float, of: Any = p50
) -> None:
    run.add(
        Figure(
            part=PART,
            name=name,
            ours=1000 * of(found[ours]),
            other=1000 * of(found[other]),
            unit="ms",
            against=against,
            target=target,
            samples=len(found[ours]),
        )
    )
