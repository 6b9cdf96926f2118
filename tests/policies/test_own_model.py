"""The session's own model as summarizer: the host's request again, byte for byte, then the instructions; where it pays."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, get_args

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from redis.asyncio import Redis

from offturn import CompactionClient, Session, View, recipe
from offturn.doorbell import Doorbell
from offturn.own_model import FRAME, Why
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Compaction
from offturn_engine.draft import SUMMARY_HEAD
from offturn_engine.economics import PerMillion, Price, PriceOf
from offturn_engine.outcome import Compacted
from offturn_models.remote import Endpoints
from offturn_worker.cli.reasons import _OWN_MODEL
from offturn_worker.cli.requesting import _told as told
from offturn_worker.fake_model import FakeModel
from tests.integration.host import FORMATS, texts
from tests.policies.agents import WINDOW, reading, turn

MODELS = {"anthropic": "anthropic:claude-opus-5-5", "openai-chat": "openai:gpt-6-luna"}
SYSTEM = "You look after a repository. Be brief."
TOOLS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [{"name": "bash", "description": "Run it.", "input_schema": {"type": "object", "properties": {}}}],
    "openai-chat": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
}
WANTS = {"summary.same_model": "if-cheaper"}
CACHED, CHEAP = PerMillion(input=1, cached=0.01, output=1), PerMillion(input=5, output=1)


def priced(**prices: Price) -> PriceOf:
    """Prices by a model's name without its provider."""
    return lambda model: prices.get(model.rpartition(":")[2].replace("-", "_"))


CHEAPER = priced(claude_opus_5_5=CACHED, gpt_6_luna=CACHED, fake=CHEAP)


@pytest.fixture
async def server() -> AsyncIterator[FakeModel]:
    async with FakeModel(keep_bodies=True, cached_tokens=1_000_000) as running:
        yield running


def endpoints(server: FakeModel, key: str | None = "k") -> Endpoints:
    urls = {"openai": server.openai_url, "anthropic": server.url} if key else {}
    return Endpoints(keys=dict.fromkeys(("openai", "anthropic"), key), base_urls=urls, timeout=20)


async def opened(client: CompactionClient, fmt: str, **options: Any) -> Session:
    settings: dict[str, Any] = {"policy": "hermes", "model": MODELS[fmt], "window": WINDOW, "overrides": WANTS}
    session = client.session("own", format=fmt, **{**settings, **options})
    await session.record(reading(fmt, 12))
    return session


async def call(server: FakeModel, fmt: str, view: View) -> Any:
    """What a host sends with this view, as the server saw it."""
    if fmt == "anthropic":
        async with AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as sdk:
            tools: Any = TOOLS[fmt]
            await sdk.messages.create(model="claude-opus-5-5", max_tokens=100, tools=tools, **view.kwargs())
    else:
        async with AsyncOpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as openai:
            tools = TOOLS[fmt]
            await openai.chat.completions.create(model="gpt-6-luna", tools=tools, **view.kwargs())
    return server.calls[-1].body


async def compact(
    redis: Redis, session: Session, server: FakeModel, *, prices: PriceOf = CHEAPER, **options: Any
) -> tuple[Compacted, FakeSummarizer, Compaction]:
    """What a request comes to, who was asked for it, and the record."""
    await session.request()
    asked, store = FakeSummarizer(), SessionStore(redis)
    means: dict[str, Any] = {"remote": endpoints(server), "prices": prices, "summarizer": asked, **options}
    outcome = await recipe.run(session.key, store=store, doorbell=Doorbell(redis), **means)
    assert isinstance(outcome, Compacted), outcome
    record = await store.generation(session.key, outcome.generation)
    assert record is not None
    return outcome, asked, record


def same_bytes(sent: Any, again: Any) -> bool:
    """Compared here: pytest takes minutes to tell how two long texts differ."""
    return json.dumps(sent) == json.dumps(again)


@pytest.mark.parametrize("overrides", [{"after.cache": "none"}, {"after.system_note": False}])
@pytest.mark.parametrize("fmt", FORMATS)
async def test_the_request_of_the_host_comes_first_byte_for_byte_and_the_instructions_behind_it(
    client: CompactionClient, redis: Redis, server: FakeModel, fmt: str, overrides: dict[str, Any]
) -> None:
    session = await opened(client, fmt, overrides={**WANTS, "after.cache": "none", **overrides})
    for number in (1, 2):
        sent = await call(server, fmt, await session.view(system=SYSTEM, tools=TOOLS[fmt]))
        outcome, summarizer, record = await compact(redis, session, server)
        assert (outcome.own_model, outcome.method, outcome.generation) == ("used", "model", number)
        assert summarizer.asked == []
        again: Any = server.calls[-1].body
        for name in ("system", "tools", "model"):
            assert same_bytes(sent.get(name), again.get(name)), name
        *prefix, instructions = again["messages"]
        assert same_bytes(prefix, sent["messages"][: len(prefix)])
        assert len(prefix) > len(sent["messages"]) // 2 or number == 2
        assert instructions["role"] == "user"
        assert "## Goal" in instructions["content"]
        assert ("the record of the earlier part" in instructions["content"]) is (number == 2)
        assert record.model == MODELS[fmt]
        assert record.spent.cached_tokens > record.spent.prefix_tokens // 2 > 0
        assert record.economics.cost == pytest.approx(
            CACHED(
                input_tokens=record.spent.input_tokens,
                cached=record.spent.cached_tokens,
                output_tokens=record.spent.output_tokens,
            ),
            abs=1e-6,
        )
        if fmt == "anthropic":
            assert again["cache_control"] == {"type": "ephemeral"}, "else the API reads nothing from its cache"
            assert "cache_control" not in json.dumps([again["messages"], again["system"], again["tools"]])
        assert SUMMARY_HEAD in texts((await session.view(system=SYSTEM, tools=TOOLS[fmt])).messages)
        await session.record([m for n in range(12 * number, 12 * number + 12) for m in turn(fmt, n)])


@pytest.mark.parametrize("fmt", FORMATS)
async def test_breakpoints_are_the_only_difference_where_the_policy_sets_them(
    client: CompactionClient, redis: Redis, server: FakeModel, fmt: str
) -> None:
    session = await opened(client, fmt)
    sent = await call(server, fmt, await session.view(system=SYSTEM, tools=TOOLS[fmt]))
    outcome, *_ = await compact(redis, session, server)
    assert outcome.own_model == "used"
    again: Any = server.calls[-1].body
    prefix = again["messages"][:-1]
    assert same_bytes(prefix, sent["messages"][: len(prefix)]), (
        "marks are on the last three messages, which are the tail's"
    )
    assert again.get("system") == (SYSTEM if fmt == "anthropic" else None)


async def test_who_writes_is_chosen_by_price(client: CompactionClient, redis: Redis, server: FakeModel) -> None:
    session = await opened(client, "anthropic")
    await session.view(system=SYSTEM, tools=TOOLS["anthropic"])
    dearer = priced(claude_opus_5_5=PerMillion(input=25, cached=10, output=50), fake=CHEAP)
    for prices, why in (
        (dearer, "dearer"),
        (priced(fake=CHEAP), "no_price"),
        (priced(claude_opus_5_5=CACHED), "no_price"),
    ):
        outcome, summarizer, record = await compact(redis, session, server, prices=prices)
        assert (outcome.own_model, record.model) == (why, "fake")
        assert summarizer.asked
        await session.view(system=SYSTEM, tools=TOOLS["anthropic"])
        await session.record([m for n in range(20, 32) for m in turn("anthropic", n + outcome.generation * 20)])
    assert server.calls == []


async def test_what_cannot_be_exact_is_not_asked_and_says_why(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    fmt = "openai-chat"
    session = await opened(client, fmt)
    outcome, *_ = await compact(redis, session, server)
    assert outcome.own_model == "no_frame", "no view has told system prompt and tools"
    await session.record([m for n in range(12, 24) for m in turn(fmt, n)])
    outcome, *_ = await compact(redis, session, server)
    assert outcome.own_model == "other_view", "nobody has adopted the generation before"
    await session.view(system=SYSTEM, tools=TOOLS[fmt])
    await session.record([m for n in range(24, 36) for m in turn(fmt, n)])
    outcome, *_ = await compact(redis, session, server, remote=endpoints(server, key=None))
    assert outcome.own_model == "no_endpoint"
    assert server.calls == []


@pytest.mark.parametrize("frame", ["{", "[]", '{"system": "attack at dawn"}'])
async def test_a_frame_that_nobody_can_read_is_none(
    client: CompactionClient, redis: Redis, server: FakeModel, frame: str
) -> None:
    session = await opened(client, "openai-chat")
    await session.view(system=SYSTEM, tools=TOOLS["openai-chat"])
    await redis.hset(session.key.key("chunks"), FRAME, frame)  # type: ignore[misc]
    outcome, *_ = await compact(redis, session, server)
    assert outcome.own_model == "no_frame"


async def test_an_answer_that_did_not_come_from_the_cache_is_the_last_one_asked_so(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    server.cached_tokens = 0
    fmt = "openai-chat"
    session = await opened(client, fmt)
    found = []
    for number in range(3):
        await session.view(system=SYSTEM, tools=TOOLS[fmt])
        outcome, *_ = await compact(redis, session, server)
        found.append(outcome.own_model)
        await session.record([m for n in range(12) for m in turn(fmt, 12 + number * 12 + n)])
    assert found == ["used", "not_cached", "used"]


async def test_where_it_fails_the_summarizer_writes_and_both_are_counted(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    session = await opened(client, "openai-chat")
    await session.view(system=SYSTEM, tools=TOOLS["openai-chat"])
    server.script(["too_long"])
    outcome, summarizer, record = await compact(redis, session, server)
    assert (outcome.own_model, record.model) == ("failed", "fake")
    assert record.spent.calls == len(summarizer.asked) == 1

    await session.view(system=SYSTEM, tools=TOOLS["openai-chat"])
    await session.record([m for n in range(12, 24) for m in turn("openai-chat", n)])
    server.script(["garbage", "garbage"])
    outcome, summarizer, record = await compact(redis, session, server)
    assert (outcome.own_model, len(summarizer.asked)) == ("failed", 1)
    assert record.spent.calls > 1
    assert record.economics.cost is None, "two models were paid"
    assert "not by the session's own model" in told(outcome)


async def test_system_prompt_and_tools_are_kept_only_where_the_policy_asks_and_go_with_the_session(
    client: CompactionClient, redis: Redis
) -> None:
    store = SessionStore(redis)
    for name, overrides in (("wants", WANTS), ("never", {})):
        session = client.session(name, format="anthropic", policy="hermes", overrides=overrides)
        await session.record(reading("anthropic", 2))
        await session.view(system=SYSTEM, tools=TOOLS["anthropic"])
    assert SYSTEM in str(await store.chunk(SessionKey("default", "wants"), FRAME))
    assert await store.chunk(SessionKey("default", "never"), FRAME) is None

    wants = client.session("wants", format="anthropic", policy="hermes", overrides=WANTS)
    await wants.view(system="Another.")
    assert "Another." in str(await store.chunk(wants.key, FRAME))
    await wants.view(system=object())
    assert "Another." in str(await store.chunk(wants.key, FRAME)), "what is no JSON nobody can repeat"
    await wants.purge()
    assert await store.chunk(wants.key, FRAME) is None


def test_every_reason_has_words() -> None:
    assert {*get_args(Why)} == {"", *_OWN_MODEL}
