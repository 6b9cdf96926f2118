"""The `openai-chat` format: messages of the chat completions API and of the servers compatible with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.formats._arguments import write_arguments
from offturn_engine.formats._canonical import canonical_openai
from offturn_engine.formats._edits import edited, message_of
from offturn_engine.formats._openai_parts import FUNCTION, ROLES, Place, Places, read
from offturn_engine.formats._openai_problems import problems
from offturn_engine.formats._plain import plain
from offturn_engine.formats._redacted import redacted_openai
from offturn_engine.formats._values import checked
from offturn_engine.formats.base import ByItself, Problem
from offturn_engine.messages import Edit, Json, Message, Origin, RawMessage
from offturn_engine.tokens import Estimate, estimate_json, estimate_message


class OpenAIChat(ByItself):
    """`Format` of `openai-chat`."""

    name = "openai-chat"

    def __init__(self, estimate: Estimate = estimate_message) -> None:
        self.estimate = estimate

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message. Raises InvalidMessage for what the provider would refuse.

        Arguments that are not JSON are accepted, because the provider accepts what its model wrote.
        """
        value = plain(raw)
        places = _checked(value, index)
        return message_of(value, places, ROLES[value["role"]], origin, self.estimate)

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw message with edits applied. Raises ValueError for an edit its part cannot take."""
        return edited(message, edits, lambda _raw, _index: _placed(message), _put)

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw message without these parts; None when neither text, media nor a call is left."""
        if not parts:
            return message.raw
        places = read(message.raw, 0)
        gone = {place for i, (place, _) in enumerate(places) if i in parts}
        return _sendable(_kept(message.raw, gone))

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part."""
        (key, i), _ = read(message.raw, 0)[part]
        return message.raw[key] if i is None else message.raw[key][i]

    def result(self, call_id: str, name: str, text: str) -> RawMessage:
        """A synthetic result of a call."""
        if call_id.startswith(FUNCTION):
            return {"role": "function", "name": name, "content": text}
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def canonical(self, raw: RawMessage) -> Json:
        """The value two messages are compared by."""
        return canonical_openai(raw)

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded message whose content is deleted."""
        return redacted_openai(raw)

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list; calls still open at its very end under the rule `pending`."""
        return problems(messages, _checked)

    def overhead(self, system: Json, tools: Json) -> int:
        """Estimated tokens of a system prompt and a tool list."""
        prompt = self.estimate(_system(system)) if system else 0
        return prompt + (estimate_json(tools) if tools else 0)

    def request(self, messages: Sequence[RawMessage], system: Json) -> Mapping[str, Any]:
        """`messages`, with the system prompt first."""
        return {"messages": [*([] if system is None else [_system(system)]), *messages]}


def _system(system: Json) -> RawMessage:
    """A system prompt as a message; one given as a message already stays as it is."""
    return system if isinstance(system, dict) and "role" in system else {"role": "system", "content": system}


def _placed(message: Message) -> Places:
    """What `read` finds in a message that it has read: the arguments of its calls are not parsed again for each edit."""
    raw, parts = message.raw, message.parts
    if message.role == "tool" and len(parts) == 1:
        return [(("content", None), parts[0])]
    if message.role != "assistant":  # nobody has looked at what it says of calls
        return read(raw, 0)
    content, calls = raw.get("content"), raw.get("tool_calls") or ()
    said = int(content is not None)
    if isinstance(content, str | None) and len(parts) == said + len(calls):  # so there is nothing else in it
        return [
            *zip([("content", None)] * said, parts, strict=False),
            *((("tool_calls", i), parts[said + i]) for i in range(len(calls))),
        ]
    return read(raw, 0)


def _checked(value: Json, index: int) -> Places:
    return read(checked(value, index), index)


def _put(raw: dict[str, Any], place: Place, edit: Edit) -> None:
    key, i = place
    if edit.rule == "reasoning":
        del raw[key]
    elif key == "function_call":
        raw[key] = {**raw[key], "arguments": write_arguments(edit.arguments)}
    elif i is not None:
        raw[key] = [*raw[key]]
        raw[key][i] = _edited(raw[key][i], edit)
    elif isinstance(raw[key], list):
        raw[key] = [{"type": "text", "text": edit.text}]
    else:
        raw[key] = edit.text


def _edited(part: dict[str, Any], edit: Edit) -> dict[str, Any]:
    if part.get("type") == "image_url":
        return {"type": "text", "text": edit.text}
    if edit.text is not None:
        return {**part, "refusal" if part["type"] == "refusal" else "text": edit.text}
    if "custom" in part:
        raise ValueError(f"seq {edit.seq}, part {edit.part}: the input of a custom tool is text, not JSON")
    return {**part, "function": {**part["function"], "arguments": write_arguments(edit.arguments)}}


def _kept(raw: RawMessage, gone: set[Place]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in raw.items():
        if (key, None) in gone:
            continue
        if any(place[0] == key for place in gone):
            value = [item for i, item in enumerate(value) if (key, i) not in gone]
            if not value:
                continue
        kept[key] = value
    return kept


def _sendable(raw: dict[str, Any]) -> RawMessage | None:
    calls = raw.get("tool_calls") or raw.get("function_call")
    if raw["role"] == "assistant" and (calls or raw.get("refusal") or raw.get("audio")):
        return raw if "content" in raw else {**raw, "content": None}
    return raw if raw.get("content") is not None else None
