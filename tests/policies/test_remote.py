"""A provider's own compaction: the item as it came, the ledger beside it, and what a switch of models falls back to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from redis.asyncio import Redis

from offturn import CompactionClient, Session, recipe
from offturn.doorbell import Doorbell
from offturn.remote import Remote
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.errors import InvalidSetting
from offturn_config.presets import load
from offturn_engine.accept import accept
from offturn_engine.compaction import NO_SECTIONS, NOTHING, Compaction, Opaque
from offturn_engine.draft import SUMMARY_HEAD
from offturn_engine.errors import SummarizerError
from offturn_engine.formats import get
from offturn_engine.formats.responses import items
from offturn_engine.messages import RawMessage
from offturn_engine.outcome import Compacted, Failed, Outcome
from offturn_engine.plan import Plan, PruneOnly, Summarise, apply, plan, widen
from offturn_engine.remote import RemoteReply, RemoteRequest
from offturn_models.model import Model
from offturn_models.remote import Endpoints
from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.behaviour import Scripted
from tests.engine.dialects import said_in
from tests.integration.host import calls, human, long_text, result, says, texts
from tests.policies.agents import WINDOW, path_of, reading, turn

OPENAI, ANTHROPIC = "openai:gpt-6-luna", "anthropic:claude-opus-5-5"
BY_ANTHROPIC = {
    "remote.mode": "anthropic-compact",
    "tiers.enabled": False,
    "gate": "always_summarise",
    "summary.ledger_first": False,
}


@pytest.fixture
async def server() -> AsyncIterator[FakeModel]:
    async with FakeModel() as running:
        yield running


@dataclass
class Watched:
    """Real SDKs against the fake server; what was asked and answered is kept."""

    server: FakeModel
    requests: list[RemoteRequest] = field(default_factory=list)
    replies: list[RemoteReply] = field(default_factory=list)

    async def compact(self, request: RemoteRequest) -> RemoteReply:
        self.requests.append(request)
        reply = await endpoints(self.server).compact(request)
        self.replies.append(reply)
        return reply

    def summarizer(self, model: str) -> Model:
        return endpoints(self.server).summarizer(model)


def endpoints(server: FakeModel, key: str | None = "k") -> Endpoints:
    keys = dict.fromkeys(("openai", "anthropic"), key)
    urls = {"openai": server.openai_url, "anthropic": server.url} if key else {}
    return Endpoints(keys=keys, base_urls=urls, timeout=20)


async def run(redis: Redis, session: Session, remote: Remote | None, summarizer: Any = None) -> Outcome:
    await session.request()
    store = SessionStore(redis)
    asked = summarizer or FakeSummarizer()
    return await recipe.run(session.key, store=store, doorbell=Doorbell(redis), summarizer=asked, remote=remote)


async def record_of(redis: Redis, session: Session, number: int) -> Compaction:
    found = await SessionStore(redis).generation(session.key, number)
    assert found is not None
    return found


async def opened(client: CompactionClient, **options: Any) -> Session:
    settings: dict[str, Any] = {"format": "openai-chat", "policy": "codex-remote", "model": OPENAI, "window": WINDOW}
    session = client.session("chat", **{**settings, **options})
    await session.record(reading((options or settings).get("format", "openai-chat"), 12))
    return session


async def test_C5_the_item_is_kept_as_it_came_with_the_neutral_ledger_beside_it(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    session, summarizer = await opened(client), FakeSummarizer()
    outcome = await run(redis, session, endpoints(server), summarizer)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "remote"
    assert [call.path for call in server.calls] == ["/v1/responses/compact"]
    assert summarizer.asked == []

    record = await record_of(redis, session, 1)
    assert record.opaque is not None
    item = json.loads(record.opaque.data)
    assert (item["type"], item["of_the_future"], "éß==" in item["encrypted_content"]) == ("compaction", [1, None], True)
    assert (record.opaque.provider, record.opaque.model, record.model) == ("openai", OPENAI, OPENAI)
    assert (record.spent.calls, record.spent.input_tokens > 100) == (1, True)

    view = await session.view(system="Be brief.")
    told = texts(view.messages)
    assert SUMMARY_HEAD in told, "chat completions get the ledger"
    assert "module_3.py" in told
    assert item["encrypted_content"] not in told
    assert view.warnings == ()
    arguments = view.responses_kwargs()
    assert item in arguments["input"]
    assert SUMMARY_HEAD not in json.dumps(arguments["input"])
    async with AsyncOpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as sdk:
        await sdk.responses.create(model="gpt-6-luna", **arguments)


async def test_C5_a_session_of_items_has_the_item_in_its_own_call(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    session = client.session("chat", format="openai-responses", policy="codex-remote", model=OPENAI, window=WINDOW)
    await session.record(said_in("openai-responses", reading("openai-chat", 12)))
    watched = Watched(server)
    outcome = await run(redis, session, watched)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "remote"
    assert {raw.get("type") for raw in watched.requests[0].messages} == {None, "function_call", "function_call_output"}
    item = json.loads(watched.replies[0].opaque.data)
    view = await session.view(system="Be brief.")
    assert SUMMARY_HEAD in texts(view.messages)
    arguments = view.kwargs()
    assert item in arguments["input"]
    assert SUMMARY_HEAD not in json.dumps(arguments["input"])
    async with AsyncOpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as sdk:
        await sdk.responses.create(model="gpt-6-luna", **arguments)
    assert SUMMARY_HEAD in texts((await session.view(format="anthropic")).messages)


async def test_C5_another_model_falls_back_to_the_ledger_with_a_warning(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    session = await opened(client)
    await run(redis, session, endpoints(server))
    assert (await session.view()).opaque is not None
    for model in ("anthropic:claude-opus-5-5", "openai:another"):
        await session.configure(model=model)
        view = await session.view()
        assert view.opaque is None
        assert any(OPENAI in warning and model in warning for warning in view.warnings)
        assert SUMMARY_HEAD in texts(view.messages)
        assert "compaction" not in {item.get("type") for item in view.responses_kwargs()["input"]}
    await session.configure(model=OPENAI)
    assert (await session.view()).opaque is not None, "back at its model the item counts again"


async def test_the_next_compaction_hands_the_item_back_in_place_of_the_summary(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    watched, session = Watched(server), await opened(client)
    await run(redis, session, watched)
    await session.view()
    await session.record([m for n in range(12, 24) for m in turn("openai-chat", n)])
    await run(redis, session, watched)
    first, second = watched.requests
    assert first.previous is None
    assert second.previous == watched.replies[0].opaque
    assert [raw["role"] for raw in second.before] == ["user"] * 12, "human messages stay before it"
    assert SUMMARY_HEAD not in texts([*second.before, *second.messages])
    assert (await record_of(redis, session, 2)).opaque == watched.replies[1].opaque


async def test_an_anthropic_block_leads_the_request_and_comes_back(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    watched = Watched(server)
    session = await opened(client, format="anthropic", policy="claude-code", overrides=BY_ANTHROPIC, model=ANTHROPIC)
    assert (await session.view()).method == "beta.messages.create", "from the first view on: a host has one call"
    outcome = await run(redis, session, watched)
    assert isinstance(outcome, Compacted)
    assert outcome.method == "remote"
    assert server.calls[0].betas == "compact-2026-09-04"
    record = await record_of(redis, session, 1)
    assert record.opaque is not None
    assert record.covered == ((0, 44),), "up to the end of a turn"
    assert watched.requests[0].messages[-1] == says("Module 10 is fine.")
    assert record.spent.input_tokens > 100, "what iterations say; the usage at the top is zero"

    await session.record([human("And the next one?")])
    view = await session.view(system="Be brief.")
    arguments = view.kwargs()
    block = json.loads(record.opaque.data)
    assert arguments["messages"][0] == {"role": "assistant", "content": [block]}
    assert block["tool_changes"] == []
    assert arguments["messages"][-1]["content"] == "And the next one?"
    assert "compact-2026-09-04" in arguments["betas"]
    assert SUMMARY_HEAD in texts(view.messages)
    async with AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as sdk:
        await sdk.beta.messages.create(model="m", max_tokens=10, **arguments)

    await session.record([says("Fine."), *(m for n in range(12, 24) for m in turn("anthropic", n))])
    await run(redis, session, watched)
    assert watched.requests[1].previous == record.opaque
    assert SUMMARY_HEAD not in texts(watched.requests[1].messages)


@pytest.mark.parametrize(("scripted", "kind"), [(529, "overloaded"), (429, "rate_limited"), ("empty", "empty")])
async def test_what_may_pass_is_tried_again_later(
    client: CompactionClient, redis: Redis, server: FakeModel, scripted: Scripted, kind: str
) -> None:
    session = await opened(client)
    server.script([scripted])
    outcome = await run(redis, session, endpoints(server))
    assert isinstance(outcome, Failed)
    assert outcome.kind == kind


@pytest.mark.parametrize("scripted", [400, 401, "too_long"])
async def test_what_will_not_pass_is_done_by_the_summarizer(
    client: CompactionClient, redis: Redis, server: FakeModel, scripted: Scripted
) -> None:
    session = await opened(client)
    server.script([scripted])
    outcome = await run(redis, session, endpoints(server))
    assert isinstance(outcome, Compacted)
    assert outcome.method == "model"
    assert (await record_of(redis, session, 1)).opaque is None


async def test_without_a_key_or_an_endpoint_the_summarizer_does_it(
    client: CompactionClient, redis: Redis, server: FakeModel
) -> None:
    session = await opened(client)
    outcome = await run(redis, session, endpoints(server, key=None))
    assert isinstance(outcome, Compacted)
    assert (outcome.method, server.calls) == ("model", [])


async def test_a_model_or_format_that_cannot_is_told(client: CompactionClient, redis: Redis, server: FakeModel) -> None:
    session = await opened(client, model="anthropic:claude-opus-5-5")
    outcome = await run(redis, session, endpoints(server))
    assert isinstance(outcome, Compacted)
    assert (outcome.method, server.calls) == ("model", [])
    assert any("openai-compact" in warning for warning in (await session.view()).warnings)


async def test_an_error_quotes_nothing(server: FakeModel) -> None:
    asked = RemoteRequest(mode="openai-compact", model="m", messages=(human("a secret plan"),))
    server.script([400])
    with pytest.raises(SummarizerError) as caught:
        await endpoints(server).compact(asked)
    assert "secret" not in str(caught.value) + repr(asked)
    assert caught.value.__cause__ is None
    with pytest.raises(InvalidSetting, match="OFFTURN_OPENAI_API_KEY"):
        await endpoints(server, key=None).compact(asked)


def test_an_item_stands_for_what_was_sent_and_nothing_else() -> None:
    raws = reading("openai-chat", 12)
    path, fmt, rules = path_of("openai-chat", raws), get("openai-chat"), load("codex-remote")
    planned = plan(path, NOTHING, fmt, policy=rules, limits=rules.limits(WINDOW), reason="manual")
    assert isinstance(planned, Summarise)
    item = Opaque(provider="openai", model=OPENAI, data="{}")
    made = apply(planned, NO_SECTIONS, opaque=item)
    assert (made.compaction.opaque, made.compaction.method) == (item, "remote")
    longer = path_of("openai-chat", [*raws, *turn("openai-chat", 12), *turn("openai-chat", 13)])
    wider = widen(made, longer, ((0, 50),))
    assert (wider.compaction.opaque, wider.compaction.method) == (None, "extractive")


def test_chat_messages_become_input_items() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    custom = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    raws: list[RawMessage] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
        {**calls("openai-chat", "a", "b"), "content": "Looking."},
        result("openai-chat", "a", "one"),
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        {"role": "tool", "tool_call_id": "c", "content": "patched"},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "done"},
        says(long_text(200)),
    ]
    made = items(raws)
    TypeAdapter(list[ResponseInputItemParam]).validate_python(made)
    kinds = [item.get("type", item.get("role")) for item in made]
    assert kinds == [
        "developer",
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "function_call",
        "function_call_output",
        "assistant",
    ]
    called = [item["call_id"] for item in made if str(item.get("type")).endswith("_call")]
    answered = [item["call_id"] for item in made if str(item.get("type")).endswith("_output")]
    assert called == answered


def in_band(content: str | None) -> RawMessage:
    block = {"type": "compaction", "content": content, "encrypted_content": content}
    return {"role": "assistant", "content": [block, {"type": "text", "text": "Going on with module 8."}]}


def managed(raws: list[RawMessage], base: Compaction = NOTHING) -> Plan:
    rules = load("five-step", {"remote.mode": "managed"})
    path = path_of("anthropic", raws)
    return plan(path, base, get("anthropic"), policy=rules, limits=rules.limits(WINDOW), reason="manual")


def test_an_item_in_an_answer_becomes_a_generation_without_a_model() -> None:
    raws = [*reading("anthropic", 8), human("And module 8?"), in_band("what happened"), *turn("anthropic", 9)]
    planned = managed(raws)
    assert isinstance(planned, PruneOnly)
    made = planned.candidate
    assert made.compaction.covered == ((0, 33),)
    assert accept(made, minimum_gain=0.0) is None
    items = made.rendering.items
    assert [item.kind for item in items[:3]] == ["summary", "message", "message"]
    assert items[1].raw == raws[33]
    assert {item.seq for item in made.compaction.human} == {*range(0, 33, 4)}

    later = [*raws, *turn("anthropic", 10), in_band("more"), human("Next?")]
    again = managed(later, made.compaction.model_copy(update={"number": 1}))
    assert isinstance(again, PruneOnly)
    assert again.candidate.compaction.covered == ((0, 42),)


def test_an_item_that_failed_covers_nothing() -> None:
    assert isinstance(managed([*reading("anthropic", 8), in_band(None), *turn("anthropic", 9)]), Summarise)
