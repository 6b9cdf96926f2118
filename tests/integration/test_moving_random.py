"""Random lives of a session: whatever is recorded, taken back, replaced and compacted, every view is sound."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, Refused, Session
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, Raw, human, long_text, result, says, stored, turn, turns
from tests.integration.moved import WINDOW, assert_sound

SEEDS, STEPS = 12, 30


class Life:
    """A session and the list a host would have; `mine[i]` is what the path shows at i."""

    def __init__(self, session: Session, fmt: str, seed: int) -> None:
        self.session, self.fmt, self.rng = session, fmt, Random(seed)
        self.mine: list[Raw] = []
        self.number = 0

    async def record(self, client: CompactionClient) -> None:
        for _ in range(self.rng.randint(1, 8)):
            self.number += 1
            fresh = turn(self.fmt, self.number, size=self.rng.choice((200, 2_000, 5_000)))
            await self.session.record(fresh[: self.rng.choice((1, 2, 3, 4, 4, 4))])
            self.mine += fresh[: len(await self.path()) - len(self.mine)]

    async def mirror(self, client: CompactionClient) -> None:
        self.mine.append(human(f"More about {self.number}."))
        await self.session.mirror(self.mine)

    async def rewind(self, client: CompactionClient) -> None:
        path = await self.path()
        if len(path) > 1:
            stop = self.rng.randint(max(1, len(path) - 30), len(path) - 1)
            await self.session.rewind(to=path[stop - 1])
            del self.mine[stop:]

    async def amend(self, client: CompactionClient) -> None:
        path = await self.path()
        place = self.rng.randrange(len(path))
        self.number += 1
        old = self.mine[place]
        other = {
            "assistant": says(f"Amended answer {self.number}."),
            "user": human(f"Amended question {self.number}."),
            "tool": result(self.fmt, old.get("tool_call_id", ""), f"amended result {self.number}"),
        }[old["role"]]
        try:
            await self.session.amend(path[place], other)
        except Refused:
            return
        self.mine[place] = other

    async def work(self, client: CompactionClient) -> None:
        await client.run_due(summarizer=FakeSummarizer())

    async def request(self, client: CompactionClient) -> None:
        await self.session.request()
        await self.work(client)

    async def path(self) -> list[int]:
        return [seq for low, high in (await self.session.view()).path for seq in range(low, high)]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_random_lives(client: CompactionClient, fmt: str, seed: int) -> None:
    life = Life(client.session("chat", format=fmt, window=WINDOW), fmt, seed)
    await life.record(client)

    for _ in range(STEPS):
        step = life.rng.choice(
            (life.record, life.record, life.rewind, life.amend, life.work, life.request, life.mirror)
        )
        await step(client)
        view = await life.session.view()
        await assert_sound(life.session, view)
        kept = [line["message"] async for line in life.session.export() if line["kind"] == "message"]
        assert [kept[seq] for seq in await life.path()] == life.mine, step.__name__


@pytest.mark.parametrize("seed", range(4))
async def test_moves_records_and_jobs_at_once(client: CompactionClient, redis: Redis, seed: int) -> None:
    """Nothing that was acknowledged is missing from the log, and the session is sound whenever somebody looks."""
    rng = Random(seed)
    handles = [client.session("chat", format="openai-chat", window=WINDOW) for _ in range(4)]
    await handles[0].record(turns("openai-chat", 20))
    sent: list[Raw] = []

    async def write(session: Session) -> None:
        for _ in range(12):
            fresh = [human(f"Question {rng.random()}?"), says(long_text(2_000, f"Answer {rng.random()}:"))]
            await session.record(fresh)
            sent.extend(fresh)

    async def move(session: Session) -> None:
        for number in range(12):
            path = [seq for low, high in (await session.view()).path for seq in range(low, high)]
            place = path[rng.randrange(len(path))]
            with suppress(Conflict, Refused):
                await (session.rewind() if number % 3 else session.amend(place, human(f"Amended {number}.")))

    async def work() -> None:
        for _ in range(12):
            await client.run_due(summarizer=FakeSummarizer())
            await asyncio.sleep(0)

    await asyncio.gather(write(handles[0]), write(handles[1]), move(handles[2]), work())

    view = await handles[3].view()
    await assert_sound(handles[3], view)
    log = await stored(redis, "chat")
    assert all(message in log for message in sent)
    await handles[3].request()
    await client.run_due(summarizer=FakeSummarizer())
    await assert_sound(handles[3], await handles[3].view())
