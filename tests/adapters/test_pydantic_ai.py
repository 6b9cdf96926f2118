"""The pydantic-ai capability: the run goes on with the view, and a view that comes back is still one path."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from openai import AsyncOpenAI

from offturn import CompactionClient
from offturn.testing import FakeSummarizer
from tests.adapters.conftest import Model
from tests.integration.host import human, long_text

pytest.importorskip("pydantic_ai", reason="the example needs pydantic-ai-slim[openai]")

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from offturn.adapters.pydantic_ai_messages import flat, rebuilt

EXAMPLE = "pydantic_ai_agent"
ALWAYS = {"gate": "always_summarise"}  # a summary where pruning would do
AT = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
async def agent(client: CompactionClient, model: Model, example: Any) -> AsyncIterator[Any]:
    async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as llm:
        yield example.agent(client, llm)


@pytest.mark.parametrize("overrides", [{}, ALWAYS], ids=["pruned", "summarised"])
async def test_the_next_request_carries_the_view_and_the_path_stays_one(
    client: CompactionClient, model: Model, agent: Any, overrides: dict[str, Any]
) -> None:
    session = client.session("bot:demo", format="openai-chat", window=16_000, overrides=overrides)
    await session.record([])
    history: list[ModelMessage] = []
    for number in range(18):
        question = f"Please look into part {number}. {long_text(800)}"
        result = await agent.run(question, message_history=history, conversation_id="demo")
        history = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())  # as a host stores it
        await client.run_due(summarizer=FakeSummarizer())
    result = await agent.run("And now?", message_history=history)

    status, body = await session.status(), model.sent[-1]
    assert status.generation > 1
    assert status.messages == 74
    methods = {generation.method for generation in await session.generations()}
    assert "model" in methods if overrides else "prune" in methods
    assert [event.kind for event in await session.events() if event.kind == "undone"] == []
    view = await session.view()
    sent = [(m["content"] or "")[:300] for m in body["messages"][1:]]
    assert sent == [(m["content"] or "")[:300] for m in view.messages[:-1]]
    assert len(json.dumps(body)) < 50_000  # of 90,000 characters
    assert body["messages"][0] == {"role": "system", "content": "You answer in one paragraph."}
    assert [m["content"] for m in body["messages"][-1:]] == ["And now?"]
    assert len(flat(result.all_messages())) == len(view.messages)
    usage = [event.fields for event in await session.events() if event.kind == "usage"]
    assert len(usage) == 37


MESSAGES: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief.", timestamp=AT), UserPromptPart("Look.", timestamp=AT)]),
    ModelResponse(
        parts=[
            ThinkingPart("Hm.", signature="s"),
            TextPart("I look."),
            ToolCallPart("look", {"at": 1}, "a"),
            ToolCallPart("look", {"at": 2}, "b"),
        ],
        timestamp=AT,
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("look", {"seen": 1}, "a", timestamp=AT, metadata="mine"),
            ToolReturnPart("look", "nothing", "b", timestamp=AT, outcome="failed"),
            UserPromptPart(["And this?", ImageUrl("https://example.org/i.png")], timestamp=AT),
        ]
    ),
    ModelResponse(parts=[TextPart("A picture.")], timestamp=AT),
    ModelRequest(parts=[UserPromptPart([BinaryContent(b"%PDF", media_type="application/pdf")], timestamp=AT)]),
    ModelResponse(parts=[], timestamp=AT),
    ModelRequest(parts=[RetryFeedbackPart("Say more.", retry=RetryInfo(cause="model_retry", attempt=1), timestamp=AT)]),
]


def test_raw_messages_say_what_the_parts_say() -> None:
    raws = [raw for raw, _ in flat(MESSAGES)]
    assert [raw["role"] for raw in raws] == [
        *("system", "user", "assistant", "tool", "tool", "user", "assistant", "user", "assistant", "developer")
    ]
    assert raws[2]["tool_calls"][1] == {
        "id": "b",
        "type": "function",
        "function": {"name": "look", "arguments": '{"at":2}'},
    }
    assert raws[2]["content"][1] == {"type": "text", "text": "I look."}
    assert raws[3] == {"role": "tool", "tool_call_id": "a", "content": '{"seen":1}'}
    assert "nothing" in raws[4]["content"]
    assert raws[5]["content"][1] == {"type": "image_url", "image_url": {"url": "https://example.org/i.png"}}


async def test_what_nobody_edited_is_the_object_it_was(client: CompactionClient) -> None:
    given = flat(MESSAGES)
    view = await client.session("objects", format="openai-chat").mirror([raw for raw, _ in given])
    back = rebuilt(view.messages, given)
    assert all(one is other for one, other in zip(back, MESSAGES, strict=True))


def test_what_was_edited_is_made_anew_beside_what_was_not() -> None:
    given = flat(MESSAGES)
    shown = [raw for raw, _ in given]
    shown[:3] = [human("A summary."), {**shown[2], "content": None}]
    shown[2] = {"role": "tool", "tool_call_id": "a", "content": "[cleared]"}
    summary, call, stub, rest, *others = rebuilt(shown, given)

    assert summary.parts[0].content == "A summary."  # type: ignore[union-attr]
    assert [type(part) for part in call.parts] == [ToolCallPart, ToolCallPart]
    assert (stub.parts[0].tool_name, stub.parts[0].content) == ("look", "[cleared]")  # type: ignore[union-attr]
    assert list(rest.parts) == list(MESSAGES[2].parts[1:])
    assert all(one is other for one, other in zip(others, MESSAGES[3:], strict=True))
    assert [raw for raw, _ in flat([summary, call, stub, rest, *others])] == shown
