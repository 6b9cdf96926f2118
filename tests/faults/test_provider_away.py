"""A provider that is away and comes back, for real workers: nobody spins, nobody is parked, and it goes on by itself."""

from __future__ import annotations

import time
from pathlib import Path

from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.store.limits import SharedLimits
from offturn_models.breaker import FAILURES, PAUSE_MS
from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.behaviour import Behaviour
from tests.faults.processes import TIMEOUT, Workers, fill, handle, settled, workers

SESSIONS = 6
CLOCK = 0.01  # seconds: the server counts whole milliseconds


class Timed(FakeModel):
    """Knows when it was asked: before it has answered, so that a pause after the answer is at least as long."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_at: list[float] = []

    def next_behaviour(self) -> Behaviour:
        self.asked_at.append(time.monotonic())
        return super().next_behaviour()


async def start(crew: Workers, *models: FakeModel, **more: str) -> None:
    named = ",".join(f"openai:fake@{model.openai_url}" for model in models)
    await crew.start(SUMMARIZER=named, OPENAI_API_KEY="key", **more)


async def test_the_breaker_closes_by_itself_when_the_provider_is_back(
    valkey_url: str, redis: Redis, tmp_path: Path
) -> None:
    """Each of the first jobs fails; the sessions after them cost nothing until a probe finds the provider again."""
    async with (
        Timed() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([529] * FAILURES)
        sessions = [handle(client, f"s{number}") for number in range(SESSIONS)]
        for session in sessions:
            await fill(session)
            await session.request()
        await start(crew, model, MAX_JOBS="1")  # one after the other, so that it is known who fails
        for session in sessions:
            await settled(session)
            status = await session.status()
            assert (status.parked, status.blocked, status.generation or status.current) == (False, "", 1)
        await fill(sessions[0], start=16)
        await sessions[0].request()
        await settled(sessions[0])

        assert (await sessions[0].generations())[-1].method == "model"
        assert await SharedLimits(redis).routes() == []
        assert model.asked_at[FAILURES] - model.asked_at[FAILURES - 1] >= PAUSE_MS / 1000 - CLOCK
        said = [line["event"] for line in crew.every[0].lines]
        assert said.count("route_opened") == said.count("route_closed") == 1


async def test_the_next_provider_is_asked_meanwhile(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with (
        FakeModel(key="another") as first,
        FakeModel() as second,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        await start(crew, first, second)
        for number in range(3):
            session = handle(client, f"s{number}")
            await fill(session)
            await session.request()
            await settled(session)
            assert [(g.method, g.provisional) for g in await session.generations()] == [("model", False)]
        assert len(first.calls) == 1  # the wrong key
        assert len(second.calls) == 3
        [route] = await SharedLimits(redis).routes()
        assert (route.reason, route.permanent, route.open) == ("auth", True, True)


async def test_an_outage_parks_nobody(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """Every call fails for ever: the sessions end with their facts, the calls with the breaker."""
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([Behaviour(name="status", status=503)] * 200)
        await start(crew, model)
        for number in range(2):
            session = handle(client, f"s{number}")
            await fill(session)
            await session.request()
        for number in range(2):
            session = handle(client, f"s{number}")
            await settled(session)
            status = await session.status()
            assert (status.parked, status.trouble) == (False, "")
            assert [(g.method, g.provisional) for g in await session.generations()] == [("extractive", True)]
        assert len(model.calls) <= FAILURES + 1
        assert await client.parked() == []
