"""A summary in many parts, by a real worker from a real server: trouble in one part costs that part and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Session
from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.behaviour import Behaviour, Scripted
from tests.faults.processes import PATIENCE, TIMEOUT, Workers, count, fill, workers

PAID = 2  # parts before the trouble
TROUBLE: dict[str, Scripted] = {
    "timeout": "hang",
    "silence in the middle": "stall",
    "a byte a second": "trickle",
    "rate limit": Behaviour(name="status", status=429, retry_after=1),
    "overloaded": 529,
    "dropped": "drop",
    "ends early": "end",
    "gateway page": "garbled",
}


SILENCES = ("timeout", "silence in the middle", "a byte a second")  # which end with the worker's patience only


@asynccontextmanager
async def long_session(url: str) -> AsyncIterator[Session]:
    async with CompactionClient.from_url(url, timeout=TIMEOUT) as client:
        session = client.session("long", format="openai-chat", window=24_000)
        await fill(session, count=40)
        yield session


async def start(crew: Workers, model: FakeModel, **more: str) -> None:
    settings = {"SUMMARIZER_WINDOW": "8000", "SUMMARIZER_TIMEOUT": "20", **more}
    await crew.start(SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key", **settings)


@pytest.mark.parametrize("name", TROUBLE)
async def test_trouble_in_one_part_costs_that_part(valkey_url: str, redis: Redis, tmp_path: Path, name: str) -> None:
    async with FakeModel() as model, long_session(valkey_url) as session, workers(valkey_url, tmp_path) as crew:
        model.script([*["ok"] * PAID, TROUBLE[name]])  # type: ignore[list-item]
        ticket = await session.request()
        await start(crew, model, **({"SUMMARIZER_TIMEOUT": "4"} if name in SILENCES else {}))

        outcome = await ticket.wait(PATIENCE)

        assert isinstance(outcome, Compacted)
        assert (outcome.method, outcome.provisional) == ("model", False)
        bodies = [(call.size, call.behaviour.name) for call in model.calls]
        assert len(bodies) > PAID + 2
        assert [size for size, _ in bodies].count(bodies[PAID][0]) == 2  # the part that failed, and that part again
        answered = [size for size, behaviour in bodies if behaviour == "ok"]
        assert len(answered) == len(set(answered)) == len(bodies) - 1
        assert await count(session, "claimed") == 2
        [generation] = await session.generations()
        assert generation.number == 1


async def test_a_job_may_take_as_long_as_its_parts_take(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """Each part is quicker than the job's time-out, all of them together are not: one job, each part paid once."""
    async with (
        FakeModel(delay=1.5) as model,
        long_session(valkey_url) as session,
        workers(valkey_url, tmp_path) as crew,
    ):
        ticket = await session.request()
        await start(crew, model, SUMMARIZER_TIMEOUT="6", JOB_TIMEOUT="7")

        outcome = await ticket.wait(PATIENCE)

        assert isinstance(outcome, Compacted)
        assert outcome.method == "model"
        assert len(model.calls) * model.delay > 7  # seconds
        sizes = [call.size for call in model.calls]
        assert len(sizes) == len(set(sizes))
        assert await count(session, "claimed") == 1


async def test_parts_at_once_find_out_that_a_provider_is_back(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """One part is the probe, the others are refused while it asks: it goes on, and no part is paid twice."""
    async with (
        FakeModel(delay=0.2) as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([429])
        session = client.session("s", format="openai-chat", window=24_000, overrides={"summary.chunking": "parallel"})
        await fill(session, count=40)
        ticket = await session.request()
        await start(crew, model)

        outcome = await ticket.wait(PATIENCE)

        assert isinstance(outcome, Compacted)
        assert (outcome.method, outcome.provisional) == ("model", False)
        answered = [call.size for call in model.calls if call.behaviour.name == "ok"]
        assert len(answered) == len(model.calls) - 1
        assert not any(call.disconnected.is_set() for call in model.calls)


async def test_a_part_refused_for_good_costs_that_part(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """The facts stand in for the summary; the next job asks for the refused part, and puts all of them together."""
    async with (
        FakeModel(delay=0.2) as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script(["refusal"])
        session = client.session("s", format="openai-chat", window=24_000, overrides={"summary.chunking": "parallel"})
        await fill(session, count=40)
        ticket = await session.request()
        await start(crew, model)
        refused = await ticket.wait(PATIENCE)
        parts = len(model.calls)

        outcome = await (await session.request()).wait(PATIENCE)

        assert isinstance(refused, Compacted)
        assert (refused.method, refused.provisional) == ("extractive", True)
        assert isinstance(outcome, Compacted)
        assert (outcome.method, outcome.provisional) == ("model", False)
        assert not any(call.disconnected.is_set() for call in model.calls)
        assert len(model.calls) == parts + 2  # that part, and all of them put together
