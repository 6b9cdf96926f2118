"""The `text-observation` format: chats in which tools are called by text, and what they print wears the user role.

Messages are those of chat completions, with the roles system, user and assistant only. Which user messages are a tool's:
  1. What the host declares counts: `origin="human"`, `"tool"`, `"host"`.
  2. Else the message that directly follows an assistant's message with an action (`_actions`) is its observation.
  3. Else it is a human's. So the first one is, and one that follows an assistant's message without an action.
What is an observation is decided when it is recorded, and kept as its origin.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from offturn_engine.formats._actions import Action, action_in
from offturn_engine.formats._edits import message_of, named
from offturn_engine.formats._openai_parts import ROLES, read
from offturn_engine.formats._openai_problems import problems
from offturn_engine.formats._plain import plain
from offturn_engine.formats._redacted import REDACTED
from offturn_engine.formats._values import Field, checked
from offturn_engine.formats.base import Problem
from offturn_engine.formats.openai_chat import OpenAIChat
from offturn_engine.messages import (
    Edit,
    Json,
    MediaPart,
    Message,
    Origin,
    Part,
    RawMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

ACTION = "action"
"""The id of every call and observation: texts have none, and pairs go by order."""


class TextObservation(OpenAIChat):
    """`Format` of `text-observation`."""

    name = "text-observation"
    by_place = True

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message; of origin `tool` it is an observation. Raises InvalidMessage for what it cannot be."""
        value = plain(raw)
        places = _checked(value, index)
        if value["role"] == "user" and origin == "tool":
            places = [(("content", None), _observation([part for _, part in places]))]
        elif value["role"] == "assistant":
            places = [(("content", None), part) for part in _acting(value, [part for _, part in places])]
        return message_of(value, places, ROLES[value["role"]], origin, self.estimate)

    def after(self, message: Message, before: Message | None) -> Message:
        """An observation, where it follows an action and nobody has said whose it is."""
        if message.role != "user" or message.origin != "human" or before is None or not before.calls:
            return message
        return replace(self.parse(message.raw, origin="tool"), seq=message.seq, at=message.at)

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw message with edits applied. Raises ValueError for an edit its part cannot take."""
        if not edits:
            return message.raw
        if not message.calls and not message.results:
            return super().edit(message, edits)
        raw = message.raw
        for edit in edits:
            named([(None, part) for part in message.parts], edit)
            raw = _with_text(raw, edit.text or "") if message.results else _acted(raw, message.parts[edit.part], edit)
        return raw

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw message without these parts; None when nothing sendable is left."""
        if not parts or not (message.calls or message.results):
            return super().without(message, parts)
        kept = [part for i, part in enumerate(message.parts) if i not in parts]
        if not kept or len(kept) == len(message.parts):
            return message.raw if kept else None
        text, action = _action(message.raw)
        return _with_text(message.raw, text[action.start :] if message.calls[0][1] in kept else text[: action.head])

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part; of an action or an observation the content."""
        return message.raw["content"] if message.calls or message.results else super().block(message, part)

    def result(self, call_id: str, name: str, text: str) -> RawMessage:  # noqa: ARG002 -- a text names no call
        """A synthetic observation."""
        return self.user(text)

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded message whose content is deleted: its action keeps the tool's name."""
        action = action_in(_text(raw) or "") if raw["role"] == "assistant" else None
        if action is None:
            return {"role": raw["role"], "content": REDACTED}
        left = action.written({} if action.label is None else dict.fromkeys(action.arguments, REDACTED))
        return {"role": raw["role"], "content": f"{REDACTED}\n{left}" if action.head else left}

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list; it knows nothing of actions."""
        return problems(messages, _checked)


def _checked(value: Json, index: int) -> list[tuple[tuple[str, int | None], Part]]:
    raw, field = checked(value, index), Field(index)
    if raw.get("role") in ("tool", "function") or raw.get("tool_calls") or raw.get("function_call"):
        name = "tool_calls" if raw.get("role") == "assistant" else "role"
        field[name].refuse("is that of an API with tools: record the session in format openai-chat")
    return read(raw, index)


def _observation(parts: Sequence[Part]) -> ToolResultPart:
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return ToolResultPart(ACTION, text, media=sum(isinstance(part, MediaPart) for part in parts))


def _acting(raw: RawMessage, parts: list[Part]) -> list[Part]:
    text = _text(raw)
    action = None if text is None or len(parts) > 1 else action_in(text)
    if text is None or action is None:
        return parts
    call = ToolCallPart(ACTION, action.name, dict(action.arguments), json.dumps(action.arguments, ensure_ascii=False))
    return [TextPart(text[: action.head]), call] if action.head else [call]


def _text(raw: RawMessage) -> str | None:
    """The one text of a message, or None where it is something else."""
    content = raw.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text") if content[0].get("type") == "text" else None
    return content if isinstance(content, str) else None


def _with_text(raw: RawMessage, text: str) -> dict[str, Any]:
    content = raw["content"]
    if not isinstance(content, list):
        return {**raw, "content": text}
    first = content[0] if content[0].get("type") == "text" else {"type": "text"}
    return {**raw, "content": [{**first, "text": text}]}


def _action(raw: RawMessage) -> tuple[str, Action]:
    text = _text(raw) or ""
    action = action_in(text)
    assert action is not None, "a message with a call ends with an action"
    return text, action


def _acted(raw: RawMessage, part: Part, edit: Edit) -> dict[str, Any]:
    text, action = _action(raw)
    if isinstance(part, ToolCallPart):
        return _with_text(raw, text[: action.start] + action.written(edit.arguments))
    return _with_text(raw, (edit.text or "") + text[action.head :])
