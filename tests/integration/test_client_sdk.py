"""What the SDKs hand out is recorded as it is, and a view goes into their `create` as it is. No network."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.resources.messages import AsyncMessages
from anthropic.types import Message, TextBlock, ToolUseBlock
from anthropic.types import Usage as AnthropicUsage
from openai.resources.chat.completions import AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidMessage
from offturn.testing import FakeSummarizer
from tests.integration.host import FORMATS, assert_sendable, human, result, stored, turns

WINDOW = 16_000
CREATE: dict[str, Callable[..., Any]] = {"openai-chat": AsyncCompletions.create, "anthropic": AsyncMessages.create}

COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "a-model",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 40,
        "completion_tokens": 7,
        "total_tokens": 47,
        "prompt_tokens_details": {"cached_tokens": 30},
    },
}


@pytest.mark.parametrize("kind", ["raw", "compacted", "emergency"])
@pytest.mark.parametrize("fmt", FORMATS)
async def test_a_view_goes_into_create(client: CompactionClient, fmt: str, kind: str) -> None:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(turns(fmt, {"raw": 2, "compacted": 22, "emergency": 60}[kind]))
    if kind == "compacted":
        await client.run_due(summarizer=FakeSummarizer())
    view = await session.view(system="Be brief.")

    bound = inspect.signature(CREATE[fmt]).bind(None, model="m", max_tokens=100, **view.kwargs())
    sent = bound.arguments["messages"]

    assert view.kind == kind
    assert_sendable(view)
    if fmt == "anthropic":
        assert bound.arguments["system"] == "Be brief."
        assert sent == list(view.messages)
    else:
        assert sent == [{"role": "system", "content": "Be brief."}, *view.messages]


async def test_an_openai_response_is_recorded_as_it_is(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("Run it."))
    view = await session.view()
    response = ChatCompletion.model_validate(COMPLETION)
    await session.record(response, usage=response.usage, view=view)
    await session.record([result("openai-chat", "c1", "ok"), ChatCompletionMessage(role="assistant", content="Done.")])
    await session.record(human("Thanks."))
    mine = [
        human("Run it."),
        response.choices[0].message,
        result("openai-chat", "c1", "ok"),
        ChatCompletionMessage(role="assistant", content="Done."),
        human("Thanks."),
    ]
    mirrored = await session.mirror(mine)

    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    log = await stored(redis, "chat")
    assert log[1]["role"] == "assistant"
    assert log[1]["tool_calls"] == [call]
    assert log[1].get("content") is None
    assert log[3] == {"role": "assistant", "content": "Done."}
    assert len(log) == 5
    assert_sendable(mirrored)
    assert dict((await session.events())[0].fields) == {
        "input": 40,
        "cached": 30,
        "output": 7,
        "generation": 0,
        "seq": 1,
    }


async def test_an_anthropic_response_is_recorded_as_it_is(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="anthropic", window=WINDOW)
    await session.record(human("Run it."))
    view = await session.view()
    response = Message.model_construct(
        id="msg_1",
        type="message",
        role="assistant",
        model="a-model",
        stop_reason="tool_use",
        stop_sequence=None,
        content=[
            TextBlock(type="text", text="I run it.", citations=None),
            ToolUseBlock(type="tool_use", id="t1", name="bash", input={"command": "ls"}),
        ],
        usage=AnthropicUsage(
            input_tokens=10, output_tokens=7, cache_read_input_tokens=25, cache_creation_input_tokens=5
        ),
    )
    await session.record(response, usage=response, view=view)
    await session.record(result("anthropic", "t1", "ok"))
    by_hand = [human("Run it."), {"role": "assistant", "content": response.content}, result("anthropic", "t1", "ok")]
    mirrored = await session.mirror([*by_hand, {"role": "assistant", "content": "Done."}])

    log = await stored(redis, "chat")
    assert log[1] == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I run it."},
            {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}},
        ],
    }
    assert len(log) == 4
    assert_sendable(mirrored)
    assert dict((await session.events())[0].fields) == {
        "input": 40,
        "cached": 25,
        "output": 7,
        "generation": 0,
        "seq": 1,
    }


async def test_a_response_that_is_no_message_is_refused(client: CompactionClient) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    with pytest.raises(InvalidMessage, match="message 0"):
        await session.record(SimpleNamespace(role="assistant", content="x"))
