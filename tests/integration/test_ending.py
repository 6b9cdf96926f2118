"""Fork, purge, export: a session that is copied, deleted, taken elsewhere."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import (
    Compacted,
    CompactionClient,
    Conflict,
    Refused,
)
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, human, result, says, stored, turns
from tests.integration.moved import WINDOW, assert_sound, compacted, open_session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_fork_copies_the_path_and_both_go_on(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 4)
    await session.record(mine, ids=[f"row {i}" for i in range(16)])
    await session.rewind()
    await session.amend("row 0", human("Amended."))
    now = [human("Amended."), *mine[1:12]]

    whole = await session.fork("whole")
    part = await session.fork("part", at="row 5")
    await whole.record([human("Here.")])
    await part.record([result(fmt, "call_1", "late"), says("There.")])
    await session.record([says("Home.")])

    assert list((await whole.view()).messages) == [*now, human("Here.")]
    assert list((await part.view()).messages) == [*now[:6], result(fmt, "call_1", "late"), says("There.")]
    assert list((await session.view()).messages) == [*now, says("Home.")]
    assert await stored(redis, "whole") == [*now, human("Here.")]
    with pytest.raises(Conflict):
        await whole.record([human("No.")], ids=["row 0"])
    for one in (whole, part, session):
        await assert_sound(one, await one.view())


async def test_a_fork_has_the_settings_and_is_compacted_on_its_own(client: CompactionClient) -> None:
    session = await compacted(client)

    other = await session.fork("other")
    status = await other.status()
    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    view = await other.view()

    assert (status.window, status.policy, status.generation, status.due) == (WINDOW, "balanced", 0, True)
    assert isinstance(outcome, Compacted)
    assert view.generation == outcome.generation
    await assert_sound(other, view)
    assert (await session.view()).generation == 1


async def test_a_fork_needs_a_free_id(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("Hello.")])
    other = open_session(client, name="other")
    await other.record([human("Mine.")])

    with pytest.raises(Refused, match="exists"):
        await session.fork("other")
    with pytest.raises(Refused, match="exists"):
        await session.fork("chat")
    with pytest.raises(Refused, match="not on the path"):
        await session.fork("third", at=7)
    await other.purge()
    again = await session.fork("other")

    assert list((await again.view()).messages) == [human("Hello.")]


async def test_purge_leaves_nothing_but_a_tombstone(client: CompactionClient, redis: Redis) -> None:
    session = await compacted(client)
    await session.request()
    kept = open_session(client, name="kept")
    await kept.record([human("Stay.")])

    await session.purge()
    await session.purge()

    names = [name async for name in redis.scan_iter("offturn:{s00}:default:chat:*")]
    assert names == [b"offturn:{s00}:default:chat:meta"]
    assert await redis.hgetall("offturn:{s00}:default:chat:meta") == {b"v": b"1", b"incarnation": b"1", b"alive": b"0"}  # type: ignore[misc]
    assert await client.run_due() == []
    assert list((await kept.view()).messages) == [human("Stay.")]
    assert list((await session.view()).messages) == []


async def test_late_writers_of_a_purged_life_never_write_into_the_next(client: CompactionClient, redis: Redis) -> None:
    session, late, quiet, back = (open_session(client) for _ in range(4))
    await session.record(turns("openai-chat", 2))
    ticket = await session.request()
    for one in (late, quiet, back):
        await one.view()

    await session.purge()
    with pytest.raises(Conflict, match="purged"):
        await late.record([human("Late.")])
    await session.record([human("A new life.")])
    with pytest.raises(Conflict, match="purged"):
        await quiet.record([human("Late too.")])
    with pytest.raises(Conflict, match="look again"):
        await back.rewind()

    assert await stored(redis, "chat") == [human("A new life.")]
    assert list((await quiet.view()).messages) == [human("A new life.")]
    assert (await session.status()).generation == 0
    assert not (await session.status()).due
    assert await ticket.status() != "running"


async def test_export_gives_everything(client: CompactionClient) -> None:
    session = await compacted(client, ids=True)
    await session.rewind()
    await session.record([human("One more.")], origin="host")

    lines = [line async for line in session.export()]

    kinds = [line["kind"] for line in lines]
    assert kinds == ["session", *["message"] * 89, "generation"]
    messages = lines[1:-1]
    assert [line["seq"] for line in messages] == list(range(89))
    assert [line["message"] for line in messages] == [*turns("openai-chat", 22), human("One more.")]
    assert [line["seq"] for line in messages if not line["on_path"]] == [84, 85, 86, 87]
    assert (messages[3]["id"], messages[3]["origin"]) == ("row 3", "assistant")
    assert (messages[88]["id"], messages[88]["origin"]) == (None, "host")
    assert (lines[0]["path"], lines[0]["generation"]) == ([[0, 84], [88, 89]], 1)
    assert lines[-1]["number"] == 1
    assert lines[-1]["summary"]


async def test_an_export_notices_a_purge(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 60, size=10))
    lines = session.export()
    await anext(lines)
    await session.purge()
    await session.record([human("A new life.")])

    with pytest.raises(Conflict, match="purged"):
        [line async for line in lines]
