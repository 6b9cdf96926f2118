"""`client.compact` and `Ticket.apply`: one list, compacted once, with what came since."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Refused
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, calls, human, result, says, texts, turns

WINDOW = 16_000


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_list_is_compacted_and_what_came_since_stays(client: CompactionClient, redis: Redis, fmt: str) -> None:
    mine = turns(fmt, 14)
    ticket = await client.compact(mine, format=fmt, window=WINDOW, note="modules were read one by one")
    assert await ticket.status() == "waiting"
    assert await ticket.apply(mine) == mine

    [outcome] = await client.run_due(summarizer=FakeSummarizer())
    later = [human("One more thing."), *calls_with_result(fmt), says("Done.")]
    applied = await ticket.apply([*mine, *later])

    assert isinstance(outcome, Compacted)
    assert await ticket.wait(TIMEOUT) == outcome
    assert len(applied) < len(mine)
    assert applied[-len(later) :] == later
    assert get(fmt).problems(applied) == []
    assert all(f"Please look into module {number}." in texts(applied) for number in range(14))

    goes_on = [*applied, human("And now?")]
    assert await ticket.apply(goes_on) == goes_on
    [meta] = await redis.keys("*:meta")
    assert 3_500_000 < await redis.pttl(meta) <= 3_600_000


async def test_inside_a_tool_group_the_list_stays_as_it_is(client: CompactionClient) -> None:
    fmt = "openai-chat"
    mine = [*turns(fmt, 14), human("Run it."), calls(fmt, "open")]
    ticket = await client.compact(mine, format=fmt, window=WINDOW)
    await client.run_due(summarizer=FakeSummarizer())

    assert await ticket.apply(mine) == mine
    assert len(await ticket.apply([*mine, result(fmt, "open", "ok")])) < len(mine)


async def test_one_shots_do_not_meet(client: CompactionClient) -> None:
    first, second = await asyncio.gather(
        *(client.compact(turns("openai-chat", 9, start=n), format="openai-chat", window=WINDOW) for n in (0, 50))
    )
    await client.run_due(summarizer=FakeSummarizer())
    assert first.key != second.key
    assert "module 50" not in texts(await first.apply(turns("openai-chat", 9)))


async def test_a_request_of_a_session_is_applied_too(client: CompactionClient) -> None:
    session = client.session("own", format="openai-chat", window=WINDOW)
    mine = turns("openai-chat", 14)
    ticket = await session.phase_done("modules read", history=mine)
    await client.run_due(summarizer=FakeSummarizer())
    applied = await ticket.apply([*mine, human("Next.")])
    assert applied[-1] == human("Next.")
    assert applied == list((await session.view()).messages)


async def test_nothing_is_no_list(client: CompactionClient) -> None:
    with pytest.raises(Refused):
        await client.compact([], format="openai-chat")


def calls_with_result(fmt: str) -> list[dict[str, object]]:
    return [calls(fmt, "late"), result(fmt, "late", "ok")]
