"""Where the parts of an openai-chat message are: the one reading that parse, edit and without share."""

from __future__ import annotations

from typing import TypeAlias

from offturn_engine.formats._arguments import read_arguments
from offturn_engine.formats._edits import size_of
from offturn_engine.formats._values import Field, id_at, kind_of, object_at, text_at
from offturn_engine.media import source_of
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
"""(field of the message, index in its list or None for the whole field)."""

Places: TypeAlias = list[tuple[Place, Part]]

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
FUNCTION = "function_call:"
"""Prefix of the id given to a legacy `function_call`, which has none: its result is matched by the function's name."""

MEDIA = {"image_url": "image", "input_audio": "audio", "file": "document"}
REASONING = ("reasoning_content", "reasoning")
SIGNED_REASONING = ("reasoning_details", "thinking_blocks")


def read(raw: RawMessage, index: int) -> Places:
    """Each part with its place, in the order content, calls, refusal, reasoning. Raises InvalidMessage."""
    field = Field(index)
    role = raw.get("role")
    if role is None:
        field["role"].refuse(f"is missing: one of {', '.join(ROLES)}")
    if not isinstance(role, str) or role not in ROLES:
        field["role"].refuse(f"is unknown to openai-chat: one of {', '.join(ROLES)}")
    if ROLES[role] == "tool":
        return [(("content", None), _result(raw, field))]
    places = _content(raw, field, role)
    if role == "assistant":
        places += _calls(raw, field) + _refusal(raw, field) + _reasoning(raw)
        if not any(isinstance(part, TextPart | ToolCallPart | OpaquePart | MediaPart) for _, part in places):
            field["content"].refuse("is missing, and there are no tool_calls: leave an empty assistant message out")
    return places


def _content(raw: RawMessage, field: Field, role: str) -> Places:
    content = raw.get("content")
    if isinstance(content, str):
        return [(("content", None), TextPart(content))]
    field = field["content"]
    if content is None:
        if role != "assistant":
            field.refuse(f"is missing: a {role} message needs a string or a list of parts")
        return []
    if not isinstance(content, list):
        field.refuse(f"must be a string or a list of parts, got {kind_of(content)}")
    if not content:
        field.refuse("is an empty list: give at least one part, or a string")
    return [(("content", i), _part(part, field[i])) for i, part in enumerate(content)]


def _part(value: Json, field: Field) -> Part:
    part = object_at(value, field)
    kind = id_at(part.get("type"), field["type"])
    if kind == "text":
        return TextPart(text_at(part.get("text"), field["text"]))
    if kind == "refusal":
        return TextPart(text_at(part.get("refusal"), field["refusal"]))
    if kind not in MEDIA:
        return OpaquePart(kind, size_of(part))
    if not isinstance(part.get(kind), dict | str):
        field[kind].refuse(f"must be an object, got {kind_of(part.get(kind))}")
    return MediaPart(MEDIA[kind], size_of(part), source_of(part))


def _result(raw: RawMessage, field: Field) -> ToolResultPart:
    if raw["role"] == "function":
        call_id = FUNCTION + id_at(raw.get("name"), field["name"])
        content = raw.get("content") or ""  # the legacy role allows null
    else:
        call_id = id_at(raw.get("tool_call_id"), field["tool_call_id"])
        content = raw.get("content")
    if isinstance(content, str):
        return ToolResultPart(call_id, content)
    parts = [part for _, part in _content({"content": content}, field, raw["role"])]
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    attached = tuple(part for part in parts if isinstance(part, MediaPart))
    return ToolResultPart(call_id, text, media=len(attached), attached=attached)


def _calls(raw: RawMessage, field: Field) -> Places:
    places: Places = []
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        field["tool_calls"].refuse(f"must be a list, got {kind_of(calls)}")
    for i, call in enumerate(calls or ()):
        places.append((("tool_calls", i), _call(call, field["tool_calls"][i])))
    legacy = raw.get("function_call")
    if legacy is not None:
        function = _function(legacy, field["function_call"])
        places.append((("function_call", None), _call_part(FUNCTION + function[0], *function)))
    return places


def _call(value: Json, field: Field) -> ToolCallPart:
    call = object_at(value, field)
    call_id = id_at(call.get("id"), field["id"])
    if call.get("type") == "custom":
        custom = object_at(call.get("custom"), field["custom"])
        name = id_at(custom.get("name"), field["custom"]["name"])
        return ToolCallPart(call_id, name, None, text_at(custom.get("input"), field["custom"]["input"]))
    if call.get("type", "function") != "function":
        field["type"].refuse("is unknown: function or custom")
    return _call_part(call_id, *_function(call.get("function"), field["function"]))


def _function(value: Json, field: Field) -> tuple[str, str]:
    function = object_at(value, field)
    name, source = id_at(function.get("name"), field["name"]), function.get("arguments")
    if not isinstance(source, str):
        field["arguments"].refuse(f"must be a string that holds JSON, got {kind_of(source)}: use json.dumps()")
    return name, source


def _call_part(call_id: str, name: str, source: str) -> ToolCallPart:
    return ToolCallPart(call_id, name, read_arguments(source), source)


def _refusal(raw: RawMessage, field: Field) -> Places:
    refusal = raw.get("refusal")
    places: Places = []
    if refusal is not None:
        places.append((("refusal", None), TextPart(text_at(refusal, field["refusal"]))))
    if raw.get("audio") is not None:
        places.append((("audio", None), MediaPart("audio", size_of(raw["audio"]))))
    return places


def _reasoning(raw: RawMessage) -> Places:
    """Fields of compatible servers; what is not text there, or signed, is carried as it came."""
    plain: Places = [
        ((key, None), ThinkingPart(raw[key], signed=False))
        for key in REASONING
        if isinstance(raw.get(key), str) and raw[key]
    ]
    return plain + [((key, None), ThinkingPart("", signed=True)) for key in SIGNED_REASONING if raw.get(key)]
