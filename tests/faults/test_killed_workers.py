"""Workers killed and frozen at bad moments: nothing lost, nothing doubled, somebody else goes on."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn_engine.formats import get
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import (
    TIMEOUT,
    Workers,
    compacted,
    count,
    fill,
    handle,
    running,
    settled,
    until,
    until_true,
    workers,
)
from tests.integration.host import FORMATS, stored, turn

SESSIONS = 4
KILLS = 5


def settings_of(model: FakeModel, **more: str) -> dict[str, str]:
    return {"SUMMARIZER": f"openai:fake@{model.openai_url}", "OPENAI_API_KEY": "key", **more}


async def record_and_look(client: CompactionClient, who: str, number: int, over: asyncio.Event) -> list[str]:
    """A host that records until it is told to stop; the ids it was told are recorded."""
    fmt = FORMATS[number % 2]
    session = handle(client, f"k{number}", fmt)
    recorded: list[str] = []
    while not over.is_set():
        messages = turn(fmt, len(recorded), size=2_500)
        ids = [f"{who}{len(recorded) + i}" for i in range(len(messages))]
        await session.record(messages, ids=ids)
        recorded += ids
        view = await session.view()
        assert [p for p in get(fmt).problems(view.messages) if p.rule != "pending"] == []
        await asyncio.sleep(random.uniform(0.1, 0.6))
    return recorded


async def kill_again_and_again(crew: Workers, model: FakeModel) -> None:
    pair = [await crew.start(**settings_of(model)) for _ in range(2)]
    for _ in range(KILLS):
        await asyncio.sleep(random.uniform(0.1, 0.7))
        victim = random.randrange(2)
        pair[victim].kill()
        pair[victim] = await crew.start(**settings_of(model))


async def test_hosts_record_on_while_workers_die(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    over = asyncio.Event()
    async with (
        FakeModel(delay=0.5) as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as one,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as two,
        workers(valkey_url, tmp_path) as crew,
    ):
        names = [(client, who, n) for n in range(SESSIONS) for client, who in ((one, "a"), (two, "b"))]
        hosts = [asyncio.create_task(record_and_look(client, who, n, over)) for client, who, n in names]
        await kill_again_and_again(crew, model)
        over.set()
        recorded = await asyncio.gather(*hosts)
        for number in range(SESSIONS):
            await settled(handle(one, f"k{number}", FORMATS[number % 2]))
        for number in range(SESSIONS):
            fmt = FORMATS[number % 2]
            session = handle(one, f"k{number}", fmt)
            kept = [id_ for id_ in await ids_of(one, f"k{number}") if id_]
            for who, told in zip("ab", recorded[2 * number : 2 * number + 2], strict=True):
                assert [id_ for id_ in kept if id_.startswith(who)] == told
            raw = await session.view(generation=0, window=10**9)
            log = await stored(redis, f"k{number}")
            # two hosts' calls and results may stand crosswise in the log, a view puts them together
            assert sorted(map(str, raw.messages)) == sorted(map(str, log))
            assert get(fmt).problems((await session.view()).messages) == []
            bases = [(g.replaces, g.provisional) for g in await session.generations() if not g.provisional]
            assert len(bases) == len(set(bases))


async def ids_of(client: CompactionClient, name: str) -> list[str | None]:
    links = await client._connector.links()
    session = handle(client, name)
    return [entry.host_id for entry in await links.store.log(session.key, start=0, stop=1_000_000)]


async def test_a_kill_costs_the_running_call_and_no_other(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """Three chunks are paid before the kill: the next worker asks for the rest."""
    async with (
        FakeModel() as whole,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        first = await crew.start(**settings_of(whole, SUMMARIZER_WINDOW="8000"))
        session = client.session("clean", format="openai-chat", window=24_000)
        await fill(session, count=40)
        await compacted(session)
        first.kill()
        chunks = len(whole.calls)
        assert chunks > 3
        async with FakeModel(delay=0.25) as model:
            settings = settings_of(model, SUMMARIZER_WINDOW="8000")
            second = await crew.start(**settings)
            session = client.session("killed", format="openai-chat", window=24_000)
            await fill(session, count=40)
            ticket = await session.request()
            await until(lambda: len(model.calls) >= 3)
            second.kill()
            await crew.start(**settings)
            await ticket.wait(TIMEOUT)
            assert len(model.calls) == chunks + 1


async def claimed_twice(session: Session) -> bool:
    return await count(session, "claimed") == 2


@pytest.mark.parametrize("late", [False, True], ids=["while the other works", "after the other is done"])
async def test_a_frozen_worker_does_not_publish(valkey_url: str, redis: Redis, tmp_path: Path, late: bool) -> None:
    async with (
        FakeModel(delay=1.2) as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        frozen = await crew.start(**settings_of(model))
        session = handle(client, "s")
        await fill(session)
        ticket = await session.request()
        await running(session)
        frozen.freeze()
        other = await crew.start(**settings_of(model))
        if late:
            await ticket.wait(TIMEOUT)
        else:
            await until_true(lambda: claimed_twice(session))
        frozen.thaw()
        await ticket.wait(TIMEOUT)
        await settled(session)
        await until(lambda: any(line["event"] == "job_done" for line in frozen.lines))
        finished = [event.fields["worker"] for event in await session.events() if event.kind == "finished"]
        assert finished == [other.output.stem]
        assert await count(session, "committed") == 1
        assert frozen.alive
