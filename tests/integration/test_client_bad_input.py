"""What a provider would refuse is refused when it is recorded: index and field are named, and nothing is appended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidMessage, Session
from tests.integration.host import FORMATS, calls, human, result, says, stored, turns

WINDOW = 100_000
MEGABYTES_10 = 10 * 1024 * 1024


def nested(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = [value]
    return value


Bad = tuple[Any, str]
"""(message, field named in the error)."""

BOTH: dict[str, Bad] = {
    "unknown role": ({"role": "narrator", "content": "x"}, "role"),
    "no role": ({"content": "x"}, "role"),
    "role is a number": ({"role": 1, "content": "x"}, "role"),
    "no content": ({"role": "user"}, "content"),
    "null content": ({"role": "user", "content": None}, "content"),
    "content is a number": ({"role": "user", "content": 3}, "content"),
    "empty list": ({"role": "user", "content": []}, "content"),
    "part is text": ({"role": "user", "content": ["x"]}, "content[0]"),
    "part without type": ({"role": "user", "content": [{"text": "x"}]}, "content[0].type"),
    "part without text": ({"role": "user", "content": [{"type": "text"}]}, "content[0].text"),
    "lone surrogate": ({"role": "user", "content": "a\ud800"}, "content"),
    "lone surrogate in a part": ({"role": "user", "content": [{"type": "text", "text": "\udfff"}]}, "content[0].text"),
    "NaN": ({"role": "user", "content": "x", "score": float("nan")}, "score"),
    "infinity": ({"role": "user", "content": "x", "score": [float("inf")]}, "score[0]"),
    "bytes": ({"role": "user", "content": b"x"}, "content"),
    "a set": ({"role": "user", "content": "x", "tags": {1}}, "tags"),
    "a key that is no text": ({"role": "user", "content": "x", "map": {1: 2}}, "map"),
    "too deep": ({"role": "user", "content": "x", "deep": nested(300)}, "deep" + "[0]" * 300),
    "far too deep": ({"role": "user", "content": "x", "deep": nested(5_000)}, "deep" + "[0]" * 5_000),
    "not a message: text": ("hello", ""),
    "not a message: None": (None, ""),
    "not a message: a list": ([human("x")], ""),
    "not a message: an object": (object(), ""),
}

OPENAI: dict[str, Bad] = {
    "call without id": (
        {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        "tool_calls[0].id",
    ),
    "call without name": (
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"arguments": "{}"}}]},
        "tool_calls[0].function.name",
    ),
    "arguments are an object": (
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {}}}]},
        "tool_calls[0].function.arguments",
    ),
    "result without id": ({"role": "tool", "content": "x"}, "tool_call_id"),
    "empty assistant message": ({"role": "assistant", "content": None}, "content"),
    "orphan result": (result("openai-chat", "nobody", "x"), "part 0"),
}

ANTHROPIC: dict[str, Bad] = {
    "call without id": (
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
        "content[0].id",
    ),
    "call without name": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "input": {}}]},
        "content[0].name",
    ),
    "input is text": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": "{}"}]},
        "content[0].input",
    ),
    "result without id": (
        {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
        "content[0].tool_use_id",
    ),
    "blank text": ({"role": "user", "content": ""}, "content"),
    "system role": ({"role": "system", "content": "x"}, "role"),
    "orphan result": (result("anthropic", "nobody", "x"), "part 0"),
}

CASES = [
    pytest.param(fmt, *case, id=f"{fmt}-{name}")
    for fmt, own in (("openai-chat", OPENAI), ("anthropic", ANTHROPIC))
    for name, case in (BOTH | own).items()
]


async def opened(client: CompactionClient, fmt: str) -> Session:
    session = client.session("chat", format=fmt, window=WINDOW)
    await session.record(turns(fmt, 1))
    return session


@pytest.mark.parametrize(("fmt", "bad", "field"), CASES)
async def test_a_bad_message_is_named_and_nothing_is_appended(
    client: CompactionClient, redis: Redis, fmt: str, bad: Any, field: str
) -> None:
    session = await opened(client, fmt)

    for before in ([], [human("Good."), says("Good too.")]):
        with pytest.raises(InvalidMessage) as caught:
            await session.record([*before, bad])
        assert caught.value.index == len(before)
        assert caught.value.field == field or (field.startswith(caught.value.field) and field.count("[0]") > 100)
    with pytest.raises(InvalidMessage) as mirrored:
        await session.mirror([*turns(fmt, 1), bad])

    assert mirrored.value.index == 4
    assert await stored(redis, "chat") == turns(fmt, 1)
    assert (await session.status()).messages == 4


ACCEPTED: dict[str, Callable[[str], list[Any]]] = {
    "NUL": lambda _: [human("a\0b"), says("c\0")],
    "a line separator and an emoji": lambda _: [human("\u2028 \U0001f600 \u00e9")],
    "10 MB": lambda _: [human("x" * MEGABYTES_10), says("Long.")],
    "ids that repeat": lambda fmt: [calls(fmt, "1"), result(fmt, "1", "a"), calls(fmt, "1"), result(fmt, "1", "b")],
    "an empty result": lambda fmt: [calls(fmt, "1"), result(fmt, "1", "")],
    "a large integer": lambda _: [{**human("x"), "n": 2**70}],
    "unknown fields": lambda _: [{**human("x"), "custom": {"a": [1, None, True]}}],
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", ACCEPTED)
async def test_what_a_provider_takes_is_accepted_as_it_is(
    client: CompactionClient, redis: Redis, fmt: str, name: str
) -> None:
    session = await opened(client, fmt)
    sent = ACCEPTED[name](fmt)
    await session.record(sent)
    view = await client.session("chat", format=fmt, window=WINDOW).view(window=10_000_000)

    assert await stored(redis, "chat") == [*turns(fmt, 1), *sent]
    assert list(view.messages) == [*turns(fmt, 1), *sent]


async def test_openai_takes_what_its_models_wrote(client: CompactionClient, redis: Redis) -> None:
    session = await opened(client, "openai-chat")
    cut = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"command": "cut of'}}
    sent = [{"role": "assistant", "content": None, "tool_calls": [cut]}, human("")]
    await session.record(sent)
    assert (await stored(redis, "chat"))[4:] == sent


async def test_content_is_in_no_error(client: CompactionClient) -> None:
    session = await opened(client, "openai-chat")
    for bad in (
        {"role": "user", "content": ["SECRET"]},
        {"role": "user", "content": "SECRET\ud800"},
        {"role": "SECRET", "content": "SECRET"},
        "SECRET",
    ):
        with pytest.raises(InvalidMessage) as caught:
            await session.record(bad)
        assert "SECRET" not in str(caught.value)
