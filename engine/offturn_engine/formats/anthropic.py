"""The `anthropic` format: messages of the Messages API; the system prompt stands outside the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.formats._anthropic_parts import Place, Places, read
from offturn_engine.formats._anthropic_problems import problems
from offturn_engine.formats._canonical import canonical_anthropic
from offturn_engine.formats._edits import message_of, named
from offturn_engine.formats._plain import plain
from offturn_engine.formats._redacted import redacted_anthropic
from offturn_engine.formats._values import checked
from offturn_engine.formats.base import Problem, SystemApart
from offturn_engine.messages import Edit, Json, Message, Origin, RawMessage
from offturn_engine.tokens import Estimate, estimate_message

THINKING = ("thinking", "redacted_thinking")


class Anthropic(SystemApart):
    """`Format` of `anthropic`."""

    name = "anthropic"

    def __init__(self, estimate: Estimate = estimate_message) -> None:
        self.estimate = estimate

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message. Raises InvalidMessage for what the provider would refuse.

        Its role is the raw one; of a user message that holds nothing but tool results the origin is `tool`.
        """
        value = plain(raw)
        places = _checked(value, index)
        return message_of(value, places, value["role"], origin, self.estimate)

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw message with edits applied. Raises ValueError for an edit its part cannot take."""
        if not edits:
            return message.raw
        places, raw = read(message.raw, 0), dict(message.raw)
        gone = {named(places, edit) for edit in edits if edit.rule == "reasoning"}
        for edit in edits:
            if edit.rule != "reasoning":
                _put(raw, named(places, edit), edit)
        return {**raw, "content": [b for i, b in enumerate(raw["content"]) if i not in gone]} if gone else raw

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw message without these parts; reasoning that would end it goes too. None when nothing is left."""
        if not parts:
            return message.raw
        content = message.raw["content"]
        blocks = [] if isinstance(content, str) else [b for i, b in enumerate(content) if i not in parts]
        while blocks and blocks[-1]["type"] in THINKING:
            blocks.pop()
        return {**message.raw, "content": blocks} if blocks else None

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part."""
        place, _ = read(message.raw, 0)[part]
        return message.raw["content"] if place is None else message.raw["content"][place]

    def result(self, call_id: str, name: str, text: str) -> RawMessage:  # noqa: ARG002 -- the API takes no name
        """A synthetic result of a call."""
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}

    def canonical(self, raw: RawMessage) -> Json:
        """The value two messages are compared by."""
        return canonical_anthropic(raw)

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded message whose content is deleted."""
        return redacted_anthropic(raw)

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list; calls still open at its very end under the rule `pending`."""
        return problems(messages, _checked)

    def request(self, messages: Sequence[RawMessage], system: Json) -> Mapping[str, Any]:
        """`messages`, and `system` where there is one."""
        return {"messages": [*messages]} if system is None else {"messages": [*messages], "system": system}


def _checked(value: Json, index: int) -> Places:
    return read(checked(value, index), index)


def _put(raw: dict[str, Any], place: Place, edit: Edit) -> None:
    if place is None:
        raw["content"] = edit.text
        return
    raw["content"] = [*raw["content"]]
    raw["content"][place] = _edited(raw["content"][place], edit)


def _edited(block: dict[str, Any], edit: Edit) -> dict[str, Any]:
    if block["type"] == "image":
        return {"type": "text", "text": edit.text, **{k: v for k, v in block.items() if k == "cache_control"}}
    if block["type"] == "text":
        return {**block, "text": edit.text}
    if block["type"] == "tool_result":
        is_list = isinstance(block.get("content"), list)
        return {**block, "content": [{"type": "text", "text": edit.text}] if is_list else edit.text}
    if not isinstance(edit.arguments, dict):
        raise ValueError(f"seq {edit.seq}, part {edit.part}: the input of a tool_use is an object")
    return {**block, "input": edit.arguments}
