"""Rewind, and the lists of hosts that mirror after it."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    CompactionClient,
    Conflict,
    InvalidMessage,
    InvalidSetting,
    Refused,
    StoreUnavailable,
    Superseded,
)
from offturn.links import Links
from offturn.testing import FakeSummarizer
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, calls, human, result, says, stored, turns
from tests.integration.moved import assert_sound, compacted, covered_end, open_session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_rewind_takes_back_turns_and_the_session_goes_on(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = open_session(client, fmt)
    sent = turns(fmt, 4)
    await session.record(sent)

    await session.rewind()
    once = await session.view()
    await session.rewind(turns=2)
    thrice = await session.view()
    recorded = await session.record([human("Something else.")])
    after = await session.view()

    assert list(once.messages) == sent[:12]
    assert list(thrice.messages) == sent[:4]
    assert (recorded.first_seq, recorded.path) == (16, ((0, 4), (16, 17)))
    assert list(after.messages) == [*sent[:4], human("Something else.")]
    assert len({once.id, thrice.id, after.id}) == 3
    assert await stored(redis, "chat") == [*sent, human("Something else.")]
    await assert_sound(session, after)


async def test_rewind_to_a_message_by_seq_or_id(client: CompactionClient) -> None:
    session = open_session(client)
    sent = turns("openai-chat", 3)
    await session.record(sent, ids=[f"row {i}" for i in range(12)])

    await session.rewind(to=8)
    assert list((await session.view()).messages) == sent[:9]
    await session.rewind(to="row 3")
    assert list((await session.view()).messages) == sent[:4]

    for to in (8, "row 8", "nobody", -1):
        with pytest.raises(Refused, match="not on the path"):
            await session.rewind(to=to)
    with pytest.raises(Refused, match="nothing after"):
        await session.rewind(to=3)
    with pytest.raises(Refused, match="2 turns back: the path has 1"):
        await session.rewind(turns=2)
    for turns_ in (0, -1, True, "1"):
        with pytest.raises(InvalidSetting, match="turns"):
            await session.rewind(turns=turns_)  # type: ignore[arg-type]  # what a host may pass
    assert list((await session.view()).messages) == sent[:4]


async def test_the_newest_messages_are_taken_back_and_returned(client: CompactionClient) -> None:
    session = open_session(client)
    mine = turns("openai-chat", 2)
    await session.record(mine)
    assert await session.rewind(messages=1) == mine[-1:]
    assert await session.rewind(messages=2) == mine[-3:-1]
    assert await session.rewind() == mine[4:5]
    assert list((await session.view()).messages) == mine[:4]
    with pytest.raises(Refused, match="5 messages back: the path has 4"):
        await session.rewind(messages=5)
    with pytest.raises(InvalidSetting, match="messages"):
        await session.rewind(messages=0)


async def test_everything_can_be_taken_back(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 1))

    await session.rewind()
    empty = await session.view()
    again = await session.mirror([human("From the start.")])

    assert list(empty.messages) == []
    assert list(again.messages) == [human("From the start.")]
    assert (await session.status()).messages == 1


async def test_nothing_recorded_is_refused(client: CompactionClient) -> None:
    session = open_session(client)

    for call in (
        session.rewind(),
        session.amend(0, human("x")),
        session.fork("b"),
        session.cancel(),
        session.unblock(),
    ):
        with pytest.raises(Refused):
            await call
    with pytest.raises(Refused):
        await session.configure(window=20_000)
    with pytest.raises(Refused):
        [line async for line in session.export()]
    await session.purge()


async def test_a_rewind_into_a_group_lets_the_result_come_again(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record([human("Look."), calls("openai-chat", "c", "d")])
    await session.record([result("openai-chat", "c", "old"), result("openai-chat", "d", "old"), says("Done.")])

    await session.rewind(to=2)
    await session.record([result("openai-chat", "d", "new")])
    with pytest.raises(InvalidMessage):
        await session.record([result("openai-chat", "c", "twice")])

    view = await session.view()
    assert [m.get("content") for m in view.messages] == ["Look.", None, "old", "new"]
    await assert_sound(session, view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_rewind_in_the_tail_keeps_the_generation(client: CompactionClient, fmt: str) -> None:
    session = await compacted(client, fmt)
    before = await session.view()

    await session.rewind()
    view = await session.view()

    assert view.generation == 1
    assert list(view.messages) == list(before.messages)[:-4]
    await assert_sound(session, view)


async def test_a_generation_of_what_was_taken_back_says_why_it_cannot_come_again(client: CompactionClient) -> None:
    session = await compacted(client, "openai-chat")

    await session.rewind(to=0)

    with pytest.raises(Refused, match=r"generation 1 .*taken back or replaced since.*0, the transcript, always can be"):
        await session.rollback(generation=1, force=True)
    await session.rollback(generation=0)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_rewind_past_what_a_generation_covers_falls_back_along_replaces(
    client: CompactionClient, fmt: str
) -> None:
    session = await compacted(client, fmt)
    first = await covered_end(session)
    await session.record(turns(fmt, 22, start=30))
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.view()).generation == 2
    second = await covered_end(session)
    assert first < second

    await session.rewind(to=second - 1)
    one = await session.view()
    await assert_sound(session, one)
    assert one.generation == 1
    await session.rewind(to=first - 2)
    none = await session.view()
    await assert_sound(session, none)
    assert none.generation not in (1, 2)
    for number in (1, 2):
        with pytest.raises(Refused):
            await session.rollback(generation=number, force=True)


async def test_every_rewind_leaves_a_sound_view(client: CompactionClient) -> None:
    session = await compacted(client)

    for stop in range(86, 0, -3):
        await session.rewind(to=stop)
        await assert_sound(session, await session.view())


async def test_a_rewind_names_the_tail_it_saw(client: CompactionClient) -> None:
    session, other = open_session(client), open_session(client)
    sent = turns("openai-chat", 2)
    await session.record(sent)
    await session.view()
    await other.record([human("Wait.")])

    with pytest.raises(Conflict, match="look again"):
        await session.rewind()

    await session.rewind()
    assert list((await session.view()).messages) == sent


async def test_a_host_that_tries_again_after_a_lost_reply_rewinds_once(client: CompactionClient) -> None:
    session = open_session(client)
    sent = turns("openai-chat", 3)
    await session.record(sent)
    await session.view()
    links: Links = await client._connector.links()
    undo = links.store.undo

    async def lost(*args: Any, **options: Any) -> Any:
        await undo(*args, **options)
        raise StoreUnavailable("the store does not answer (Test)")

    links.store.undo = lost  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await session.rewind()
    links.store.undo = undo  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="look again"):
        await session.rewind()

    assert list((await session.view()).messages) == sent[:8]


async def test_a_rewind_that_loses_a_race_is_judged_again(client: CompactionClient) -> None:
    """A generation is committed between reading and writing: the path is the same, what holds on it is not."""
    session = open_session(client)
    await session.record(turns("openai-chat", 22))
    links: Links = await client._connector.links()
    undo, tries = links.store.undo, 0

    async def late(*args: Any, **options: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries == 1:
            await client.run_due(summarizer=FakeSummarizer())
        return await undo(*args, **options)

    links.store.undo = late  # type: ignore[method-assign]
    await session.rewind()

    view = await session.view()
    assert tries == 2
    assert view.generation == 1
    await assert_sound(session, view)


# -- mirror


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("with_ids", [False, True])
async def test_a_shortened_list_goes_on_after_a_rewind(
    client: CompactionClient, redis: Redis, fmt: str, with_ids: bool
) -> None:
    session = open_session(client, fmt)
    mine = turns(fmt, 3)
    names = [f"row {i}" for i in range(40)]

    def ids(messages: list[Any]) -> list[str] | None:
        return names[: len(messages)] if with_ids else None

    await session.mirror(mine, ids=ids(mine))
    shorter = mine[:8]
    assert (await session.mirror(shorter, ids=ids(shorter))).behind

    await session.rewind()
    equal = await session.mirror(shorter, ids=ids(shorter))
    longer = [*shorter, human("Differently now.")]
    view = await session.mirror(longer, ids=ids(longer))

    assert not equal.behind
    assert list(equal.messages) == shorter
    assert list(view.messages) == longer
    assert await stored(redis, "chat") == [*mine, human("Differently now.")]
    again = await session.mirror([*mine, human("As before.")], ids=ids([*mine, 0]))
    assert list(again.messages) == [*mine, human("As before.")]


async def test_a_view_of_ours_goes_on_after_a_rewind(client: CompactionClient) -> None:
    session = await compacted(client)
    mine = [*(await session.view()).messages]

    await session.rewind()
    mine = [*mine[:-4], human("Differently now.")]
    view = await session.mirror(mine)

    assert list(view.messages) == mine
    assert view.generation == 1
    await assert_sound(session, view)


async def test_ids_of_messages_that_were_taken_back_may_come_again(client: CompactionClient, redis: Redis) -> None:
    session = open_session(client)
    mine = turns("openai-chat", 2)
    ids = [f"row {i}" for i in range(8)]
    await session.mirror(mine, ids=ids)
    await session.rewind()

    again = await session.mirror(mine, ids=ids)
    other = await session.record([human("Another.")], ids=["row 9"])

    assert list(again.messages) == mine
    assert other.path == ((0, 4), (8, 13))
    assert (await session.record([mine[4]], ids=["row 4"])).first_seq == 13
    assert await stored(redis, "chat") == [*mine, *mine[4:], human("Another.")]
    with pytest.raises(Conflict):
        await session.record([human("No.")], ids=["row 4"])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_view_after_a_rewind_into_what_was_covered_goes_on_as_a_list(
    client: CompactionClient, redis: Redis, fmt: str
) -> None:
    session = await compacted(client, fmt)

    await session.rewind(to=await covered_end(session) - 4)
    mine = [*(await session.view()).messages, human("Differently now.")]
    view = await session.mirror(mine)

    assert view.messages[-1] == human("Differently now.")
    assert await stored(redis, "chat") == [*turns(fmt, 22), human("Differently now.")]
    await assert_sound(session, view)


async def test_whoever_waits_for_a_job_that_nobody_wants_any_more_is_answered(client: CompactionClient) -> None:
    session = open_session(client)
    await session.record(turns("openai-chat", 4))
    [ticket] = [one.ticket for one in [await session.record(turns("openai-chat", 60, start=10))] if one.ticket]

    async def take_back(_: object) -> None:
        await session.rewind(turns=60)

    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=take_back))

    assert isinstance(outcome, Superseded)
    assert isinstance(await ticket.wait(TIMEOUT), Superseded)
    assert await ticket.status() == "done"
