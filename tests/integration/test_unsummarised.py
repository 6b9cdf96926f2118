"""What an emergency covered while no worker was there is summarised when one is asked for it."""

from __future__ import annotations

import pytest

from offturn import Compacted, CompactionClient, Session, Skipped
from offturn.testing import FakeSummarizer
from offturn_engine.errors import SummarizerError
from offturn_engine.ranges import inside
from tests.integration.host import assert_sendable, calls, human, result, says, turns

WINDOW = 8_000


async def emergency(client: CompactionClient) -> Session:
    """A session whose view was made without a worker, of which nothing is left to cover."""
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([*turns("openai-chat", 24, size=1_500), human("And now?")])
    assert (await session.view()).kind == "emergency"
    await session.request()
    return session


async def test_the_summary_takes_the_place_of_the_emergency(client: CompactionClient) -> None:
    session, model = await emergency(client), FakeSummarizer()
    [provisional] = await session.generations()

    outcomes = await client.run_due(summarizer=model)

    assert [type(one) for one in outcomes] == [Compacted]
    assert model.asked
    _, made = await session.generations()
    assert (made.method, made.provisional) == ("model", False)
    assert inside(provisional.covered, made.covered)
    view = await session.view()
    assert view.generation == made.number
    assert_sendable(view)
    asked = len(model.asked)
    await session.request()
    assert isinstance((await client.run_due(summarizer=model))[0], Skipped)
    assert len(model.asked) == asked  # a summary is not paid for again


async def test_a_model_that_cannot_be_had_leaves_the_emergency(client: CompactionClient) -> None:
    session = await emergency(client)
    refused = SummarizerError("auth", "refused", retryable=False)

    outcomes = await client.run_due(summarizer=FakeSummarizer([refused] * 9))

    assert outcomes == [Skipped(reason="resting")]
    assert not (await session.status()).due
    assert len(await session.generations()) == 1


@pytest.mark.parametrize("kind", ["auth", "overloaded"])
async def test_a_provider_that_is_away_for_long_is_not_the_conversations_fault(
    client: CompactionClient, kind: str
) -> None:
    """At the hard level with nothing left to cover, step by step of one turn; once it is back, it is asked."""
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([*turns("openai-chat", 24, size=1_500), human("Read this. " + "Line of a long log. " * 1_320)])
    assert (await session.view()).kind == "emergency"
    for number in range(5):
        away = SummarizerError(kind, "no", retryable=kind == "overloaded")
        assert await client.run_due(summarizer=FakeSummarizer([away] * 9)) == [Skipped(reason="resting")]
        call = f"more_{number}"
        await session.record([calls("openai-chat", call), result("openai-chat", call, "ok")])
    status, model = await session.status(), FakeSummarizer()
    [outcome] = await client.run_due(summarizer=model)

    assert (status.requirement, status.blocked, status.parked) == ("hard", "", False)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"


async def test_more_messages_meanwhile(client: CompactionClient) -> None:
    """They are not covered, and stay as they are."""
    session = await emergency(client)
    await session.record([says("Now this."), human("And that?")])

    await client.run_due(summarizer=FakeSummarizer())

    assert list((await session.view()).messages)[-2:] == [says("Now this."), human("And that?")]
