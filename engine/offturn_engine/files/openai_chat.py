"""Messages of openai-chat as files hold them, and what is repaired of them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from offturn_engine import formats
from offturn_engine.files.assembling import Dialect, assemble
from offturn_engine.files.conversation import Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.messages import Json, RawMessage

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def conversation(items: Sequence[Item], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these messages, repaired. Raises UnreadableFile naming place and field."""
    return assemble(items, DIALECT, title=title, system=system, source=source, notes=notes)


def call(call_id: Json, name: Json, arguments: Json) -> dict[str, Json]:
    """A call of an assistant's message; arguments that are no text are written as JSON by the repair."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _calling(call_id: str, name: str) -> RawMessage:
    return {"role": "assistant", "content": None, "tool_calls": [call(call_id, name, "{}")]}


def _repair(found: Sequence[Said], notes: Notes) -> list[tuple[int, Said]]:
    kept: list[tuple[int, dict[str, Any]]] = []
    spoken = [i for i, said in enumerate(found) if isinstance(said.raw, dict) and said.raw.get("role") in ROLES]
    last = spoken[-1] if spoken else len(found)  # without any, the first is no record that trails: it is refused
    for i, said in enumerate(found):
        if not isinstance(said.raw, dict):
            raise UnreadableFile(f"{said.place} is a {type(said.raw).__name__}, not an object with a role")
        if i > last:
            notes.count("trailing records that are no messages skipped")
            continue
        if not isinstance(said.raw.get("tool_calls"), list | None):
            raise UnreadableFile(f"{said.place}, field 'tool_calls': must be a list")
        message = _content(_calls(dict(said.raw), notes), notes)
        if message is not None:
            kept.append((i, message))
    _give_ids([message for _, message in kept], notes)
    return [(i, replace(found[i], raw=message)) for i, message in kept]


def _content(message: dict[str, Any], notes: Notes) -> dict[str, Any] | None:
    """Content is never missing: an empty result is "", an empty message of another role is left out."""
    content = message.get("content")
    if content not in (None, "", []):
        if not isinstance(content, str | list):
            notes.count("contents that were not text written as JSON text")
            message["content"] = json.dumps(content, ensure_ascii=False)
        return message
    if message.get("role") == "tool":
        if content != "":
            notes.count("results without content made empty text")
        return {**message, "content": ""}
    if message.get("role") == "assistant" and (message.get("tool_calls") or message.get("function_call")):
        return {**message, "content": content or None}
    if message.get("role") == "assistant" and message.get("refusal"):
        return message
    if message.get("role") in ROLES:
        notes.count(f"empty {message['role']} messages skipped")
        return None
    return message


def _calls(message: dict[str, Any], notes: Notes) -> dict[str, Any]:
    if "tool_calls" not in message:
        return message
    calls = message.pop("tool_calls")
    if calls == []:
        notes.count("empty lists of calls dropped")
    if not calls:
        return message
    return {**message, "tool_calls": [_repaired_call(call, notes) for call in calls]}


def _repaired_call(call: Json, notes: Notes) -> Json:
    if not isinstance(call, dict) or call.get("type") == "custom":
        return call
    function = call.get("function")
    if isinstance(function, str):
        notes.count("calls with a bare function name reshaped")
        function = {"name": function, "arguments": call.get("arguments")}
        call = {k: v for k, v in call.items() if k != "arguments"}
    if isinstance(function, dict) and not isinstance(function.get("arguments"), str):
        notes.count("arguments that were objects written as JSON text")
        arguments = function.get("arguments")
        function = {**function, "arguments": "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)}
    return {"type": "function", **call, "function": function}


def _give_ids(messages: list[dict[str, Any]], notes: Notes) -> None:
    """Ids where the file has none: a result answers the first open call of the nearest message with open calls."""
    stack: list[deque[str]] = []
    given = 0
    for message in messages:
        for i, call in enumerate(message.get("tool_calls") or ()):
            if isinstance(call, dict) and not call.get("id"):
                given += 1
                message["tool_calls"][i] = {**call, "id": f"call_{given}"}
        if message.get("role") == "assistant" and message.get("tool_calls"):
            stack.append(deque(str(call.get("id")) for call in message["tool_calls"] if isinstance(call, dict)))
        if message.get("role") == "tool":
            given += not message.get("tool_call_id")
            _answer(message, stack, f"call_{given}")
    notes.count("missing tool ids given by order", given)


def _answer(message: dict[str, Any], stack: list[deque[str]], new_id: str) -> None:
    while stack and not stack[-1]:
        stack.pop()
    wanted = message.get("tool_call_id")
    if not wanted:
        message["tool_call_id"] = stack[-1].popleft() if stack else new_id
        return
    for calls in reversed(stack):
        if wanted in calls:
            calls.remove(wanted)
            return


DIALECT = Dialect(formats.get("openai-chat"), _repair, _calling)
