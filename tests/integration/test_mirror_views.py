"""Hosts that put our view in the place of their own list: our summary never becomes transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, View
from offturn.testing import FakeSummarizer
from offturn_engine.draft import SUMMARY_HEAD
from tests.integration.host import (
    FORMATS,
    Raw,
    assert_sendable,
    calls,
    human,
    long_text,
    result,
    says,
    stored,
    texts,
    turn,
    turns,
)

WINDOW = 16_000


async def assert_recorded_once(redis: Redis, sent: list[Raw], session: str = "chat") -> None:
    """The log is what was sent: all of it, once, in order, and nothing of ours."""
    log = await stored(redis, session)
    assert log == sent
    assert SUMMARY_HEAD not in texts(log)


def own_copy(view: View) -> list[Any]:
    """The view as a host's list after a way through JSON."""
    return json.loads(json.dumps(view.kwargs()["messages"]))  # type: ignore[no-any-return]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_hundred_turns_through_a_host_that_replaces_its_list(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent: list[Raw] = []
    mine: list[Any] = []
    generations = set()
    for number in range(100):
        question, call, found, answer = turn(fmt, number, size=900)
        for new in ([question], [call, found], [answer]):
            sent += new
            view = await session.mirror([*mine, *new])
            assert_sendable(view)
            mine = own_copy(view)
        generations.add(view.generation)
        if number % 2:
            await client.run_due(summarizer=FakeSummarizer())

    assert len(generations) >= 4
    assert view.path == ((0, 400),)
    assert mine[-1] == sent[-1]
    await assert_recorded_once(redis, sent)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_of_an_older_generation_goes_on(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 22)
    await session.mirror(sent)
    await client.run_due(summarizer=FakeSummarizer())
    old = own_copy(await session.view())
    added = turns(fmt, 20, start=30)
    for start in range(0, len(added), 4):
        await session.mirror([*old, *added[: start + 4]])
    await client.run_due(summarizer=FakeSummarizer())
    newest = await session.view()

    assert newest.generation == 2
    view = await session.mirror([*old, *added, human("Still the old list.")])
    assert view.generation == 2
    assert view.messages[-1] == human("Still the old list.")
    assert (await session.mirror([*old, *added[:4]])).behind
    await assert_recorded_once(redis, [*sent, *added, human("Still the old list.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_from_before_the_last_records_is_behind_or_takes_them_back(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 22)
    await session.mirror(sent)
    await client.run_due()
    old = own_copy(await session.view())
    await session.record(turn(fmt, 99))

    behind = await session.mirror(old)
    view = await session.mirror([*old, *turn(fmt, 99), human("I do.")])
    other = await session.mirror([*old, human("I know nothing of turn 99.")])

    assert behind.behind
    assert view.messages[-1] == human("I do.")
    assert list(other.messages) == [*old, human("I know nothing of turn 99.")]
    assert other.generation == view.generation == 1
    assert other.warnings == (
        f"mirror: the list differs from the session at message {len(old)} (the first is 0): 5 messages left the path, 1 is new",
    )
    await assert_recorded_once(redis, [*sent, *turn(fmt, 99), human("I do."), human("I know nothing of turn 99.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_an_emergency_view_handed_back_goes_on(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 60)
    urgent = await session.mirror(sent)
    view = await session.mirror([*own_copy(urgent), human("On we go.")])

    assert urgent.kind == "emergency"
    assert (view.generation, view.messages[-1]) == (urgent.generation, human("On we go."))
    await assert_recorded_once(redis, [*sent, human("On we go.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_for_a_smaller_window_handed_back_goes_on(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 15)
    small = await session.mirror(sent, window=4_000)
    await session.mirror([*own_copy(small), human("On we go.")], window=4_000)

    assert small.kind == "emergency"
    assert await session.generations() == []
    await assert_recorded_once(redis, [*sent, human("On we go.")])
    elsewhere = client.session("chat", format=fmt, window=WINDOW)
    with pytest.raises(Conflict):  # another handle has not seen that view
        await elsewhere.mirror([*own_copy(small), human("On we go.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_synthetic_results_never_become_transcript(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    start = [human("Run both."), calls(fmt, "a", "b"), result(fmt, "a", "1"), human("Well?")]
    closed = await session.mirror(start)
    mine = own_copy(closed)
    assert "no result was recorded" in texts(mine)
    assert_sendable(closed)

    mine += [says("b still runs."), human("I see.")]
    await session.mirror(mine)
    mine += [result(fmt, "b", "2"), says("b is done.")]
    late = await session.mirror(mine)
    again = await session.mirror([*mine, human("Good.")])  # its list still has the synthetic one

    sent = [*start, says("b still runs."), human("I see."), result(fmt, "b", "2"), says("b is done."), human("Good.")]
    assert "no result was recorded" not in texts(late.messages)
    assert_sendable(again)
    await assert_recorded_once(redis, sent)
    await session.mirror([*own_copy(again), says("Bye.")])
    await assert_recorded_once(redis, [*sent, says("Bye.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_pruned_view_handed_back_goes_on(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = [
        message
        for n in range(12)
        for message in (
            human(f"Run {n}."),
            calls(fmt, f"c{n}"),
            result(fmt, f"c{n}", long_text(4_000, f"{n}")),
            says(f"Run {n} passed."),
        )
    ]
    await session.mirror(sent)
    await client.run_due()
    pruned = await session.view()
    [made] = await session.generations()

    assert (made.method, made.covered, pruned.kind) == ("prune", (), "compacted")
    await session.mirror([*own_copy(pruned), human("More.")])
    half_own = [*own_copy(pruned)[:20], *sent[20:], human("More."), says("Yes.")]
    await session.mirror(half_own)
    await assert_recorded_once(redis, [*sent, human("More."), says("Yes.")])


async def test_a_list_of_ours_and_a_changed_system_message(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    sent: list[Raw] = [{"role": "system", "content": "It is 09:00."}, *turns("openai-chat", 22)]
    await session.mirror(sent)
    await client.run_due(summarizer=FakeSummarizer())
    short = own_copy(await session.view())
    view = await session.mirror([{"role": "system", "content": "It is 09:05."}, *short[1:], human("Late.")])

    assert view.kind == "compacted"
    assert view.messages[0] == {"role": "system", "content": "It is 09:05."}
    assert view.messages[1]["content"].startswith(SUMMARY_HEAD)
    await assert_recorded_once(redis, [*sent, human("Late.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_after_a_rollback_goes_on(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 22)
    await session.mirror(sent)
    await client.run_due(summarizer=FakeSummarizer())
    short = own_copy(await session.view())
    await session.rollback(generation=0, force=True)

    view = await session.mirror([*short, human("On.")])

    assert view.kind == "raw"
    assert list(view.messages) == [*sent, human("On.")]
    await assert_recorded_once(redis, [*sent, human("On.")])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_summary_of_another_session_is_refused(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.mirror(turns(fmt, 22))
    await client.run_due()
    short = own_copy(await session.view())

    fresh, other = (
        client.session("fresh", format=fmt, window=WINDOW),
        client.session("other", format=fmt, window=WINDOW),
    )
    await other.mirror([human("Hello.")])
    with pytest.raises(Conflict, match=r"message 0 .* a summary of offturn's"):
        await fresh.mirror([*short, human("On.")])
    with pytest.raises(Conflict, match=r"message 0 .* a summary of offturn's"):
        await other.mirror([*short, human("On.")])
    assert await stored(redis, "fresh") == []
    await assert_recorded_once(redis, [human("Hello.")], "other")
