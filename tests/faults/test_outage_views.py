"""What a host gets to send while the store is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    CompactionClient,
    StoreUnavailable,
    View,
    outbox,
)
from tests.faults.cut_off import WINDOW, Place, cut_off
from tests.integration.host import Raw, assert_sendable, calls, human, result, says, turns


@pytest.fixture
async def place(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with cut_off(redis, valkey_url, monkeypatch) as cut:
        yield cut


async def test_a_list_goes_on_and_its_new_messages_are_recorded_once(place: Place) -> None:
    session = place.session()
    mine: list[Raw] = [{"role": "system", "content": "Be brief."}, human("a")]
    await session.mirror(mine)
    place.line.silent = True
    mine += [says("b"), human("c")]
    first = await session.mirror(mine)
    again = await session.mirror(mine)
    mine += [says("d"), human("e")]
    more = await session.mirror(mine)
    place.line.silent = False
    view = await session.mirror(mine)

    assert (first.stale, again.stale, more.stale, view.stale) == (True, True, True, False)
    assert list(first.messages) == list(again.messages) == mine[:4]
    assert list(more.messages) == list(view.messages) == mine
    assert await place.stored() == mine


async def test_a_list_of_a_session_not_seen_yet_fits_and_records_nothing(place: Place) -> None:
    place.line.down = True
    mine = [*turns("openai-chat", 60), human("And now?")]
    session = place.session()
    view = await session.mirror(mine, system="Be brief.")
    with pytest.raises(StoreUnavailable):
        await session.mirror([])
    place.line.down = False

    assert view.stale
    assert view.messages[-1] == human("And now?")
    assert_sendable(view)
    assert any("nothing was recorded" in warning for warning in view.warnings)
    assert session.undelivered() == []
    await session.mirror(mine)
    assert await place.stored() == mine


async def test_a_list_that_another_process_recorded_meanwhile_is_not_recorded_twice(
    place: Place, client: CompactionClient
) -> None:
    session, mine = place.session(), [human("a")]
    await session.mirror(mine)
    place.line.down = True
    mine += [says("b")]
    await session.mirror(mine)
    await client.session("chat", format="openai-chat", window=WINDOW).mirror(mine)
    place.line.down = False
    view = await session.mirror([*mine, human("c")])

    assert list(view.messages) == await place.stored() == [*mine, human("c")]


async def test_a_mirror_with_no_room_to_keep_shows_the_list_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_MESSAGES", 1)
    session = place.session()
    await session.mirror([human("a")])
    place.line.down = True
    view = await session.mirror([human("a"), says("b"), human("c")])
    assert any("the next list brings it again" in warning for warning in view.warnings)


async def test_a_view_too_large_gives_way_and_nothing_is_committed(place: Place) -> None:
    session = place.session()
    await session.record([*turns("openai-chat", 12), human("Go on.")])
    await session.view()
    place.line.down = True
    await session.record([*turns("openai-chat", 40), human("And now?")])
    view = await session.view()
    again = await session.mirror([*view.messages, says("Well."), human("Yes?")])
    other = await session.view(window=8_000)
    place.line.down = False

    for one in (view, again, other):
        assert one.stale
        assert_sendable(one)
    assert again.messages[-1] == human("Yes?")
    assert await place.stored() == [*turns("openai-chat", 12), human("Go on.")]
    assert await session.generations() == []
    assert (await place.stored())[-2:] == [says("Well."), human("Yes?")]


async def test_a_generation_seen_before_is_in_force_still(place: Place) -> None:
    session = place.session()
    sent = [*turns("openai-chat", 40), human("Go on.")]
    await session.record(sent)
    seen = await session.view()
    place.line.down = True
    view, raw = await session.view(), await session.view(generation=0, window=1_000_000)
    with pytest.raises(StoreUnavailable):
        await session.view(generation=7)

    assert seen.generation > 0
    assert (view.generation, list(view.messages)) == (seen.generation, list(seen.messages))
    assert list(raw.messages) == sent


class TooLong(Exception):
    status_code = 400
    code = "context_length_exceeded"


async def test_an_overflow_gives_smaller_views_and_keeps_what_is_pending(place: Place) -> None:
    session = place.session()
    await session.record([*turns("openai-chat", 14), human("Go on.")])
    sent = await session.view()
    place.line.silent = True
    pending = [says("One."), human("Two.")]
    views: list[View] = []
    for _ in range(2):
        views.append(await session.overflow(TooLong(), sent=views[-1] if views else sent, pending=pending))
    place.line.silent = False
    await session.view()

    sizes = [view.tokens for view in (sent, *views)]
    assert all(small <= large * 4 // 5 for large, small in pairwise(sizes))
    assert all(view.stale and view.messages[-1] == human("Two.") for view in views)
    assert await place.stored() == [*turns("openai-chat", 14), human("Go on."), *pending]


async def test_what_was_recorded_and_never_read_is_shown(place: Place) -> None:
    session = place.session()
    await session.record(human("a"))
    await session.record(says("b"))
    place.line.down = True
    assert list((await session.view()).messages) == [human("a"), says("b")]


async def test_a_log_read_in_part_is_not_taken_for_all_of_it(
    place: Place, client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is cut after the first page of two."""
    writer = client.session("chat", format="openai-chat", window=1_000_000)
    await writer.record(turns("openai-chat", 60))
    session = place.session()
    links = await place.client._connector.links()
    sync, pages = links.store.sync, 0

    async def cut(*args: Any, **options: Any) -> Any:
        nonlocal pages
        pages += 1
        place.line.down = pages >= 2
        return await sync(*args, **options)

    monkeypatch.setattr(links.store, "sync", cut)
    with pytest.raises(StoreUnavailable):
        await session.view()
    kept = await session.record(human("new"))
    view = await session.view()
    place.line.down = False
    monkeypatch.undo()

    assert pages > 1
    assert not kept.durable
    assert list(view.messages) == [human("new")]
    assert list((await session.view(generation=0, window=1_000_000)).messages) == [
        *turns("openai-chat", 60),
        human("new"),
    ]


async def test_a_tool_call_and_its_result_are_kept_apart_and_delivered_in_order(place: Place) -> None:
    session = place.session()
    await session.record(human("Run it."))
    place.line.down = True
    await session.record(calls("openai-chat", "c1"))
    open_view = await session.view()
    await session.record(result("openai-chat", "c1", "ok"))
    closed = await session.view()
    place.line.down = False
    await session.view()
    assert [len(open_view.messages), len(closed.messages)] == [2, 3]
    assert_sendable(closed)
    assert await place.stored() == list(closed.messages)


@pytest.mark.parametrize("know", [False, True])
async def test_what_was_done_unheard_and_read_since_is_shown_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, know: bool
) -> None:
    """The reply is lost, the next read comes through, and then the line is cut before it is asked for again."""
    session = place.session()
    if know:
        await session.record([human("start"), says("yes")])
        await session.view()
    start = await place.stored()
    place.line.silent = True
    assert not (await session.record([human("a"), says("b")])).durable
    place.line.silent = False
    if know:
        assert session._cache is not None
        session._cache.stale = True
    links = await place.client._connector.links()
    sync, reads = links.store.sync, 0

    async def once(*args: Any, **options: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads > 1:
            raise StoreUnavailable("away")
        return await sync(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(links.store, "sync", once)
        view = await session.view()

    assert reads == 2
    assert view.stale
    assert list(view.messages) == [*start, human("a"), says("b")]
    assert list((await session.view()).messages) == await place.stored() == list(view.messages)


async def test_a_phase_in_an_outage_takes_one_deadline_and_keeps_the_list(place: Place) -> None:
    session = place.session()
    await session.mirror([human("a")])
    place.line.silent = True
    with pytest.raises(StoreUnavailable):
        await session.phase_done("done", history=[human("a"), says("b")])
    assert [list(one.messages) for one in session.undelivered()] == [[says("b")]]
