"""Workers killed and frozen at bad moments: nothing lost, nothing doubled, somebody else goes on."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, Ticket
from offturn_engine.formats import get
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import (
    PATIENCE,
    TIMEOUT,
    Workers,
    count,
    fill,
    handle,
    settled,
    until,
    until_true,
    workers,
)
from tests.integration.host import FORMATS, stored, turn

SESSIONS = 4
KILLS = 5
TURNS = 6  # of a host between two kills


def settings_of(model: FakeModel, **more: str) -> dict[str, str]:
    return {"SUMMARIZER": f"openai:fake@{model.openai_url}", "OPENAI_API_KEY": "key", **more}


@dataclass
class Pace:
    """So many turns each host may have recorded: where workers take long to start, sessions must not grow all the time."""

    turns: int = TURNS
    over: bool = False


async def record_and_look(client: CompactionClient, who: str, number: int, pace: Pace) -> list[str]:
    """A host that records until it is told to stop; the ids it was told are recorded."""
    fmt = FORMATS[number % 2]
    session = handle(client, f"k{number}", fmt)
    recorded: list[str] = []
    while not pace.over:
        if len(recorded) >= 4 * pace.turns:
            await asyncio.sleep(0.05)
            continue
        messages = turn(fmt, len(recorded), size=2_500)
        ids = [f"{who}{len(recorded) + i}" for i in range(len(messages))]
        await session.record(messages, ids=ids)
        recorded += ids
        view = await session.view()
        assert [p for p in get(fmt).problems(view.messages) if p.rule != "pending"] == []
        await asyncio.sleep(random.uniform(0.1, 0.6))
    return recorded


async def kill_again_and_again(crew: Workers, model: FakeModel, pace: Pace) -> None:
    pair = [await crew.start(**settings_of(model)) for _ in range(2)]
    for _ in range(KILLS):
        pace.turns += TURNS
        await asyncio.sleep(random.uniform(0.1, 0.7))
        victim = random.randrange(2)
        pair[victim].kill()
        pair[victim] = await crew.start(**settings_of(model))


async def test_hosts_record_on_while_workers_die(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    pace = Pace()
    async with (
        FakeModel(delay=0.5) as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as one,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as two,
        workers(valkey_url, tmp_path) as crew,
    ):
        names = [(client, who, n) for n in range(SESSIONS) for client, who in ((one, "a"), (two, "b"))]
        hosts = [asyncio.create_task(record_and_look(client, who, n, pace)) for client, who, n in names]
        await kill_again_and_again(crew, model, pace)
        pace.over = True
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
        ticket = await asked(client, "clean")
        first = await crew.start(**settings_of(whole, SUMMARIZER_WINDOW="8000"))
        await ticket.wait(PATIENCE)
        first.kill()
        chunks = len(whole.calls)
        assert chunks > 3
        async with FakeModel() as model:
            model.script(["ok", "ok", "ok", "hang"])
            settings = settings_of(model, SUMMARIZER_WINDOW="8000")
            ticket = await asked(client, "killed")
            second = await crew.start(**settings)
            await until(lambda: len(model.calls) == 4)
            second.kill()
            await crew.start(**settings)
            await ticket.wait(PATIENCE)
            assert len(model.calls) == chunks + 1


async def asked(client: CompactionClient, name: str) -> Ticket:
    """Of a session for one job: with a worker that runs already, the threshold and the request may get one each."""
    session = client.session(name, format="openai-chat", window=24_000)
    await fill(session, count=40)
    return await session.request()


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
        await asyncio.wait_for(model.called.wait(), PATIENCE)
        frozen.freeze()  # at once: the answer comes later
        other = await crew.start(**settings_of(model, LEASE_MS="20000"))  # it keeps what it takes
        if late:
            await ticket.wait(PATIENCE)
        else:
            await until_true(lambda: claimed_twice(session))
        frozen.thaw()
        await ticket.wait(PATIENCE)
        await settled(session)
        await until(lambda: any(line["event"] == "job_done" for line in frozen.lines))
        finished = [event.fields["worker"] for event in await session.events() if event.kind == "finished"]
        assert finished == [other.output.stem]
        assert await count(session, "committed") == 1
        assert frozen.alive
