"""The store goes away right after it has acknowledged a write: this handle never shows what was there before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import ANY_WINDOW, Behind, CompactionClient, Session, StoreUnavailable, View
from tests.faults.cut_off import WINDOW, Place, cut_off
from tests.integration.host import Raw, assert_sendable, human, says, texts, turns

SPOKEN = [human("a"), says("b"), human("c"), says("d")]
SECRET = "the gate opens with 4711"


@pytest.fixture
async def place(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with cut_off(redis, valkey_url, monkeypatch) as cut:
        yield cut


async def away(place: Place, session: Session, **options: Any) -> View:
    """A view that the store has no part in."""
    place.line.down = True
    view = await session.view(**options)
    place.line.down = False
    assert view.stale
    assert_sendable(view)
    return view


async def amend(session: Session) -> list[Raw]:
    await session.amend(1, says("other"))
    return [SPOKEN[0], says("other"), *SPOKEN[2:]]


async def rewind(session: Session) -> list[Raw]:
    await session.rewind()
    return SPOKEN[:2]


async def rewind_and_amend(session: Session) -> list[Raw]:
    await session.rewind()
    await session.amend(0, human("other"))
    return [human("other"), SPOKEN[1]]


async def undo_in_the_list(session: Session) -> list[Raw]:
    mine = [*SPOKEN[:2], human("other"), says("words")]
    await session.mirror(mine)
    return mine


async def edit_in_the_list(session: Session) -> list[Raw]:
    mine = [SPOKEN[0], says("other"), *SPOKEN[2:]]
    await session.mirror(mine)
    return mine


MOVES = (amend, rewind, rewind_and_amend, undo_in_the_list, edit_in_the_list)


@pytest.mark.parametrize("move", MOVES)
async def test_the_path_is_the_new_one(place: Place, move: Callable[[Session], Awaitable[list[Raw]]]) -> None:
    session = place.session()
    await session.record(SPOKEN)
    await session.view()
    expected = await move(session)
    lost = await away(place, session)
    place.line.down = True
    kept = await session.record(human("And now?"))
    more = await session.view()
    place.line.down = False

    assert list(lost.messages) == expected
    assert (kept.durable, list(more.messages)) == (False, [*expected, human("And now?")])
    assert list((await session.view()).messages) == [*expected, human("And now?")]


@pytest.mark.parametrize("move", [undo_in_the_list, edit_in_the_list])
async def test_a_list_that_moved_the_path_and_was_not_read_again(
    place: Place, move: Callable[[Session], Awaitable[list[Raw]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is cut between the move, which was acknowledged, and the next read."""
    session = place.session()
    await session.record(SPOKEN)
    await session.view()
    links = await place.client._connector.links()
    undo = links.store.undo

    async def cut(*args: object, **options: object) -> object:
        reply = await undo(*args, **options)  # type: ignore[arg-type]  # passed on as they came
        place.line.down = True
        return reply

    monkeypatch.setattr(links.store, "undo", cut)
    expected = await move(session)
    view = await session.view()
    more = await session.mirror([*expected, human("And now?")])
    place.line.down = False

    assert view.stale
    assert list(view.messages) == expected
    assert (more.stale, list(more.messages)) == (True, [*expected, human("And now?")])
    assert list((await session.view()).messages) == [*expected, human("And now?")]


async def test_a_generation_that_covers_what_left_the_path_is_not_shown(place: Place, client: CompactionClient) -> None:
    session = place.session()
    sent = [*turns("openai-chat", 14), human("Go on.")]
    await session.record(sent)
    await session.request()
    await client.run_due()
    shown = await session.view()
    await session.rewind(to=1)
    view = await away(place, session)

    assert shown.generation == 1
    assert (view.generation, list(view.messages)) == (0, sent[:2])


async def test_what_was_redacted_is_not_shown(place: Place) -> None:
    session = place.session()
    await session.record([human("a"), human(SECRET), says(f"You say that {SECRET}.")], ids=["one", "two", "three"])
    await session.view()
    await session.redact(["two"], reason="asked")
    first = await away(place, session)
    await session.redact([2], reason="asked")
    second = await away(place, session)

    assert texts(first.messages).count(SECRET) == 1
    assert SECRET not in texts(second.messages)
    assert list(second.messages) == list((await session.view()).messages)


async def test_nothing_that_quotes_what_was_redacted_is_shown(place: Place, client: CompactionClient) -> None:
    """The generation in force covered it, and an emergency view, not committed, as well."""
    session = place.session()
    await session.record([human(SECRET), *turns("openai-chat", 14), human("Go on.")])
    await session.request()
    await client.run_due()
    shown, passing = await session.view(), await session.view(window=4_000)
    await session.redact([0], reason="asked")
    view = await away(place, session)
    place.line.down = True
    handed_back = await session.mirror([*shown.messages, says("Well."), human("Yes?")])
    place.line.down = False

    assert shown.generation == 1
    assert all(SECRET in texts(one.messages) for one in (shown, passing))
    assert SECRET not in texts(view.messages)
    assert view.generation == 0
    assert handed_back.stale
    place.line.down = True
    with pytest.raises(StoreUnavailable):
        await session.view(generation=1)


async def test_a_generation_that_says_nothing_of_what_was_redacted_stays_in_force(
    place: Place, client: CompactionClient
) -> None:
    session = place.session()
    await session.record([*turns("openai-chat", 14), human("Go on."), says(SECRET), human("And now?")])
    await session.request()
    await client.run_due()
    await session.view()
    await session.redact([57], reason="asked")
    view = await away(place, session)

    assert view.generation == 1
    assert SECRET not in texts(view.messages)
    assert list(view.messages) == list((await session.view()).messages)


async def test_a_redact_that_the_store_has_lost_can_be_made_again(place: Place) -> None:
    """What a handle has seen redacted is no proof that it is: it reads again what the store holds."""
    session = place.session()
    await session.record([human("a"), human(SECRET)])
    await session.view()
    before = {key: await place.redis.dump(key) for key in await place.redis.keys("offturn:*")}
    await session.redact([1], reason="asked")
    await place.redis.flushdb()
    for key, value in before.items():
        await place.redis.restore(key, 0, value)

    assert SECRET in texts((await session.view()).messages)
    assert await session.redact([1], reason="asked") == (1,)
    assert SECRET not in texts((await session.view()).messages)


async def test_what_a_store_has_lost_is_recorded_again_after_a_redact(place: Place) -> None:
    """The store comes back as it was before the redact and the newest message."""
    session = place.session()
    await session.record([human("a"), human(SECRET)])
    before = {key: await place.redis.dump(key) for key in await place.redis.keys("offturn:*")}
    await session.record(says("b"))
    await session.redact([1], reason="asked")
    await place.redis.flushdb()
    for key, value in before.items():
        await place.redis.restore(key, 0, value)
    await session.view()

    assert await place.stored() == [human("a"), human(SECRET), says("b")]


async def test_what_was_redacted_is_never_recorded_again(place: Place) -> None:
    """The store comes back as it was before the message."""
    session = place.session()
    await session.record(human("a"))
    before = {key: await place.redis.dump(key) for key in await place.redis.keys("offturn:*")}
    await session.record([human(SECRET), says("b")])
    await session.redact([1], reason="asked")
    await place.redis.flushdb()
    for key, value in before.items():
        await place.redis.restore(key, 0, value)

    with pytest.raises(Behind):
        await session.record(human("c"))
    assert await place.stored() == [human("a")]


@pytest.mark.parametrize("force", [False, True])
async def test_a_rollback_puts_another_generation_in_force(place: Place, client: CompactionClient, force: bool) -> None:
    other = client.session("chat", format="openai-chat", window=WINDOW)
    await other.record([*turns("openai-chat", 14), human("Go on.")])
    await other.request()
    await client.run_due()
    await other.view()
    await other.record([says("Well."), *turns("openai-chat", 8, start=20), human("Go on.")])
    await other.request()
    await client.run_due()
    await other.view()
    session = place.session()
    newest = await session.view()
    await session.rollback(generation=1, force=force)
    first = await away(place, session)
    await session.rollback(generation=0, force=True)
    raw = await away(place, session, window=ANY_WINDOW)

    assert (newest.generation, first.generation, raw.generation, raw.kind) == (2, 1, 0, "raw")


async def test_a_session_is_as_it_was_configured(place: Place) -> None:
    session = place.session()
    await session.record([*turns("openai-chat", 14), human("Go on.")])
    before = await session.view()
    await session.configure(window=8_000)
    view = await away(place, session)

    assert before.limit == 14_000
    assert view.limit == 7_000


async def test_a_purged_session_shows_nothing(place: Place) -> None:
    session = place.session()
    await session.record(SPOKEN)
    await session.view()
    await session.purge()
    place.line.down = True
    with pytest.raises(StoreUnavailable):
        await session.view()
    await session.record(human("new"))
    view = await session.view()
    place.line.down = False

    assert list(view.messages) == [human("new")]
    assert list((await session.view()).messages) == await place.stored() == [human("new")]
