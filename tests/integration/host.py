"""What a host sends, in both formats, and what is true of every view it gets back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from offturn import View
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.formats import get

Raw = dict[str, Any]

FORMATS = ("openai-chat", "anthropic")
WORDS = "the build of the parser was slow and we had to look into every module of it before the release "


def human(text: str) -> Raw:
    """A human's message, the same in both formats."""
    return {"role": "user", "content": text}


def says(text: str) -> Raw:
    """An assistant's answer, the same in both formats."""
    return {"role": "assistant", "content": text}


def calls(fmt: str, *ids: str, command: str = "make test") -> Raw:
    """An assistant's message with one shell call for each id."""
    if fmt == "openai-chat":
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        made = [{"id": one, "type": "function", "function": function} for one in ids]
        return {"role": "assistant", "content": None, "tool_calls": made}
    blocks = [{"type": "tool_use", "id": one, "name": "bash", "input": {"command": command}} for one in ids]
    return {"role": "assistant", "content": blocks}


def result(fmt: str, call_id: str, text: str) -> Raw:
    """The result of one call."""
    if fmt == "openai-chat":
        return {"role": "tool", "tool_call_id": call_id, "content": text}
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}


def long_text(characters: int, seed: str = "") -> str:
    """Text of about that size; `seed` makes it unlike others."""
    return (f"{seed} " + WORDS * (characters // len(WORDS) + 1))[: characters - 1] + "."


def turn(fmt: str, number: int, *, size: int = 2_000) -> list[Raw]:
    """A question, a call with its result, and an answer of `size` characters, which pruning leaves: four messages."""
    return [
        human(f"Please look into module {number}."),
        calls(fmt, f"call_{number}", command=f"cat module_{number}.py"),
        result(fmt, f"call_{number}", f"def module_{number}(): ..."),
        says(long_text(size, f"I have looked into module {number}:")),
    ]


def turns(fmt: str, count: int, *, size: int = 2_000, start: int = 0) -> list[Raw]:
    """Several turns."""
    return [message for number in range(start, start + count) for message in turn(fmt, number, size=size)]


def assert_sendable(view: View) -> None:
    """It fits, and its provider would take it; calls may be pending at its very end."""
    assert view.tokens <= view.limit
    problems = get(view.format).problems(view.messages)
    assert [p for p in problems if p.rule != "pending"] == []


async def stored(redis: Redis, session: str, tenant: str = "default") -> list[Any]:
    """The raw messages of a session's log."""
    return [entry.raw for entry in await SessionStore(redis).log(SessionKey(tenant, session), start=0, stop=1_000_000)]


def texts(messages: Sequence[Any]) -> str:
    """Everything the messages say, to search in."""
    return json.dumps(messages, ensure_ascii=False)
