"""Views that have to give way: long histories, large messages, small windows, and what usage teaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    CannotFit,
    Compacted,
    CompactionClient,
    InvalidMessage,
    InvalidPolicy,
    Refused,
    Usage,
    View,
    fit,
)
from offturn.testing import FakeSummarizer
from offturn_engine.draft import Candidate
from offturn_engine.plan import emergency
from offturn_engine.summary import SummaryRequest
from tests.conftest import TIMEOUT
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
    turns,
)

WINDOW = 100_000
MEGABYTES_10 = 10 * 1024 * 1024


def history(fmt: str) -> list[Raw]:
    """More than 300,000 tokens, with results to prune and prose to cover."""
    results = [
        message
        for n in range(60)
        for message in (
            human(f"Run the suite for package {n}."),
            calls(fmt, f"run_{n}", command=f"pytest package_{n}"),
            result(fmt, f"run_{n}", long_text(10_000, f"package {n}: 3 failed")),
            says(f"Package {n} fails in three places."),
        )
    ]
    return [*results, *turns(fmt, 150, size=5_000), human("And now the last question.")]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_first_contact_with_a_long_history_gives_a_valid_request_at_once(
    client: CompactionClient, valkey_url: str, fmt: str
) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = history(fmt)
    await session.record(sent)
    raw = await session.view(generation=0, window=1_000_000)
    view = await session.view()
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as other:
        theirs = await other.session("chat", format=fmt, window=WINDOW).view()
    [made] = await session.generations()

    assert raw.tokens > 300_000
    assert list(raw.messages) == sent
    assert (view.kind, view.generation) == ("emergency", 1)
    assert view.messages[-1] == human("And now the last question.")
    assert_sendable(view)
    assert "Run the suite for package 0." in texts(view.messages)
    assert (made.provisional, made.reason, made.in_force) == (True, "overflow", True)
    assert (theirs.kind, theirs.generation, theirs.id) == ("emergency", 1, view.id)
    assert list(theirs.messages) == list(view.messages)


async def test_an_emergency_stays_as_it_is_while_messages_follow(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(history("openai-chat"))
    first = await session.view()
    await session.record([says("Here it is."), *turns("openai-chat", 2, start=900)])
    second = await session.view()

    assert (first.generation, second.generation) == (1, 1)
    assert list(second.messages[: len(first.messages)]) == list(first.messages)
    assert second.prefix == len(first.messages)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_an_emergency_throws_no_paid_summary_away(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    urgent: list[View] = []

    async def meanwhile(_: SummaryRequest) -> None:
        if not urgent:
            urgent.append(await session.view())

    await session.record(history(fmt))
    [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=meanwhile))
    view = await session.view()
    made = await session.generations()

    assert (urgent[0].kind, urgent[0].generation) == ("emergency", 1)
    assert isinstance(outcome, Compacted)
    assert (view.kind, view.generation) == ("compacted", 2)
    assert (made[1].method, made[1].provisional, made[1].replaces) == ("model", False, 1)
    assert view.messages[-1] == human("And now the last question.")
    assert_sendable(view)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_huge_result_becomes_a_stub(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    huge = result(fmt, "a", long_text(MEGABYTES_10))
    await session.record([human("Show the log."), calls(fmt, "a", command="cat log"), huge])
    view = await session.view()

    assert view.kind == "emergency"
    assert human("Show the log.") in view.messages
    assert_sendable(view)
    assert (await stored(redis, "chat"))[2] == huge
    assert len(await session.recall("m2")) == MEGABYTES_10


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_huge_human_message_is_never_cut_while_it_waits(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(human(long_text(MEGABYTES_10, "Read this:")))
    with pytest.raises(CannotFit) as caught:
        await session.view()
    assert caught.value.tokens > 1_000_000
    assert caught.value.limit == WINDOW - 8_192

    await session.record([says("I have read it."), *turns(fmt, 2)])
    view = await session.view()
    assert_sendable(view)
    assert "Read this:" in texts(view.messages)


async def test_a_message_above_the_largest_request_is_refused(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    with pytest.raises(InvalidMessage, match=r"message 1, field 'content': the message has 33554\d+ bytes"):
        await session.record([human("a"), human("x" * 32 * 1024 * 1024)])
    assert await stored(redis, "chat") == []


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_for_a_smaller_window_is_for_that_call_only(client: CompactionClient, fmt: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    sent = turns(fmt, 40)
    await session.record(sent)
    small = await session.view(window=8_000)
    usual = await session.view()

    assert (small.kind, small.generation, small.limit) == ("emergency", 0, 7_000)
    assert_sendable(small)
    assert await session.generations() == []
    assert list(usual.messages) == sent
    with pytest.raises(InvalidPolicy, match="window 1000 minus max_output 2000"):
        await session.view(window=1_000, max_output=2_000)


async def test_the_request_fits_whatever_goes_beside_the_messages(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=16_000)
    await session.record(turns("openai-chat", 24))
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": long_text(400)}} for n in range(40)]

    bare = await session.view()
    laden = await session.view(system=long_text(8_000), tools=tools)

    assert bare.kind == "raw"
    assert laden.kind == "emergency"
    assert_sendable(laden)
    assert laden.tokens > 5_000
    with pytest.raises(CannotFit):
        await session.view(system=long_text(80_000))
    with pytest.raises(CannotFit):
        await client.session("empty", format="openai-chat", window=16_000).view(system=long_text(80_000))


async def test_usage_calibrates_sizes_and_thresholds(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=16_000)
    other = client.session("chat", format="openai-chat", window=16_000)
    before = 0
    for number in range(5):
        await session.record(turns("openai-chat", 2, start=2 * number))
        view = await session.view()
        before = view.estimate
        await session.record(says("Go on."), usage=Usage(int(view.estimate * 1.5)), view=view)
    view = await session.view()

    assert view.estimate > before
    assert view.tokens == pytest.approx(1.5 * view.estimate, rel=0.05)
    assert (await other.view()).tokens == view.tokens
    # 9,600 tokens are 6,400 of the estimate now: six more turns of 510 cross what ten would have crossed.
    assert (await other.record(turns("openai-chat", 2, start=20))).requirement == "none"
    assert (await other.record(turns("openai-chat", 1, start=30))).requirement == "soft"


async def test_usage_that_is_not_understood_is_a_warning(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=16_000)
    odd = await session.record(human("a"), usage=17)
    none = await session.record(says("b"), usage=None)
    assert odd.warnings == ("usage was not understood: pass the SDK's response or Usage(...)",)
    assert none.warnings == ()


@pytest.mark.parametrize("fmt", FORMATS)
def test_fit_needs_no_store(fmt: str) -> None:
    sent = history(fmt)
    whole = fit(sent, format=fmt, window=1_000_000)
    cut = fit(sent, format=fmt, window=WINDOW, system="Be brief.")

    assert list(whole.messages) == sent
    assert (whole.kind, cut.kind, cut.limit) == ("raw", "emergency", WINDOW - 8_192)
    assert cut.messages[-1] == sent[-1]
    assert cut.kwargs()["messages"][-1] == sent[-1]
    assert_sendable(cut)
    with pytest.raises(CannotFit):
        fit([human(long_text(100_000))], format=fmt, window=8_000)


async def test_an_emergency_that_breaks_a_promise_is_not_committed(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = client.session("chat", format="openai-chat", window=16_000)
    await session.record([*turns("openai-chat", 60), human("And now?")])

    def loses_one(*args: Any, **options: Any) -> Candidate:
        made = emergency(*args, **options)
        return replace(made, rendering=replace(made.rendering, items=made.rendering.items[:-1]))

    with monkeypatch.context() as patch:
        patch.setattr("offturn.showing.emergency", loses_one)
        with pytest.raises(Refused, match="no view that fits keeps every promise"):
            await session.view()
    assert await session.generations() == []
    assert (await session.view()).generation == 1
