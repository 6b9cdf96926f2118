"""`hold`: from the hard level a view waits for a compaction that is on its way, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from offturn import CompactionClient, InvalidSetting, Session
from offturn.holding import _on_its_way
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from tests.integration.clocks import Clock
from tests.integration.host import FORMATS, calls, human, long_text, result, says, turns
from tests.integration.moved import WINDOW, assert_sound, open_session

LONG = 60.0


async def at_hard_level(client: CompactionClient, fmt: str = "openai-chat") -> Session:
    """Its view still fits."""
    session = open_session(client, fmt)
    await session.record(turns(fmt, 26))
    while (await session.status()).requirement != "hard":
        await session.record([human("And this?"), says("This too.")])
    assert (await session.view()).kind == "raw"
    return session


async def store_of(session: Session) -> SessionStore:
    return (await session._connector.links()).store


class Watched:
    """Counts the looks of a held view, and lets things happen after one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = 0
        self.then: Callable[[], Awaitable[Any]] | None = None

        async def look(*given: Any) -> bool:
            self.looks += 1
            then, self.then = self.then, None
            if then:
                await then()
            return await _on_its_way(*given)

        monkeypatch.setattr("offturn.holding._on_its_way", look)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_comes_in_time_is_shown(client: CompactionClient, monkeypatch: pytest.MonkeyPatch, fmt: str) -> None:
    session = await at_hard_level(client, fmt)
    watched = Watched(monkeypatch)
    watched.then = lambda: client.run_due(summarizer=FakeSummarizer())

    view = await session.view(hold=LONG)

    assert (view.generation, view.kind) == (1, "compacted")
    assert watched.looks == 1
    await assert_sound(session, view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_mirror_is_held_too(client: CompactionClient, monkeypatch: pytest.MonkeyPatch, fmt: str) -> None:
    session = await at_hard_level(client, fmt)
    watched = Watched(monkeypatch)
    watched.then = lambda: client.run_due(summarizer=FakeSummarizer())
    lead = {"role": "system", "content": "Be brief."}
    mine = [*([lead] if fmt == "openai-chat" else []), *(await session.view()).messages, human("On.")]

    view = await session.mirror(mine, hold=LONG)

    assert (view.generation, view.kind) == (1, "compacted")
    assert view.messages[-1] == human("On.")
    assert (view.messages[0] == lead) is (fmt == "openai-chat")


@pytest.mark.parametrize("fmt", FORMATS)
async def test_in_vain_it_is_the_emergency_view(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch, fmt: str
) -> None:
    session = await at_hard_level(client, fmt)
    store, watched = await store_of(session), Watched(monkeypatch)
    claim = await store.claim(session.key, token="t", lease_ms=60_000, max_attempts=6)
    assert isinstance(claim, Claim)
    monkeypatch.setattr("offturn.holding.asyncio", Clock())  # on a slow machine one look alone would take that long

    view = await session.view(hold=0.3)

    assert watched.looks > 1
    assert (view.generation, view.kind) == (1, "emergency")
    assert (await session.status()).requirement == "none"
    await assert_sound(session, view)
    assert view.held >= 0.3
    again = await session.view(hold=LONG)
    assert again.messages == view.messages
    assert again.held == 0  # below that level now


async def test_below_the_hard_level_it_does_not_wait(client: CompactionClient, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    session = open_session(client)
    assert (await session.view(hold=LONG)).messages == []
    await session.record(turns("openai-chat", 20))
    status = await session.status()

    view = await session.view(hold=LONG)

    assert (status.requirement, status.due, view.kind, watched.looks) == ("soft", True, "raw", 0)
    assert view.held == 0


async def test_few_messages_are_not_worth_waiting_for(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    session = open_session(client)
    await session.record([human("Look."), says(long_text(61_000)), human("And?")])
    assert (await session.status()).requirement == "hard"
    assert (await session.view(hold=LONG)).kind == "raw"
    assert watched.looks == 0


async def test_an_older_generation_is_shown_at_once(client: CompactionClient, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    session = await at_hard_level(client)
    view = await session.view(generation=0, hold=LONG)
    assert (view.kind, watched.looks) == ("raw", 0)


async def test_where_nothing_is_on_its_way_it_does_not_wait(client: CompactionClient) -> None:
    session = await at_hard_level(client)
    store = await store_of(session)
    claim = await store.claim(session.key, token="t", lease_ms=60_000, max_attempts=6)
    assert isinstance(claim, Claim)
    await store.finish(session.key, claim=claim, outcome="failed", backoff_ms=600_000)  # comes again in ten minutes

    async with asyncio.timeout(100):
        view = await session.view(hold=LONG)

    assert view.kind == "emergency"


async def test_in_vain_a_generation_that_waits_for_the_next_turn_is_built_upon(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW, adopt="turn")
    await session.record(turns("openai-chat", 26))
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.view()).generation == 0
    while (await session.status()).requirement != "hard":
        await session.record([calls("openai-chat", "c"), result("openai-chat", "c", "ok"), says(long_text(400))])

    view = await session.view(hold=0.1)

    assert (view.generation, view.kind) == (2, "emergency")
    assert (await session.generations())[-1].replaces == 1


async def test_other_calls_go_on_meanwhile(client: CompactionClient) -> None:
    session = await at_hard_level(client)
    store = await store_of(session)
    await store.claim(session.key, token="t", lease_ms=60_000, max_attempts=6)
    held = asyncio.create_task(session.view(hold=LONG))
    async with asyncio.timeout(100):
        for _ in range(3):
            await session.record([human("Still there?")])
            await asyncio.sleep(0)
        assert not held.done()
        await session.rewind(turns=20)  # below the hard level: nothing to wait for
        view = await held
    assert view.kind == "raw"


async def test_a_held_call_can_be_given_up(client: CompactionClient) -> None:
    session = await at_hard_level(client)
    await (await store_of(session)).claim(session.key, token="t", lease_ms=60_000, max_attempts=6)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await session.view(hold=LONG)
    assert (await session.view()).kind == "raw"


@pytest.mark.parametrize("hold", [-1, 601, float("nan"), "5", None, True])
async def test_what_is_no_hold(client: CompactionClient, hold: Any) -> None:
    session = open_session(client)
    with pytest.raises(InvalidSetting, match=r"hold .*seconds from 0 to 600"):
        await session.view(hold=hold)
    with pytest.raises(InvalidSetting, match=r"hold .*seconds from 0 to 600"):
        await session.mirror([human("x")], hold=hold)
    assert (await session.view()).messages == []
