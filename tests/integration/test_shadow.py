"""`adopt="never"`, shadow mode: generations are made and can be looked at, and the view stays as it is."""

from __future__ import annotations

import pytest

from offturn import Compacted, CompactionClient, Session
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, assert_sendable, human, turn, turns
from tests.integration.moved import WINDOW


def shadow(client: CompactionClient, fmt: str = "openai-chat") -> Session:
    return client.session("chat", format=fmt, window=WINDOW, adopt="never")


@pytest.mark.parametrize("fmt", FORMATS)
async def test_generations_are_made_and_not_shown(client: CompactionClient, fmt: str) -> None:
    session = shadow(client, fmt)
    sent = turns(fmt, 20)
    await session.record(sent)
    [outcome] = await client.run_due(summarizer=FakeSummarizer())

    view = await session.view()
    made = await session.view(generation=1)
    [generation] = await session.generations()
    status = await session.status()

    assert isinstance(outcome, Compacted)
    assert (view.generation, list(view.messages)) == (0, sent)
    assert (made.generation, made.kind) == (1, "compacted")
    assert len(made.messages) < len(sent)
    assert (generation.current, generation.in_force) == (True, False)
    assert (status.adopt, status.current, status.generation) == ("never", 1, 0)
    assert not status.due  # the shadow is what triggers count, or it would be compacted for ever


@pytest.mark.parametrize("fmt", FORMATS)
async def test_where_it_does_not_fit_the_view_gives_way_for_the_call_only(client: CompactionClient, fmt: str) -> None:
    session = shadow(client, fmt)
    sent: list[dict[str, object]] = []
    for number in range(60):
        sent += turn(fmt, number)
        await session.record(turn(fmt, number))
        await client.run_due(summarizer=FakeSummarizer())
        view = await session.view()
        assert_sendable(view)
        assert view.generation == 0
        if view.kind == "raw":
            assert list(view.messages) == sent
        else:
            assert any("adopt='never'" in text for text in view.warnings)
    status = await session.status()
    made = await session.generations()

    assert view.kind == "emergency"
    assert (status.generation, status.current) == (0, made[-1].number)
    assert len(made) > 1
    assert not any(one.in_force or one.provisional for one in made)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_moved_path_shows_no_shadow(client: CompactionClient, fmt: str) -> None:
    session = shadow(client, fmt)
    sent = turns(fmt, 20)
    await session.record(sent)
    await client.run_due(summarizer=FakeSummarizer())

    await session.rewind()
    first = await session.view()
    await session.amend(75, {"role": "assistant", "content": "Amended."})
    second = await session.mirror([*sent[:75], {"role": "assistant", "content": "Amended."}, human("On.")])
    third = await session.mirror([*sent[:75], human("Rather this.")])
    status = await session.status()

    assert [view.generation for view in (first, second, third)] == [0, 0, 0]
    assert list(first.messages) == sent[:76]
    assert list(third.messages) == [*sent[:75], human("Rather this.")]
    assert (status.current, status.generation) == (1, 0)


async def test_a_hold_has_nothing_to_wait_for(client: CompactionClient) -> None:
    session = shadow(client)
    await session.record(turns("openai-chat", 26))
    view = await session.view(hold=600)
    assert (view.kind, view.generation) == ("raw", 0)


async def test_what_a_host_puts_in_force_stays_in_force(client: CompactionClient) -> None:
    session = shadow(client)
    await session.record(turns("openai-chat", 20))
    await client.run_due(summarizer=FakeSummarizer())
    await session.rollback(generation=1)
    shown = await session.view()
    await session.record(turns("openai-chat", 14, start=30))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    await session.rewind()

    view = await session.view()
    status = await session.status()

    assert shown.generation == view.generation == status.generation == 1
    assert status.current == 2


async def test_adopting_again_shows_the_newest(client: CompactionClient) -> None:
    session = shadow(client)
    await session.record(turns("openai-chat", 20))
    await client.run_due(summarizer=FakeSummarizer())
    await session.configure(adopt="group")
    assert (await session.view()).generation == 1
