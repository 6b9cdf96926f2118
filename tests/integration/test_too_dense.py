"""The too-dense breaker: compactions that make no room stop, and the host is told in a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest

from offturn import Compacted, CompactionClient, Session, Skipped
from offturn.testing import FakeSummarizer
from offturn_engine.tokens import Calibration
from tests.conftest import TIMEOUT
from tests.integration.host import calls, human, result, says, turns

WINDOW = 14_000


async def dense(client: CompactionClient, **overrides: Any) -> Session:
    """System prompt and tools alone are above the hard level; the few messages cannot make up for it."""
    session = client.session("dense", format="openai-chat", window=WINDOW, overrides=overrides)
    await session.record([human("Hello."), says("Hello, what is it?"), human("Look.")])
    view = await session.view()
    await session.record([says("I have looked.")], usage={"prompt_tokens": 12_000, "completion_tokens": 4}, view=view)
    assert (await session.status()).requirement == "hard"
    return session


async def run_out(client: CompactionClient, model: FakeSummarizer, session: Session) -> int:
    """Run what is due, and talk on, until nothing is tried any more; how many jobs that were."""
    jobs = 0
    while outcomes := await client.run_due(summarizer=model):
        jobs += len(outcomes)
        assert await client.run_due(summarizer=model) == []  # the same again would end in the same way
        assert jobs < 20, "it goes on for ever"
        if not (await session.status()).blocked:
            await session.record([human("On."), says("I go on.")])
    return jobs


async def test_a_view_that_cannot_shrink_is_tried_three_times_and_told(client: CompactionClient) -> None:
    session, model = await dense(client), FakeSummarizer()

    assert await run_out(client, model, session) == 3
    status = await session.status()
    assert (status.due, status.parked, status.requirement) == (False, False, "hard")
    assert "3 compactions in a row" in status.blocked
    [told] = [event.fields for event in await session.events() if event.kind == "blocked"]
    assert told["sentence"] == status.blocked

    recorded = await session.record([human("And now?")])
    view = await session.view()
    assert recorded.ticket is None
    assert recorded.requirement == "hard"  # what the session needs is told all the same
    assert status.blocked in recorded.warnings
    assert status.blocked in view.warnings
    assert status.blocked in (await client.session("dense", format="openai-chat").view()).warnings
    assert await client.run_due(summarizer=model) == []
    assert await client.parked() == []


@pytest.mark.parametrize("way", ["record", "configure", "fork"])
async def test_how_often_it_is_tried_is_the_policys(client: CompactionClient, way: str) -> None:
    session = await dense(client, **({} if way == "configure" else {"failure.too_dense": 2}))
    if way == "configure":
        await session.configure(overrides={"failure.too_dense": 2})
    if way == "fork":
        await session.cancel()
        forked = await session.fork("forked")
        await session.purge()
        session = forked

    assert await run_out(client, FakeSummarizer(), session) == 2
    assert "2 compactions in a row" in (await session.status()).blocked


@pytest.mark.parametrize(("reported", "cause"), [(12_000, True), (6_000, False)])
async def test_the_sentence_has_the_numbers_of_the_provider(
    client: CompactionClient, redis: Any, reported: int, cause: bool
) -> None:
    """What system and tools take is said, and sizes are those of `Status` and of the provider, not of an estimate."""
    once = {"failure.too_dense": 1}
    session, model = client.session("s", format="openai-chat", window=WINDOW, overrides=once), FakeSummarizer()
    await session.record([human("Hello."), says("Hello, what is it?"), human("Look.")])
    view = await session.view()
    usage = {"prompt_tokens": reported, "completion_tokens": 4}
    await session.record([says("I have looked.")], usage=usage, view=view)
    if not cause:
        await session.record(turns("openai-chat", 1, size=20_000)[-1:])
    await session.request()
    await client.run_due(summarizer=model)

    status = await session.status()
    apart = Calibration.model_validate_json(await redis.hget(session.key.key("meta"), "calibration")).overhead
    assert reported - 200 < apart <= reported
    if cause:
        assert f"The system prompt and the tools alone take about {apart} tokens" in status.blocked
        assert f"Its messages take about {status.tokens - apart} tokens more." in status.blocked
    else:
        assert f"Its requests take about {status.tokens} tokens, about {apart} of them" in status.blocked
        [starts] = re.findall(r"compaction starts at (\d+)\.", status.blocked)
        assert apart < int(starts) <= status.tokens
    assert status.blocked in (await session.view()).warnings


async def test_a_request_is_answered_at_once(client: CompactionClient) -> None:
    session, model = await dense(client), FakeSummarizer()
    await run_out(client, model, session)

    ticket = await session.request()

    assert (await session.status()).blocked in ticket.warnings
    assert await ticket.status() == "done"
    assert await ticket.wait(TIMEOUT) == Skipped(reason="blocked")
    assert await client.run_due(summarizer=model) == []
    assert (await session.status()).blocked


async def test_a_request_open_as_it_closes_is_answered(client: CompactionClient) -> None:
    session = await dense(client)
    tickets = [await session.request()]

    async def more(_: object) -> None:
        tickets.append(await session.request())

    await run_out(client, FakeSummarizer(on_request=more), session)
    tickets.append(await session.request())

    for ticket in tickets:
        assert isinstance(await ticket.wait(TIMEOUT), Skipped)


@pytest.mark.parametrize("lifted", ["unblock", "rollback"])
async def test_only_unblock_and_rollback_lift_it(client: CompactionClient, lifted: str) -> None:
    session, model = await dense(client), FakeSummarizer()
    await run_out(client, model, session)
    await session.record([human("More."), says("There is more.")])
    await session.configure(adopt="turn")
    await session.rewind()
    assert (await session.status()).blocked

    if lifted == "unblock":
        await session.unblock()
    else:
        await session.rollback(generation=0, force=True)

    assert (await session.status()).blocked == ""
    assert (await session.view()).warnings == ()
    assert await run_out(client, model, session) == 3
    assert (await session.status()).blocked


async def test_an_emergency_view_stays_possible(client: CompactionClient, redis: Any) -> None:
    session, model = client.session("s", format="openai-chat", window=WINDOW), FakeSummarizer()
    await session.record([human("Hello.")])
    await redis.hset(session.key.key("meta"), "blocked", "It is what it is.")

    await session.record(turns("openai-chat", 40))
    view = await session.view()

    assert view.kind == "emergency"
    assert view.tokens <= view.limit
    assert "It is what it is." in view.warnings
    assert await client.run_due(summarizer=model) == []
    assert model.asked == []


async def test_progress_starts_the_count_anew(client: CompactionClient) -> None:
    """Two requests without gain in a session that is small enough: nothing is counted against it."""
    session = client.session("s", format="openai-chat", window=WINDOW)
    await session.record([human("Hello."), says("Hello.")])
    for _ in range(4):
        await session.request()
        await client.run_due(summarizer=FakeSummarizer())

    assert (await session.status()).blocked == ""
    recorded = await session.record(turns("openai-chat", 26))
    assert recorded.ticket is not None


async def test_unblock_lifts_a_hold(client: CompactionClient) -> None:
    session = client.session("s", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 22, size=1_500))
    assert (await session.status()).requirement == "soft"
    await session.rollback(generation=0)
    assert (await session.status()).requirement == "none"

    await session.unblock()

    assert (await session.status()).requirement == "soft"
    assert (await session.status()).due


@pytest.mark.parametrize("asked", [0, 4])
async def test_a_paste_that_waits_for_its_answer_blocks_nothing(client: CompactionClient, asked: int) -> None:
    """It may not be covered while it waits; that is tried once, and as soon as it may be, it is.

    However often it is asked for meanwhile: the same again says nothing new.
    """
    session, model = client.session("s", format="openai-chat", window=WINDOW), FakeSummarizer()
    await session.record(turns("openai-chat", 4))
    await session.record([human("Read this. " + "Line of a long log. " * 2_200)])
    assert (await session.status()).requirement == "hard"
    assert len(await client.run_due(summarizer=model)) == 1
    assert await client.run_due(summarizer=model) == []
    for _ in range(asked):
        await session.request()
        assert len(await client.run_due(summarizer=model)) == 1
    status = await session.status()
    assert (status.requirement, status.due, status.blocked) == ("hard", False, "")

    await session.record([says("I have read it."), human("Go on."), says("I go on.")])

    [outcome] = await client.run_due(summarizer=model)
    assert isinstance(outcome, Compacted)
    await session.view()
    assert (await session.status()).requirement == "none"


async def test_the_steps_of_a_turn_about_a_paste_block_nothing(client: CompactionClient) -> None:
    """Each makes the path longer, and none of them may cover the paste: nothing is paid, and the answer helps."""
    session, model = client.session("s", format="openai-chat", window=8_000), FakeSummarizer()
    await session.record([*turns("openai-chat", 24, size=1_500), human("Read this. " + "Line of a long log. " * 1_320)])
    assert (await session.view()).kind == "emergency"
    await client.run_due(summarizer=model)
    paid = len(model.asked)
    for number in range(5):
        await session.record([calls("openai-chat", f"c{number}"), result("openai-chat", f"c{number}", "ok")])
        await client.run_due(summarizer=model)
    status = await session.status()
    assert (status.requirement, status.blocked, len(model.asked)) == ("hard", "", paid)

    await session.record([says("I have read it."), human("Go on."), says("I go on.")])

    assert [type(one) for one in await client.run_due(summarizer=model)] == [Compacted]
    assert (await session.status()).requirement == "none"
