"""A limit that a handle has understood from a provider is kept, and never the end of a conversation where it is wrong."""

from __future__ import annotations

import pytest

from offturn import CannotFit, CompactionClient, Session, Usage, View
from tests.integration.host import human, long_text, says, turns
from tests.integration.test_overflow import WINDOW, TooLong, opened

USABLE = WINDOW * 7 // 8
PASTED = human(long_text(16_000))  # about 4,000 tokens
FORGOTTEN = "this handle keeps to the window"


async def limited(session: Session, told: int) -> View:
    """After the provider has named this window, and an answer."""
    sent = await session.view()
    view = await session.overflow(TooLong(sent.tokens, told), sent=sent)
    await session.record(says("All fine."), usage=Usage(view.tokens))
    return view


def told_of(view: View) -> bool:
    return any(FORGOTTEN in warning for warning in view.warnings)


async def test_a_number_that_leaves_room_for_no_view_is_as_good_as_none(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    await session.record([says("All fine."), PASTED])
    sent = await session.view()
    for _ in range(3):
        view = await session.overflow(TooLong(sent.tokens, 3_000), sent=sent)
        assert 3_000 < view.tokens <= view.limit <= 0.8 * sent.tokens
        assert view.messages[-1] == PASTED
        sent = view
    with pytest.raises(CannotFit, match="the provider refused smaller views as well"):
        await session.overflow(TooLong(sent.tokens, 3_000), sent=sent)


async def test_a_limit_that_no_view_fits_any_more_is_forgotten(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    assert (await limited(session, 3_000)).limit == 2_625
    await session.record(PASTED)
    view, again = await session.view(), await session.view()

    assert (view.limit, told_of(view)) == (USABLE, True)
    assert view.messages[-1] == PASTED
    assert (again.limit, told_of(again)) == (USABLE, False)


async def test_a_right_limit_is_learnt_again(client: CompactionClient) -> None:
    """It costs the request that is refused, and the host hears how large its message may be."""
    session = await opened(client, "openai-chat")
    await limited(session, 3_000)
    await session.record(PASTED)
    sent = await session.view()
    with pytest.raises(CannotFit) as caught:
        await session.overflow(TooLong(sent.tokens, 3_000), sent=sent)
    await session.record(says("That was too long."))
    view = await session.view()

    assert caught.value.limit == 2_625
    assert (view.limit, told_of(view)) == (2_625, False)


async def test_a_limit_stays_where_forgetting_it_does_not_help(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    await limited(session, 3_000)
    await session.record(human(long_text(200_000)))
    with pytest.raises(CannotFit):
        await session.view()
    await session.record(says("That was too long."))
    assert (await session.view()).limit == 2_625


async def test_a_provider_that_names_less_every_time_is_no_end(client: CompactionClient) -> None:
    """As a gateway does that tells what is left of a minute's allowance."""
    session = await opened(client, "openai-chat")
    refused = 0
    for number in range(20):
        sent = await session.view()
        try:
            await session.overflow(TooLong(sent.tokens, sent.tokens * 9 // 10), sent=sent)
        except CannotFit:
            refused += 1
        await session.record([says(f"Answer {number}."), *turns("openai-chat", 2, start=100 + 2 * number), PASTED])

    assert refused
    assert (await session.view()).messages[-1] == PASTED
