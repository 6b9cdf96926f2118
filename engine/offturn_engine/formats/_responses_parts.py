"""Where the parts of an item of the Responses API are: the one reading that parse, edit and without share.

Source: the TypedDicts of openai 3.57 (`ResponseInputItemParam`). A call and its output are items of their own. Tools
that the host runs bear a `call_id` and are paired by it, whatever their kind; what the provider runs is opaque.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from offturn_engine.formats._arguments import read_arguments
from offturn_engine.formats._edits import size_of
from offturn_engine.formats._values import Field, id_at, kind_of, object_at, text_at
from offturn_engine.messages import (
    Json,
    MediaPart,
    OpaquePart,
    Part,
    RawMessage,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

Place: TypeAlias = tuple[str, int | None]
"""(field of the item, index in its list or None for the whole field); ("", None) is the item itself."""

Places: TypeAlias = list[tuple[Place, Part]]

ITEM: Place = ("", None)
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
MEDIA = {"input_image": "image", "input_audio": "audio", "input_file": "document"}
OF_CHAT = frozenset({"text", "image_url", "file"})
OUTPUT = "_output"
TOOL_SEARCH = "tool_search_output"
"""The one output that is not named after its call. It holds tools, no text."""
CALLS = ("_call", "program")


def kind_at(raw: RawMessage) -> str:
    """The kind of an item; a message may leave it out, and so may a reference."""
    return str(raw.get("type") or ("message" if "role" in raw else "item_reference"))


def role_of(raw: RawMessage) -> Role:
    """Who an item is from. Items that hold no message are the assistant's, outputs a tool's."""
    kind = kind_at(raw)
    if "role" in raw:
        return ROLES.get(str(raw["role"]), "assistant")
    return "tool" if kind.endswith((OUTPUT, "_response")) else "assistant"


def neutral_id(kind: str, call_id: str) -> str:
    """The id by which call and output are paired; of all but functions it names the kind, so that a result can be made."""
    kind = "tool_search_call" if kind == TOOL_SEARCH else kind.removesuffix(OUTPUT)
    return call_id if kind == "function_call" else f"{kind}:{call_id}"


def output_kind(kind: str) -> str:
    """The kind of the output that answers a call of this kind."""
    return TOOL_SEARCH if kind == "tool_search_call" else kind + OUTPUT


def read(raw: RawMessage, index: int) -> Places:
    """Each part with its place, in order. Raises InvalidMessage."""
    field = Field(index)
    if raw.get("object") == "response":
        field["output"].refuse("belongs to a whole response: record its items, response.output")
    if "type" not in raw and "role" not in raw and "id" not in raw:
        field["type"].refuse("is missing: give an item of the Responses API, such as {'role': 'user', 'content': ...}")
    kind = id_at(kind_at(raw), field["type"])
    if not isinstance(raw.get("type"), str | None):
        field["type"].refuse(f"must be a string, got {kind_of(raw.get('type'))}")
    if kind == "message":
        return _said(raw, field)
    if kind == "reasoning":
        return [(ITEM, ThinkingPart(_summary(raw), signed=True))]
    if raw.get("call_id") is None and not kind.startswith(("function_call", "custom_tool_call")):
        return [(ITEM, OpaquePart(kind, size_of(raw)))]
    if kind.endswith(OUTPUT):
        return [(("output", None), _result(raw, kind, field))]
    if kind.endswith(CALLS):
        return [_call(raw, kind, field)]
    return [(ITEM, OpaquePart(kind, size_of(raw)))]


def _said(raw: RawMessage, field: Field) -> Places:
    role = raw.get("role")
    if not isinstance(role, str) or role not in ROLES:
        field["role"].refuse(f"is missing or unknown to openai-responses: one of {', '.join(ROLES)}")
    return _content(raw.get("content"), field["content"], "content", role)


def _content(content: Json, field: Field, key: str, role: str) -> Places:
    if isinstance(content, str):
        return [((key, None), TextPart(content))]
    if not isinstance(content, list):
        field.refuse(f"must be a string or a list of parts, got {kind_of(content)}")
    if not content:
        field.refuse(f"is an empty list: leave an empty {role} message out")
    return [((key, i), _part(part, field[i])) for i, part in enumerate(content)]


def _part(value: Json, field: Field) -> Part:
    part = object_at(value, field)
    kind = id_at(part.get("type"), field["type"])
    if kind in OF_CHAT:
        field["type"].refuse("is a part of chat completions: use input_text, output_text, input_image or input_file")
    if kind in TEXTS:
        return TextPart(text_at(part.get(TEXTS[kind]), field[TEXTS[kind]]))
    return MediaPart(MEDIA[kind], size_of(part)) if kind in MEDIA else OpaquePart(kind, size_of(part))


def _summary(raw: RawMessage) -> str:
    told = raw.get("summary")
    texts = [part.get("text") for part in told if isinstance(part, dict)] if isinstance(told, list) else []
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _call(raw: RawMessage, kind: str, field: Field) -> tuple[Place, Part]:
    call_id = neutral_id(kind, id_at(raw.get("call_id"), field["call_id"]))
    if kind == "function_call":
        source = raw.get("arguments")
        if not isinstance(source, str):
            field["arguments"].refuse(f"must be a string that holds JSON, got {kind_of(source)}: use json.dumps()")
        name = id_at(raw.get("name"), field["name"])
        return ("arguments", None), ToolCallPart(call_id, name, read_arguments(source), source)
    if kind == "custom_tool_call":
        name, source = id_at(raw.get("name"), field["name"]), text_at(raw.get("input"), field["input"])
        return ("input", None), ToolCallPart(call_id, name, None, source)
    asked = {key: value for key, value in raw.items() if key in ("action", "operation", "arguments", "code")}
    return ITEM, ToolCallPart(call_id, kind.removesuffix("_call"), None, json.dumps(asked, ensure_ascii=False))


def _result(raw: RawMessage, kind: str, field: Field) -> ToolResultPart:
    call_id, output = neutral_id(kind, id_at(raw.get("call_id"), field["call_id"])), raw.get("output")
    if isinstance(output, str):
        return ToolResultPart(call_id, output)
    if kind in ("function_call_output", "custom_tool_call_output"):
        parts = [part for _, part in _content(output, field["output"], "output", "tool")]
        text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
        return ToolResultPart(call_id, text, media=sum(isinstance(part, MediaPart) for part in parts))
    return ToolResultPart(call_id, _printed(output) if kind == "shell_call_output" else "")


def _printed(output: Json) -> str:
    """What the commands of a shell call printed; kinds of output without text are never edited."""
    runs = [run for run in output if isinstance(run, dict)] if isinstance(output, list) else []
    told = [run.get(key) for run in runs for key in ("stdout", "stderr")]
    return "\n".join(text for text in told if isinstance(text, str) and text)
