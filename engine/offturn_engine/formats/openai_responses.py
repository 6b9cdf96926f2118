"""The `openai-responses` format: items of the Responses API, its `input` and `output`; instructions stand outside the list.

A reply is several items. Reasoning and compaction items are opaque: sent back as they came, or left out with what they
belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.formats._arguments import write_arguments
from offturn_engine.formats._canonical import canonical_responses
from offturn_engine.formats._edits import edited, message_of
from offturn_engine.formats._plain import plain
from offturn_engine.formats._redacted import redacted_responses
from offturn_engine.formats._responses_parts import TEXTS, TOOL_SEARCH, Place, Places, output_kind, read, role_of
from offturn_engine.formats._responses_problems import problems
from offturn_engine.formats._values import checked
from offturn_engine.formats.base import Problem, SystemApart
from offturn_engine.messages import Edit, Json, Message, Origin, RawMessage
from offturn_engine.tokens import Estimate, estimate_message


class OpenAIResponses(SystemApart):
    """`Format` of `openai-responses`."""

    name = "openai-responses"
    in_items = True

    def __init__(self, estimate: Estimate = estimate_message) -> None:
        self.estimate = estimate

    def parse(self, raw: Json, *, index: int = 0, origin: Origin | None = None) -> Message:
        """A neutral message of one item. Raises InvalidMessage for what the provider would refuse."""
        value = plain(raw)
        return message_of(value, _checked(value, index), role_of(value), origin, self.estimate)

    def edit(self, message: Message, edits: Sequence[Edit]) -> RawMessage:
        """The raw item with edits applied. Raises ValueError for an edit its part cannot take."""
        return edited(message, edits, read, _put)

    def without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The raw item without these parts; None when nothing is left."""
        if not parts:
            return message.raw
        places = read(message.raw, 0)
        kept = [i for part, ((_, i), _) in enumerate(places) if part not in parts]
        if not kept or None in kept:
            return message.raw if kept else None
        return {**message.raw, "content": [message.raw["content"][i] for i in kept if i is not None]}

    def block(self, message: Message, part: int) -> Json:
        """The raw value of one part: a content part, or the item."""
        (key, i), _ = read(message.raw, 0)[part]
        return message.raw if i is None else message.raw[key][i]

    def result(self, call_id: str, name: str, text: str) -> RawMessage:  # noqa: ARG002 -- the API takes no name
        """A synthetic output of a call, of the call's kind."""
        kind, colon, plain_id = call_id.partition(":")
        if not colon or not kind.endswith(("_call", "program")):
            return {"type": "function_call_output", "call_id": call_id, "output": text}
        made = {"type": output_kind(kind), "call_id": plain_id}
        return {**made, **_output(made["type"], text)}

    def canonical(self, raw: RawMessage) -> Json:
        """The value two items are compared by."""
        return canonical_responses(raw)

    def redacted(self, raw: RawMessage) -> RawMessage:
        """What is left of a recorded item whose content is deleted."""
        return redacted_responses(raw)

    def problems(self, messages: Sequence[RawMessage]) -> list[Problem]:
        """What the provider would refuse in this list; calls of the last reply still open under the rule `pending`."""
        return problems(messages, _checked)

    def request(self, messages: Sequence[RawMessage], system: Json) -> Mapping[str, Any]:
        """`input`, and `instructions` where there are any; a system prompt that is no text goes first in `input`."""
        if system is None:
            return {"input": [*messages]}
        if isinstance(system, str):
            return {"input": [*messages], "instructions": system}
        first = system if isinstance(system, dict) and "role" in system else {"role": "developer", "content": system}
        return {"input": [first, *messages]}


def _checked(value: Json, index: int) -> Places:
    return read(checked(value, index), index)


def _put(raw: dict[str, Any], place: Place, edit: Edit) -> None:
    key, i = place
    if key == "arguments":
        raw[key] = write_arguments(edit.arguments)
    elif key == "output" and edit.text is not None:
        raw |= _output(raw["type"], edit.text, raw.get("output"))
    elif key == "content" and i is not None:
        raw[key] = [*raw[key]]
        raw[key][i] = _edited(raw[key][i], edit)
    elif key == "content":
        raw[key] = edit.text
    else:
        raise ValueError(f"seq {edit.seq}, part {edit.part}: an item of kind {raw.get('type')!r} takes no edit")


def _edited(part: dict[str, Any], edit: Edit) -> dict[str, Any]:
    if part["type"] not in TEXTS:
        return {"type": "input_text", "text": edit.text}
    places: dict[str, Json] = (
        {"annotations": []} if "annotations" in part else {}
    )  # they point into the text that is gone
    kept = {key: value for key, value in part.items() if key != "logprobs"}
    return {**kept, **places, TEXTS[part["type"]]: edit.text}


def _output(kind: str, text: str, was: Json = None) -> dict[str, Any]:
    """The output fields of a kind that hold this text."""
    if kind == TOOL_SEARCH:
        return {"tools": []}
    if kind == "shell_call_output":
        ended = {"type": "exit", "exit_code": 1}
        outcome = next((run["outcome"] for run in was or () if isinstance(run, dict) and "outcome" in run), ended)
        return {"output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
    if kind == "apply_patch_call_output" and was is None:
        return {"status": "failed", "output": text}
    return {"output": [{"type": "input_text", "text": text}] if isinstance(was, list) else text}
