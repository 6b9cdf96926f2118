"""The `gemini` format: contents of Google's generate_content; the system instruction stands outside the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.formats._canonical import camel, canonical_gemini
from offturn_engine.formats._edits import message_of, named
from offturn_engine.formats._gemini_parts import Places, held, read, role_of, text_key
from offturn_engine.formats._gemini_problems import problems
from offturn_engine.formats._plain import plain
from offturn_engine.formats._redacted import redacted_gemini
from offturn_engine.formats._values import checked
from offturn_engine.formats.base import Problem, SystemApart
from offturn_engine.messages import Edit, Json, Message, Origin, RawMessage
from offturn_engine.tokens import Estimate, estimate_message


class Gemini(SystemApart):
    """`Format` of `gemini`."""

    name = "gemini"

    def __init__(self, estimate: Estimate = estimate_message) -> None:
        self.estimate = estimate

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message. Raises InvalidMessage for what the provider would refuse.

        Of a user content that holds nothing but function responses the origin is `tool`.
        """
        value = plain(raw)
        places = _checked(value, index)
        return message_of(value, places, role_of(value), origin, self.estimate)

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw content with edits applied. Raises ValueError for an edit its part cannot take."""
        if not edits:
            return message.raw
        places, parts = read(message.raw, 0), [*message.raw["parts"]]
        gone = {named(places, edit) for edit in edits if edit.rule == "reasoning"}
        for edit in edits:
            if edit.rule != "reasoning":
                place = named(places, edit)
                parts[place] = _edited(parts[place], edit)
        return {**message.raw, "parts": [part for i, part in enumerate(parts) if i not in gone]}

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw content without these parts; None when nothing but thoughts is left."""
        if not parts:
            return message.raw
        kept = [part for i, part in enumerate(message.raw["parts"]) if i not in parts]
        said = any(held(part) and not part.get("thought") for part in kept)
        return {**message.raw, "parts": kept} if said else None

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part."""
        return message.raw["parts"][part]

    def user(self, text: str) -> RawMessage:
        """A new user content."""
        return {"role": "user", "parts": [{"text": text}]}

    def assistant(self, text: str) -> RawMessage:
        """A new model content."""
        return {"role": "model", "parts": [{"text": text}]}

    def result(self, call_id: str, name: str, text: str) -> RawMessage:  # noqa: ARG002 -- the name is the id
        """A synthetic response of a function."""
        return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": text}}}]}

    def canonical(self, raw: RawMessage) -> Json:
        """The value two contents are compared by."""
        return canonical_gemini(raw)

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded content whose content is deleted."""
        return redacted_gemini(raw)

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list; calls still open at its very end under the rule `pending`."""
        return problems(messages, _checked)

    def request(self, messages: Sequence[RawMessage], system: Json) -> Mapping[str, Any]:
        """`contents`, whose roles alternate: neighbours of one role are joined. `config` with the system instruction.

        What else a host configures (tools, temperature) goes into the same `config`.
        """
        contents: list[dict[str, Any]] = []
        for raw in messages:
            if contents and role_of(contents[-1]) == role_of(raw):
                contents[-1]["parts"] += raw["parts"]
            else:
                contents.append({**raw, "parts": [*raw["parts"]]})
        return {"contents": contents} if system is None else {"contents": contents, "config": {SYSTEM: system}}


SYSTEM = "system_instruction"


def _checked(value: Json, index: int) -> Places:
    return read(checked(value, index), index)


def _edited(part: dict[str, Any], edit: Edit) -> dict[str, Any]:
    key = held(part)
    kind = camel(key)
    if kind == "functionCall":
        if not isinstance(edit.arguments, dict):
            raise ValueError(f"seq {edit.seq}, part {edit.part}: the arguments of a function are an object")
        return {**part, key: {**part[key], "args": edit.arguments}}
    if kind == "functionResponse":
        name = text_key(part[key].get("response") or {}) or "output"
        kept = {k: v for k, v in part[key].items() if k != "parts"}
        return {**part, key: {**kept, "response": {name: edit.text}}}
    if kind == "text":  # a signature is that of the text that is gone
        return {**{k: v for k, v in part.items() if camel(k) != "thoughtSignature"}, "text": edit.text}
    return {"text": edit.text}
