"""What `View.kwargs` asks of a provider: it goes into the installed SDKs as it is, typed and over the wire."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.resources.beta.messages import AsyncMessages as AsyncBetaMessages
from anthropic.resources.messages import AsyncMessages
from anthropic.types import MessageParam, TextBlockParam
from anthropic.types.beta import BetaContextManagementConfigParam, BetaMessageParam, BetaTextBlockParam
from openai import AsyncOpenAI
from openai.resources.chat.completions import AsyncCompletions
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter
from redis.asyncio import Redis

from offturn import CompactionClient, View
from offturn.testing import FakeSummarizer
from offturn_config.presets import names
from offturn_engine.notes import SYSTEM_NOTE
from offturn_worker.fake_model import FakeModel
from tests.integration.host import FORMATS, human, result, says, stored
from tests.policies.agents import reading

SYSTEM = "You are a careful engineer."
MARK = {"type": "ephemeral"}
CREATE: dict[str, Callable[..., Any]] = {
    "messages.create": AsyncMessages.create,
    "beta.messages.create": AsyncBetaMessages.create,
    "chat.completions.create": AsyncCompletions.create,
}


async def viewed(client: CompactionClient, policy: str, fmt: str, *, system: Any = SYSTEM, **overrides: Any) -> View:
    """A compacted view of a session with twelve turns."""
    session = client.session(f"{policy}-{fmt}", format=fmt, policy=policy, overrides=overrides or None, window=200_000)
    await session.record(reading(fmt, 12))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    view = await session.view(system=system)
    assert view.generation == 1
    return view


def marks(value: Any) -> int:
    """Breakpoints anywhere in a JSON value."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


async def test_H8_breakpoints_on_the_system_prompt_and_the_last_three_messages(client: CompactionClient) -> None:
    view = await viewed(client, "hermes", "anthropic")
    before = copy.deepcopy(list(view.messages))
    arguments = view.kwargs()
    assert arguments["system"][-1]["cache_control"] == MARK
    marked = [i for i, message in enumerate(arguments["messages"]) if marks(message)]
    assert marked == [len(view.messages) - n for n in (3, 2, 1)]
    assert all(message["content"][-1]["cache_control"] == MARK for message in arguments["messages"][-3:])
    assert marks(arguments) == 4, "the API takes no more"
    assert list(view.messages) == before
    assert marks(before) == 0
    assert view.method == "messages.create"


async def test_H8_the_stored_bytes_and_other_providers_have_no_marks(client: CompactionClient, redis: Redis) -> None:
    view = await viewed(client, "hermes", "openai-chat")
    assert marks(view.kwargs()) == 0
    view.kwargs()["messages"][-1]["content"] = "changed"
    assert marks(await stored(redis, "hermes-openai-chat")) == 0


async def test_H8_a_host_s_own_marks_give_way(client: CompactionClient) -> None:
    session = client.session("marked", format="anthropic", policy="hermes", window=200_000)
    raws = reading("anthropic", 3, size=400)
    for raw in raws:
        if isinstance(raw["content"], list):
            raw["content"][-1]["cache_control"] = MARK
    await session.record(raws)
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}
    answer = [thinking, call]
    await session.record([human("And now?"), {"role": "assistant", "content": answer}, result("anthropic", "t", "a b")])
    system = [{"type": "text", "text": SYSTEM, "cache_control": MARK}, {"type": "text", "text": "Be brief."}]
    arguments = (await session.view(system=system)).kwargs()
    assert marks(arguments) == 4
    assert marks(arguments["system"][0]) == 0
    assert "cache_control" not in arguments["messages"][-2]["content"][0], "reasoning cannot be marked"


async def test_H6_a_system_prompt_given_apart_gets_the_note(client: CompactionClient) -> None:
    for fmt in FORMATS:
        session = client.session(f"note-{fmt}", format=fmt, policy="hermes", window=200_000)
        recorded = [{"role": "system", "content": SYSTEM}] if fmt == "openai-chat" else []
        await session.record([*recorded, *reading(fmt, 8)])
        assert (await session.view(system=SYSTEM)).system == SYSTEM
        await session.request()
        await client.run_due(summarizer=FakeSummarizer())
        told = [str((await session.view(system=SYSTEM)).kwargs()) for _ in range(2)]
        assert told[0].count(SYSTEM_NOTE["English"]) == 1
        assert told[0] == told[1]
        again = await session.view(system=SYSTEM)
        assert (await session.view(system=again.system)).system == again.system
    plain = await session.view()
    assert SYSTEM_NOTE["English"] not in str(plain.kwargs()), "without a system prompt there is nothing to note it on"


async def test_H6_a_mirrored_list_keeps_its_note_once(client: CompactionClient) -> None:
    session = client.session("mirrored", format="openai-chat", policy="hermes", window=200_000)
    mine = [{"role": "system", "content": SYSTEM}, *reading("openai-chat", 8)]
    await session.mirror(mine)
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    first = await session.mirror(mine)
    taken = [*first.messages, human("Next?"), says("Nothing.")]
    second = await session.mirror(taken)
    assert str(list(second.messages)).count(SYSTEM_NOTE["English"]) == 1
    assert second.messages[: len(first.messages)] == list(first.messages)


async def test_K5_the_beta_and_its_edits_go_with_the_request(client: CompactionClient) -> None:
    view = await viewed(client, "claude-code", "anthropic")
    arguments = view.kwargs()
    assert view.method == "beta.messages.create"
    assert arguments["betas"] == ["context-management-2025-06-27"]
    [clear] = arguments["context_management"]["edits"]
    assert clear["type"] == "clear_tool_uses_20250919"
    assert clear["trigger"] == {"type": "input_tokens", "value": 170_000}
    assert clear["keep"] == {"type": "tool_uses", "value": 5}
    assert (await viewed(client, "claude-code", "openai-chat", system=None)).kwargs().keys() == {"messages"}


async def test_K5_thinking_is_cleared_where_the_model_thinks(client: CompactionClient) -> None:
    session = client.session("thinks", format="anthropic", policy="claude-code", window=200_000)
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t", "name": "mail_send", "input": {}}
    await session.record([human("Send it."), {"role": "assistant", "content": [thought, call]}])
    await session.record([result("anthropic", "t", "sent")])
    thinking, tools = (await session.view()).kwargs()["context_management"]["edits"]
    assert thinking == {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    assert tools["exclude_tools"] == ["mail_send"], "what cannot be run again is never cleared"


async def test_managed_lets_anthropic_compact_first_and_says_where_nothing_does(client: CompactionClient) -> None:
    view = await viewed(client, "five-step", "anthropic", **{"remote.mode": "managed"})
    [compact] = view.kwargs()["context_management"]["edits"]
    assert (view.kwargs()["betas"], compact["type"]) == (["compact-2026-01-12"], "compact_20260112")
    assert 50_000 <= compact["trigger"]["value"] < 100_000
    session = client.session("other", format="openai-chat", policy="five-step", overrides={"remote.mode": "managed"})
    await session.record([human("Hello.")])
    assert any("managed" in warning for warning in (await session.view()).warnings)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("policy", names())
async def test_kwargs_go_into_the_sdk_s_create(client: CompactionClient, policy: str, fmt: str) -> None:
    """Names as `create` has them, values as its TypedDicts have them, and a real client sends them."""
    view = await viewed(client, policy, fmt)
    arguments = view.kwargs()
    inspect.signature(CREATE[view.method]).bind(None, model="fake", max_tokens=10, **arguments)
    _check_types(view.method, arguments)
    async with FakeModel() as server:
        if fmt == "openai-chat":
            async with AsyncOpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as openai:
                await openai.chat.completions.create(model="fake", max_completion_tokens=100, **arguments)
        else:
            async with AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as anthropic:
                api: Any = anthropic.beta.messages if view.method.startswith("beta") else anthropic.messages
                await api.create(model="fake", max_tokens=100, **arguments)
        assert [call.path for call in server.calls]


def _check_types(method: str, arguments: dict[str, Any]) -> None:
    """Raises ValidationError for a value that the SDK's own types do not have."""
    beta = method.startswith("beta")
    message: Any = {"messages.create": MessageParam, "beta.messages.create": BetaMessageParam}.get(
        method, ChatCompletionMessageParam
    )
    TypeAdapter(list[message]).validate_python(arguments["messages"])
    if isinstance(system := arguments.get("system"), list):
        block: Any = BetaTextBlockParam if beta else TextBlockParam
        TypeAdapter(list[block]).validate_python(system)
    if beta:
        known = TypeAdapter(BetaContextManagementConfigParam)
        known.validate_python(arguments["context_management"])
        for edit in arguments["context_management"]["edits"]:
            assert edit["type"] in str(known.core_schema), "a type the SDK does not know"
