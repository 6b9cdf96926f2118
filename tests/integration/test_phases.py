"""`phase_done`: where a phase ends, whenever a worker comes and whatever it makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Skipped, StoreFault
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.summary import SummaryRequest
from tests.integration.host import human, turns

WINDOW = 16_000


async def test_ends_of_phases_are_where_they_were_told_and_none_is_lost(client: CompactionClient, redis: Redis) -> None:
    record = SessionStore(redis).generation
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 1))
    await session.phase_done("The plan is made.")
    assert await client.run_due(summarizer=FakeSummarizer()) == [Skipped(reason="below_phase_minimum")]

    await session.record(turns("openai-chat", 11, start=1))
    await session.phase_done("The login bug is fixed.")
    await session.record(turns("openai-chat", 1, start=12))
    await session.phase_done("The tests are green.")
    await session.record([human("Now the logout page.")])
    prompts: list[str] = []

    async def look(request: SummaryRequest) -> None:
        prompts.append(request.content)

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=look))
    assert isinstance(outcome, Compacted)
    first = await record(session.key, 1)
    assert first is not None
    assert [(end.seq, end.note) for end in first.phases] == [
        (3, "The plan is made."),
        (47, "The login bug is fixed."),
        (51, "The tests are green."),
    ]
    assert all(end.note in prompts[0] for end in first.phases)

    await session.record(turns("openai-chat", 12, start=13))
    await session.request()
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[0], Compacted)
    second = await record(session.key, 2)
    assert second is not None
    assert second.phases == first.phases


async def test_a_fork_knows_the_ends_in_its_part_of_the_path(client: CompactionClient, redis: Redis) -> None:
    """Those that a generation tells of, which is not copied, and those that none does yet."""
    record = SessionStore(redis).generation
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 2))
    await session.rewind()  # places in the path are not those in the log any more
    await session.record(turns("openai-chat", 10, start=2))
    await session.phase_done("The login bug is fixed.")
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[0], Compacted)
    await session.record(turns("openai-chat", 3, start=12))
    await session.phase_done("The tests are green.")
    await session.record(turns("openai-chat", 1, start=15))

    whole, part = await session.fork("whole"), await session.fork("part", at=58)
    assert not (await whole.status()).due, "what was asked of one session is done for that one"
    assert (await session.status()).due
    for copy in (whole, part):
        await copy.request()
    assert [type(outcome) for outcome in await client.run_due(summarizer=FakeSummarizer())] == [Compacted] * 3

    told = {one.key.session: await record(one.key, 1) for one in (whole, part)}
    ends = {name: found and [(end.seq, end.note) for end in found.phases] for name, found in told.items()}
    assert ends == {
        "whole": [(43, "The login bug is fixed."), (55, "The tests are green.")],
        "part": [(43, "The login bug is fixed.")],
    }


async def test_a_fork_is_of_one_moment_where_the_current_generation_is_lost(
    client: CompactionClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is read anew then, and others go on with it meanwhile: here a phase ends in what they recorded."""
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 12))
    await session.request()
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[0], Compacted)
    mend = SessionStore.mend

    async def meanwhile(store: SessionStore, *given: Any, **more: Any) -> Any:
        other = client.session("chat", format="openai-chat", window=WINDOW)
        await other.record(turns("openai-chat", 1, start=12))
        await other.phase_done("The tests are green.")
        return await mend(store, *given, **more)

    await redis.delete(session.key.key("gen:1"))
    monkeypatch.setattr(SessionStore, "mend", meanwhile)
    copy = await session.fork("copy")

    meta = await SessionStore(redis).meta(copy.key)
    assert meta is not None
    assert [(end.seq, end.note) for end in meta.phase_ends] == [(51, "The tests are green.")]
    assert meta.log_len == 52


async def test_a_fork_says_that_ends_cannot_be_read(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 1))
    for damaged in ('[{"seq": 3, "note": "a secr', '[{"seq": "a secret", "note": 7}]', "[7]"):
        await redis.hset(session.key.key("meta"), "phases", damaged)  # type: ignore[misc]
        with pytest.raises(StoreFault, match="'chat': the ends of its phases cannot be read") as told:
            await session.fork("copy")
        assert "secret" not in str(told.value)


async def test_a_redaction_takes_what_was_said_of_phases_and_leaves_their_ends(
    client: CompactionClient, redis: Redis
) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 12))
    await session.phase_done("The login bug of Jane Doe is fixed.")
    await session.redact([0], reason="asked for")
    meta = await redis.hgetall(session.key.key("meta"))  # type: ignore[misc]
    assert b"Jane Doe" not in b"".join(meta.values())

    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[0], Compacted)
    record = await SessionStore(redis).generation(session.key, 1)
    assert record is not None
    assert [(end.seq, end.note) for end in record.phases] == [(47, "")]
