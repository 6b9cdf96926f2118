"""Hosts that hand over only the newest part of their list."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, Raw, human, says, stored, turn, turns
from tests.integration.moved import assert_sound, compacted, open_session
from tests.integration.test_mirror_views import own_copy


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_window_that_slides_over_a_long_session(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    sent: list[Raw] = []
    for number in range(40):
        sent += turn(fmt, number)
        view = await session.mirror(sent[-10:], partial=True)
        assert view.warnings == ()
        await assert_sound(session, view)
        if number % 8 == 7:
            await client.run_due(summarizer=FakeSummarizer())

    assert view.generation > 0
    assert view.path == ((0, 160),)
    assert await stored(redis, "chat") == sent


@pytest.mark.parametrize("fmt", FORMATS)
async def test_without_partial_a_window_is_refused(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    await session.mirror(mine)

    for window in (mine[4:], mine[4:8], [*mine[4:], human("New.")]):
        with pytest.raises(Conflict, match=r"middle of the session.*partial=True"):
            await session.mirror(window)
    assert await stored(redis, "chat") == mine


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_a_window_says(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    await session.mirror(mine)

    equal = await session.mirror(mine[6:], partial=True)
    behind = await session.mirror(mine[4:8], partial=True)
    whole = await session.mirror(mine, partial=True)
    assert [view.behind for view in (equal, behind, whole)] == [False, True, False]

    undone = await session.mirror([*mine[4:8], human("Rather this.")], partial=True)
    assert list(undone.messages) == [*mine[:8], human("Rather this.")]
    edited = await session.mirror([human("Edited."), *mine[5:8], human("Rather this.")], partial=True)
    assert list(edited.messages) == [*mine[:4], human("Edited."), *mine[5:8], human("Rather this.")]
    assert "4 (" not in edited.warnings[0]
    assert edited.warnings[0].endswith("at message 0 (the first is 0): 1 message left the path, 1 is new")
    await assert_sound(session, edited)

    gap = await session.mirror([human("Much later."), says("Yes.")], partial=True)
    assert list(gap.messages) == [*edited.messages, human("Much later."), says("Yes.")]
    assert gap.warnings[0].startswith("mirror: none of the 2 messages is the session's")


@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_end_of_a_view_of_ours(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    short = own_copy(await session.view())

    view = await session.mirror([*short[-3:], human("On.")], partial=True)
    from_summary = await session.mirror([*short[1:], human("On."), says("Fine.")], partial=True)

    assert list(view.messages) == [*short, human("On.")]
    assert list(from_summary.messages) == [*short, human("On."), says("Fine.")]


async def test_by_ids_a_window_may_lack_messages(client: CompactionClient) -> None:
    session = open_session(client)
    mine = [human("a"), says("b"), human("c"), says("d")]
    await session.mirror(mine, ids=["1", "2", "3", "4"])

    view = await session.mirror([mine[1], mine[3], human("e")], ids=["2", "4", "5"], partial=True)

    assert list(view.messages) == [*mine, human("e")]
