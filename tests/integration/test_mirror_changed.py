"""Lists that a host has changed: taken back, edited, replaced. The session follows, and the log keeps everything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, InvalidMessage, Session
from offturn.errors import SessionFull
from offturn.store.replies import Claim
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, Raw, calls, human, long_text, result, says, stored, turn, turns
from tests.integration.moved import assert_sound, compacted, covered_end, open_session
from tests.integration.test_mirror_views import own_copy


def told(at: int, left: int, new: int) -> str:
    messages, verb = "message" if left == 1 else "messages", "is" if new == 1 else "are"
    return f"mirror: the list differs from the session at message {at} (the first is 0): {left} {messages} left the path, {new} {verb} new"


async def follows(session: Session, mine: list[Any], at: int, left: int, new: int, **options: Any) -> None:
    """The session becomes the list, and says so once."""
    view = await session.mirror(mine, **options)
    assert list(view.messages) == mine
    assert view.warnings == (told(at, left, new),)
    assert not view.behind
    await assert_sound(session, view)
    again = await session.mirror(mine, **options)
    assert (list(again.messages), again.warnings) == (mine, ())


@pytest.mark.parametrize("fmt", FORMATS)
async def test_an_undo_and_a_new_question(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    await session.mirror(mine)

    await follows(session, [*mine[:8], human("Rather this.")], 8, 4, 1)

    assert await stored(redis, "chat") == [*mine, human("Rather this.")]
    assert (await session.view()).path == ((0, 8), (12, 13))


@pytest.mark.parametrize("fmt", FORMATS)
async def test_an_edit_in_the_middle_keeps_what_is_behind_it(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    await session.mirror(mine)

    await follows(session, [*mine[:4], human("Look elsewhere."), *mine[5:], human("And?")], 4, 1, 2)

    assert (await session.view()).path == ((0, 4), (12, 13), (5, 12), (13, 14))
    assert await stored(redis, "chat") == [*mine, human("Look elsewhere."), human("And?")]


async def test_other_changes(client: CompactionClient, redis: Redis) -> None:
    fmt = "openai-chat"
    mine = turns(fmt, 3)
    x = human("Something else.")
    for number, (other, at, left, new) in enumerate(
        (
            ([*mine[:3], *mine[4:]], 3, 1, 0),
            ([*mine[:3], *mine[4:], x], 3, 1, 1),
            ([x, *mine], 0, 0, 1),
            ([x, *mine[1:]], 0, 1, 1),
            ([*mine[:4], x, *mine[4:]], 4, 0, 1),
            ([*mine[:4], *mine[8:], x], 4, 4, 1),
            ([*mine[8:], *mine[:4]], 0, 8, 4),
            ([mine[0], mine[3], x, mine[11]], 1, 9, 1),
            (turns(fmt, 2, start=50), 0, 12, 8),
            ([x], 0, 12, 1),
        )
    ):
        session = open_session(client, fmt, f"chat {number}")
        await session.mirror(mine)
        await follows(session, other, at, left, new)
        log = await stored(redis, f"chat {number}")
        assert log[:12] == mine
        assert len(log) == 12 + new


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_generation_before_or_around_the_change_stays_in_force(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    short = own_copy(await session.view())
    mine = turns(fmt, 22)
    end = await covered_end(session)

    undone = await session.mirror([*mine[:84], human("Rather this.")])
    edited = await session.mirror([*short[:-8], human("Edited."), *short[-7:-4], human("Rather this.")])
    await assert_sound(session, edited)

    assert end < 80
    assert undone.generation == edited.generation == 1
    assert list(undone.messages) == [*short[:-4], human("Rather this.")]
    assert list(edited.messages) == [*short[:-8], human("Edited."), *short[-7:-4], human("Rather this.")]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_generation_that_covers_the_change_is_not_in_force(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    mine = turns(fmt, 22)

    await session.mirror([*mine[:12], human("Edited."), *mine[13:]])
    view = await session.view(window=1_000_000)

    assert view.generation == 0
    assert list(view.messages) == [*mine[:12], human("Edited."), *mine[13:]]
    assert (await session.status()).due


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_of_ours_with_an_edit_stands_for_what_it_covers(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    short = own_copy(await session.view())

    view = await session.mirror([*short[:-1], says("Edited answer."), human("On.")])

    assert list(view.messages) == [*short[:-1], says("Edited answer."), human("On.")]
    assert view.path == ((0, 87), (88, 90))
    await assert_sound(session, view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_results_and_calls_stay_together(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 2)
    await session.mirror(mine)

    for other, index in (
        ([mine[0], mine[2], human("x")], 1),
        ([*mine[:5], human("x"), *mine[6:]], 6),
        ([human("x"), result(fmt, "call_0", "found")], 1),
    ):
        with pytest.raises(InvalidMessage, match="keep calls and results together") as caught:
            await session.mirror(other)
        assert caught.value.index == index
    assert await stored(redis, "chat") == mine

    view = await session.mirror([*mine[:6], human("Stop.")])
    assert len(view.messages) == 8  # the call is closed
    await session.mirror([*mine[:6], human("Stop."), result(fmt, "call_1", "late")])
    assert await stored(redis, "chat") == [*mine, human("Stop."), result(fmt, "call_1", "late")]


async def test_calls_of_what_left_the_path_are_not_open(client: CompactionClient) -> None:
    session = open_session(client)
    await session.mirror([human("a"), calls("openai-chat", "c1")])
    await session.mirror([human("a"), says("No call.")])

    with pytest.raises(InvalidMessage):
        await session.record(result("openai-chat", "c1", "x"))


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_running_job_is_superseded(client: CompactionClient, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 22)
    await session.mirror(mine)
    store = (await session._connector.links()).store
    claim = await store.claim(session.key, token="t", lease_ms=60_000, max_attempts=6)
    assert isinstance(claim, Claim)
    await session.mirror([*mine[:-4], human("Rather this.")])

    assert not await store.renew(session.key, claim=claim, lease_ms=60_000)


async def test_a_changed_list_keeps_to_the_quota(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=16_000, overrides={"session.bytes": 65_536})
    mine = turns("openai-chat", 2)
    await session.mirror(mine)
    with pytest.raises(SessionFull):
        await session.mirror([*mine[:7], says(long_text(70_000))])
    assert await stored(redis, "chat") == mine
    await follows(session, [*mine[:7], says("Short.")], 7, 1, 1)


# -- what another process recorded


async def test_a_stale_list_takes_nothing_of_another_process_off_the_path(
    client: CompactionClient, redis: Redis, valkey_url: str
) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=20) as elsewhere:
        first, second = open_session(client), open_session(elsewhere)
        mine = [human("a"), says("b")]
        await first.mirror(mine)
        await second.mirror(mine)
        await second.record([human("c"), says("d")])

        for stale in ([*mine, human("x")], [human("a"), says("other"), human("x")], [human("unrelated")]):
            for _ in range(2):
                with pytest.raises(Conflict, match=r"2 messages .* from m2 on, .*nothing was written.*view"):
                    await first.mirror(stale)
        assert await stored(redis, "chat") == [*mine, human("c"), says("d")]

        await first.mirror([*mine, human("c"), says("d"), human("x")])  # taken into the list
        await first.view()
        await first.mirror([*mine, human("y")])  # looked at: now it is the host's will
    assert await stored(redis, "chat") == [*mine, human("c"), says("d"), human("x"), human("y")]


async def test_a_new_handle_has_seen_nothing(client: CompactionClient, redis: Redis) -> None:
    mine = [human("a"), says("b"), human("c")]
    await open_session(client).mirror(mine)
    again = open_session(client)

    with pytest.raises(Conflict, match=r"message 1 of 3 .*2 messages"):
        await again.mirror([human("a"), says("edited"), human("x")])
    view = await again.mirror([human("a"), says("between"), *mine[1:]])  # nothing leaves
    assert list(view.messages) == [human("a"), says("between"), *mine[1:]]
    await again.mirror([human("a"), says("edited"), human("x")])
    assert await stored(redis, "chat") == [*mine, says("between"), says("edited"), human("x")]


async def test_what_a_handle_recorded_itself_it_has_seen(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("a"), says("b")])
    await session.amend(1, says("B"))
    view = await session.mirror([human("a"), says("c")])
    assert list(view.messages) == [human("a"), says("c")]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_two_processes_change_their_lists_at_once(
    client: CompactionClient, redis: Redis, valkey_url: str, fmt: str
) -> None:
    """One of them wins; what the other has is in the log, or was refused."""
    mine = turns(fmt, 3)
    async with CompactionClient.from_url(valkey_url, timeout=20) as other:
        handles = [open_session(client, fmt), open_session(other, fmt)]
        for handle in handles:
            await handle.mirror(mine)
        for number in range(5):
            lists = [[*mine[:8], human(f"{number} of {who}")] for who in "ab"]
            done = await asyncio.gather(
                *(handle.mirror(one) for handle, one in zip(handles, lists, strict=True)), return_exceptions=True
            )
            assert [isinstance(one, Conflict) for one in done].count(False) == 1
            for handle in handles:
                await assert_sound(handle, await handle.view())
    log: list[Raw] = await stored(redis, "chat")
    assert log[:12] == mine
    assert len(log) == 17


@pytest.mark.parametrize("fmt", FORMATS)
async def test_jobs_go_on_while_a_host_changes_its_list(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 22)
    for number in range(30, 36):
        view = await session.mirror(mine)
        await client.run_due(summarizer=FakeSummarizer())
        mine = [*mine[:-4], human(f"Rather {number}."), *turn(fmt, number)]
        view = await session.mirror(mine)
        await assert_sound(session, view)
    whole = await session.view(generation=0, window=1_000_000)
    assert list(whole.messages) == mine
