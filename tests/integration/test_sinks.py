"""What the store notes for write-back sinks: each change of a session's current generation, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn.store.sinks import Sinks
from offturn.testing import FakeSummarizer
from offturn_config import keys
from offturn_config.keys import SessionKey
from tests.integration.host import human, says, turns

LEASE_MS = 60_000
NOTES = keys.sink("default", "test")


@pytest.fixture
async def sinks(redis: Redis) -> Sinks:
    made = Sinks(redis, "default", "test")
    assert not await made.enter()
    await made.ready()
    return made


@pytest.fixture
async def session(client: CompactionClient, sinks: Sinks, redis: Redis) -> Session:
    """Compacted once, and the sink was told."""
    made = client.session("chat", format="openai-chat", window=16_000)
    await made.record(turns("openai-chat", 14))
    await made.request()
    assert not await redis.exists(NOTES)
    await client.run_due(summarizer=FakeSummarizer())
    [note] = await sinks.take(limit=10, lease_ms=LEASE_MS)
    assert note.key == made.key
    await sinks.settle(note)
    assert not await redis.exists(NOTES)
    return made


Change = Callable[[CompactionClient, Session], Awaitable[object]]


async def compact_again(client: CompactionClient, session: Session) -> None:
    await session.record(turns("openai-chat", 14, start=20))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())


async def emergency(client: CompactionClient, session: Session) -> None:
    await session.record(turns("openai-chat", 60, start=20))
    assert (await session.view()).kind == "emergency"


CHANGES: dict[str, Change] = {
    "a worker's commit": compact_again,
    "a host's commit": emergency,
    "rollback": lambda _, session: session.rollback(generation=0, force=True),
    "rewind": lambda _, session: session.rewind(to=5),
    "amend": lambda _, session: session.amend(6, human("Another question.")),
    "redact": lambda _, session: session.redact([6], reason="test"),
}
OTHERS: dict[str, Change] = {
    "record": lambda _, session: session.record(says("More.")),
    "adopt": lambda _, session: session.view(),
    "request": lambda _, session: session.request(),
    "rewind behind what is covered": lambda _, session: session.rewind(messages=1),
    "configure": lambda _, session: session.configure(window=20_000),
    "purge": lambda _, session: session.purge(),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_of_the_current_generation_is_noted(
    client: CompactionClient, session: Session, sinks: Sinks, name: str
) -> None:
    await session.view()
    await CHANGES[name](client, session)
    assert [note.key for note in await sinks.take(limit=10, lease_ms=LEASE_MS)] == [session.key]


@pytest.mark.parametrize("name", OTHERS)
async def test_nothing_else_is(client: CompactionClient, session: Session, redis: Redis, name: str) -> None:
    await OTHERS[name](client, session)
    assert not await redis.exists(NOTES)


async def test_a_note_is_held_by_one_and_comes_back(redis: Redis, sinks: Sinks) -> None:
    key = SessionKey("default", "chat: 1")
    await sinks.note([key])
    [note] = await sinks.take(limit=10, lease_ms=LEASE_MS)
    assert note.key == key
    assert await sinks.take(limit=10, lease_ms=LEASE_MS) == []
    await sinks.settle(note, delay_ms=0)
    [again] = await sinks.take(limit=10, lease_ms=0)
    await asyncio.sleep(0.01)  # the server counts whole milliseconds
    [other] = await sinks.take(limit=10, lease_ms=LEASE_MS)  # its lease is over
    await sinks.settle(again)  # too late
    assert await redis.exists(NOTES)
    await sinks.settle(other)
    assert not await redis.exists(NOTES)


async def test_a_change_while_it_is_told_is_not_settled(
    client: CompactionClient, session: Session, sinks: Sinks
) -> None:
    await compact_again(client, session)
    [note] = await sinks.take(limit=10, lease_ms=LEASE_MS)
    await session.rollback(generation=0, force=True)
    await sinks.settle(note)
    await sinks.settle(note, delay_ms=LEASE_MS)
    assert [one.key for one in await sinks.take(limit=10, lease_ms=LEASE_MS)] == [session.key]
