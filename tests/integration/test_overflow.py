"""What a host does when the provider says that the prompt was too long: smaller views, and what is learnt."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    ANY_WINDOW,
    CannotFit,
    CompactionClient,
    InvalidPolicy,
    InvalidSetting,
    StoreUnavailable,
    Usage,
    View,
)
from offturn.links import Links
from offturn.session import Session
from offturn_engine.formats import get
from tests.conftest import TIMEOUT
from tests.integration.host import FORMATS, Raw, calls, human, long_text, result, says, stored, texts, turns

WINDOW = 40_000
LAST = human("And what is the verdict on all of them? Answer in one line, please.")


class TooLong(Exception):
    """As both SDKs shape it."""

    status_code = 400

    def __init__(self, tokens: int | None = None, limit: int | None = None) -> None:
        said = "your input exceeds the context window of this model"
        if tokens is not None:
            said = f"prompt is too long: {tokens} tokens > {limit} maximum"
        self.body = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        super().__init__(f"Error code: 400 - {self.body}")


def history(fmt: str) -> list[Raw]:
    """About 25,000 tokens, with a request that waits for its answer."""
    shared = [
        human(long_text(3_000, f"Note {n}:")) if n % 2 else says(long_text(3_000, f"Part {n}:")) for n in range(8)
    ]
    return [*turns(fmt, 36), *shared, LAST]


async def opened(client: CompactionClient, fmt: str, **settings: Any) -> Session:
    session = client.session("chat", format=fmt, **{"window": WINDOW, **settings})
    await session.record(history(fmt))
    return session


def assert_smaller(view: View, before: View) -> None:
    """A repeat: at most 80 %, sendable, with what the human asked last, word for word."""
    assert view.estimate <= 0.8 * before.estimate
    assert view.tokens <= view.limit
    assert get(view.format).problems(view.messages) == []
    assert view.messages[-1] == LAST


@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "none"])
@pytest.mark.parametrize("fmt", FORMATS)
async def test_each_repeat_is_smaller_and_the_last_refusal_is_final(
    client: CompactionClient, redis: Redis, fmt: str, numbers: bool
) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    assert sent.kind == "raw"
    for _ in range(3):
        real = 2 * sent.estimate if numbers else sent.tokens
        view = await session.overflow(TooLong(real, WINDOW) if numbers else TooLong(), sent=sent)
        assert_smaller(view, sent)
        assert view.tokens <= 0.8 * real
        assert view.kind == "emergency"
        sent = view
    with pytest.raises(CannotFit, match="the provider refused smaller views as well") as caught:
        await session.overflow(TooLong(), sent=sent)
    assert caught.value.tokens == sent.tokens
    assert await stored(redis, "chat") == history(fmt)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_it_fits_what_the_provider_said_and_every_process_sees_it(
    client: CompactionClient, valkey_url: str, fmt: str
) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    view = await session.overflow(TooLong(sent.tokens, 12_000), sent=sent)
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as other:
        theirs = await other.session("chat", format=fmt, window=WINDOW).view()
    [made] = await session.generations()

    assert_smaller(view, sent)
    assert view.tokens <= 12_000 - 1_500
    assert (made.provisional, made.reason, made.in_force) == (True, "overflow", True)
    assert made.audit is not None
    assert made.audit.kinds
    assert (await session.generations())[0].audit == made.audit
    assert (theirs.id, list(theirs.messages)) == (view.id, list(view.messages))


@pytest.mark.parametrize(("told", "limit"), [(12_000, 10_500), (None, None)])
async def test_the_limit_is_kept_for_later_views_and_said(
    client: CompactionClient, told: int | None, limit: int | None
) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    first = await session.overflow(TooLong(sent.tokens if told else None, told), sent=sent)
    await session.record([says("All fine."), *turns("openai-chat", 40, start=50)], usage=Usage(first.tokens))
    later = await session.view()

    assert later.limit == (limit or first.limit)
    assert later.tokens <= later.limit < 0.8 * WINDOW
    for view in (first, later):
        assert any("configure(window=...)" in warning for warning in view.warnings)
    whole = await session.view(generation=0, window=ANY_WINDOW)
    assert len(whole.messages) == len(history("openai-chat")) + 161
    assert not any("configure(window" in warning for warning in whole.warnings)

    await session.configure(window=16_000)
    assert (await session.view()).limit == 14_000


async def test_an_output_the_host_has_set_stays_free(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat", max_output=6_000)
    sent = await session.view()
    assert (await session.overflow(TooLong(sent.tokens, 16_000), sent=sent)).limit == 10_000


async def test_a_window_the_policy_cannot_work_with_still_limits(client: CompactionClient) -> None:
    overrides = {"boundary.tail": 0.1, "boundary.tail_minimum": 3_000, "size.target": 0.2}
    session = await opened(client, "openai-chat", overrides=overrides)
    sent = await session.view()
    with pytest.raises(InvalidPolicy, match="the tail of 1000"):
        await session.view(window=4_000)
    view = await session.overflow(TooLong(sent.tokens, 4_000), sent=sent)
    assert_smaller(view, sent)
    assert view.limit == 3_500


@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_count_of_the_provider_calibrates(client: CompactionClient, fmt: str) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    view = await session.overflow(TooLong(3 * sent.estimate // 2, WINDOW), sent=sent)
    fresh = client.session("chat", format=fmt, window=WINDOW)

    assert view.tokens == pytest.approx(1.5 * view.estimate, rel=0.01)
    assert (await fresh.view()).tokens == view.tokens
    assert "usage" not in [event.kind for event in await session.events()]


@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_window_reached_while_answering_is_an_overflow(client: CompactionClient, fmt: str) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    stopped = {
        "stop_reason": "model_context_window_exceeded",
        "usage": {"input_tokens": sent.tokens, "output_tokens": 500},
    }
    view = await session.overflow(stopped, sent=sent)
    assert_smaller(view, sent)
    assert view.limit <= sent.tokens + 500


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_pending_is_recorded_once(client: CompactionClient, redis: Redis, fmt: str) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    pending = [calls(fmt, "last", command="cat verdict"), result(fmt, "last", long_text(2_000))]
    first = await session.overflow(TooLong(), sent=sent, pending=pending)
    second = await session.overflow(TooLong(), sent=first, pending=pending)
    third = await session.overflow(TooLong(), sent=second, pending=[*pending, says("Nearly.")])

    assert await stored(redis, "chat") == [*history(fmt), *pending, says("Nearly.")]
    for view, before in ((first, sent), (second, first)):
        assert view.estimate <= 0.8 * before.estimate
        assert get(fmt).problems(view.messages) == []
        assert LAST["content"] in texts(view.messages)
    assert third.messages[-1] == says("Nearly.")


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_huge_result_that_is_pending_costs_the_rest_little(client: CompactionClient, fmt: str) -> None:
    session = await opened(client, fmt)
    sent = await session.view()
    pending = [calls(fmt, "last", command="cat all"), result(fmt, "last", long_text(2_000_000))]
    view = await session.overflow(TooLong(500_000, WINDOW), sent=sent, pending=pending)
    assert 0.7 * sent.tokens <= view.limit <= 0.8 * sent.tokens
    assert get(fmt).problems(view.messages) == []


async def test_a_count_that_may_hold_what_is_pending_teaches_nothing(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    count = 3 * sent.estimate // 2
    view = await session.overflow(TooLong(count, WINDOW), sent=sent, pending=human("Quick."))
    assert view.tokens == view.estimate
    assert view.limit <= 0.8 * sent.tokens


async def test_what_usage_has_taught_of_the_overhead_counts(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    for number in range(4):
        await session.record(turns("openai-chat", 6, start=10 * number))
        view = await session.view()
        await session.record([], usage=Usage(view.estimate + 5_000), view=view)
    await session.record(LAST)
    sent = await session.view()
    view = await session.overflow(TooLong(sent.tokens, WINDOW), sent=sent)
    assert sent.tokens == pytest.approx(sent.estimate + 5_000, rel=0.01)
    assert view.tokens <= view.limit <= 0.8 * sent.tokens


async def test_a_view_of_another_generation_gives_way_to_one_in_force(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    view = await session.overflow(TooLong(), sent=await session.view(generation=0))
    assert (view.kind, view.generation) == ("emergency", 1)


async def test_a_count_that_cannot_be_the_views_teaches_nothing_for_good(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    view = await session.overflow(TooLong(100 * sent.tokens, WINDOW), sent=sent)
    assert view.limit < 1_000
    assert (await session.view(generation=0)).tokens == sent.tokens


async def test_pending_is_recorded_once_when_replies_get_lost(
    strict: CompactionClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await opened(strict, "openai-chat")
    sent = await session.view()
    pending = human("One more thing.")
    with monkeypatch.context() as patch:
        links = await session._connector.links()
        record = type(links.store).record

        async def lost(self: Any, *arguments: Any, **options: Any) -> Any:
            await record(self, *arguments, **options)
            raise StoreUnavailable("lost")

        patch.setattr(type(links.store), "record", lost)
        with pytest.raises(StoreUnavailable):
            await session.overflow(TooLong(), sent=sent, pending=[pending])
    view = await session.overflow(TooLong(), sent=sent, pending=[pending])

    assert isinstance(links, Links)
    assert await stored(redis, "chat") == [*history("openai-chat"), pending]
    assert view.messages[-1] == pending


async def test_an_answer_ends_the_row(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    for number in range(4):
        sent = await session.overflow(TooLong(), sent=sent)
        answer = says(f"Answer {number}.")
        await session.record([answer], usage=Usage(sent.tokens) if number % 2 else None, view=sent)
        await session.record([*turns("openai-chat", 12, start=100 * (number + 1)), LAST])
        sent = await session.view()
    assert get("openai-chat").problems(sent.messages) == []


async def test_the_row_is_of_a_handle_and_looks_do_not_end_it(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    for _ in range(3):
        await session.record(human("Hurry."))
        sent = await session.overflow(TooLong(), sent=await session.view())
    with pytest.raises(CannotFit):
        await session.overflow(TooLong(), sent=sent)
    other = client.session("chat", format="openai-chat", window=WINDOW)
    assert (await other.overflow(TooLong(), sent=sent)).estimate < sent.estimate


async def test_the_same_view_sent_again_is_no_way_around(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    first = await session.overflow(TooLong(), sent=sent)
    second = await session.overflow(TooLong(), sent=sent)
    assert_smaller(second, first)


@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_for_another_window_is_for_that_call_only(client: CompactionClient, fmt: str) -> None:
    session = await opened(client, fmt)
    usual = await session.view()
    sent = await session.view(window=16_000)
    view = await session.overflow(TooLong(sent.tokens, 10_000), sent=sent)

    assert_smaller(view, sent)
    assert (view.kind, view.generation) == ("emergency", 0)
    assert await session.generations() == []
    assert list((await session.view()).messages) == list(usual.messages)
    assert (await session.view(window=16_000)).limit == 8_750


async def test_the_system_prompt_and_tools_of_the_call_count_again(client: CompactionClient) -> None:
    session = await opened(client, "anthropic")
    tools = [{"name": f"tool_{n}", "description": long_text(400), "input_schema": {}} for n in range(20)]
    sent = await session.view(system=long_text(4_000), tools=tools)
    view = await session.overflow(TooLong(sent.tokens, 20_000), sent=sent)
    assert_smaller(view, sent)
    assert (view.system, view.declared) == (sent.system, sent.declared)
    assert view.tokens <= 17_500


async def test_hosts_that_keep_their_list_go_on_with_either(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    mine = [{"role": "system", "content": "Be brief."}, *history("openai-chat")]
    await session.mirror(mine)
    mine[0] = {"role": "system", "content": "Be very brief."}
    sent = await session.mirror(mine)
    view = await session.overflow(TooLong(), sent=sent)
    assert view.messages[0] == mine[0]
    assert_smaller(view, sent)

    answer = says("Fine.")
    own = await session.mirror([*mine, answer])
    theirs = await session.mirror([*view.messages, answer])
    assert list(own.messages) == list(theirs.messages) == [*view.messages, answer]


@pytest.mark.parametrize(
    "unrelated",
    [ValueError("no"), KeyboardInterrupt(), {"stop_reason": "max_tokens"}, {"choices": [{"finish_reason": "length"}]}],
    ids=["error", "interrupt", "anthropic", "openai"],
)
async def test_anything_else_changes_nothing(client: CompactionClient, redis: Redis, unrelated: Any) -> None:
    session = await opened(client, "openai-chat")
    sent = await session.view()
    before = {key: await redis.dump(key) for key in await redis.keys("*")}
    expected = type(unrelated) if isinstance(unrelated, BaseException) else InvalidSetting
    with pytest.raises(expected) as caught:
        await session.overflow(unrelated, sent=sent, pending=[human("More.")])
    if isinstance(unrelated, BaseException):
        assert caught.value is unrelated
    else:
        assert "a dict that does not say" in str(caught.value)
    with pytest.raises(InvalidSetting, match="sent is a list"):
        await session.overflow(TooLong(), sent=list(sent.messages))  # type: ignore[arg-type]
    assert {key: await redis.dump(key) for key in await redis.keys("*")} == before


async def test_what_may_never_be_cut_is_recorded_and_cannot_fit(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 4))
    sent, pasted = await session.view(), human(long_text(60_000))
    with pytest.raises(CannotFit, match="the last human message"):
        await session.overflow(TooLong(sent.tokens, 8_000), sent=sent, pending=pasted)
    assert (await stored(redis, "chat"))[-1] == pasted

    await session.record(says("That was too long."))
    view = await session.view()
    assert view.tokens <= view.limit == 7_000
