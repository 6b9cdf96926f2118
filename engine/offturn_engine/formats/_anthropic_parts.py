"""Where the parts of an anthropic message are: the one reading that parse, edit and without share."""

from __future__ import annotations

import json
from typing import TypeAlias

from offturn_engine.formats._edits import size_of
from offturn_engine.formats._values import Field, id_at, kind_of, object_at, text_at
from offturn_engine.media import source_of
from offturn_engine.messages import (
    Json,
    MediaPart,
    OpaquePart,
    Part,
    RawMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

Place: TypeAlias = int | None
"""Index of the block, or None for string content."""

Places: TypeAlias = list[tuple[Place, Part]]

ROLES = ("user", "assistant")
OF_ASSISTANT = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
MEDIA = {"image": "image", "document": "document"}


def read(raw: RawMessage, index: int) -> Places:
    """Each part with its place, in order. Raises InvalidMessage."""
    field = Field(index)
    role, content = _role(raw, field), raw.get("content")
    field = field["content"]
    if isinstance(content, str):
        _filled(content, field, role)
        return [(None, TextPart(content))]
    if not isinstance(content, list):
        field.refuse(f"must be a string or a list of blocks, got {kind_of(content)}")
    if not content:
        field.refuse(f"is an empty list: leave an empty {role} message out")
    return [(i, _part(block, field[i], role)) for i, block in enumerate(content)]


def _role(raw: RawMessage, field: Field) -> str:
    role = raw.get("role")
    if role == "system":
        field["role"].refuse("system prompts stand outside the list: give it to view(system=...)")
    if role not in ROLES:
        field["role"].refuse("is missing or unknown to anthropic: user or assistant")
    return str(role)


def _filled(text: str, field: Field, role: str) -> None:
    if not text or text.isspace():
        field.refuse(f"is blank: leave the block, or an empty {role} message, out")


def _part(value: Json, field: Field, role: str) -> Part:
    block = object_at(value, field)
    kind = id_at(block.get("type"), field["type"])
    if kind in OF_ASSISTANT and role != "assistant":
        field["type"].refuse("belongs into an assistant message")
    if kind == "tool_result" and role != "user":
        field["type"].refuse("belongs into a user message")
    if kind == "text":
        text = text_at(block.get("text"), field["text"])
        _filled(text, field["text"], role)
        return TextPart(text)
    if kind == "thinking":
        text_at(block.get("signature"), field["signature"])
        return ThinkingPart(text_at(block.get("thinking"), field["thinking"]), signed=True)
    if kind == "redacted_thinking":
        text_at(block.get("data"), field["data"])
        return ThinkingPart("", signed=True)
    if kind == "tool_use":
        return _call(block, field)
    if kind == "tool_result":
        return _result(block, field)
    if kind not in MEDIA:
        return OpaquePart(kind, size_of(block))
    object_at(block.get("source"), field["source"])
    return MediaPart(MEDIA[kind], size_of(block), source_of(block))


def _call(block: dict[str, Json], field: Field) -> ToolCallPart:
    arguments = object_at(block.get("input"), field["input"])
    call_id, name = id_at(block.get("id"), field["id"]), id_at(block.get("name"), field["name"])
    return ToolCallPart(call_id, name, arguments, json.dumps(arguments, ensure_ascii=False))


def _result(block: dict[str, Json], field: Field) -> ToolResultPart:
    call_id, is_error = id_at(block.get("tool_use_id"), field["tool_use_id"]), block.get("is_error") or False
    if not isinstance(is_error, bool):
        field["is_error"].refuse(f"must be a boolean, got {kind_of(is_error)}")
    content = block.get("content") or ""
    if isinstance(content, str):
        return ToolResultPart(call_id, content, is_error)
    if not isinstance(content, list):
        field["content"].refuse(f"must be a string or a list of blocks, got {kind_of(content)}")
    texts: list[str] = []
    attached: list[MediaPart] = []
    for i, item in enumerate(content):
        inner, place = object_at(item, field["content"][i]), field["content"][i]
        kind = id_at(inner.get("type"), place["type"])
        if kind in MEDIA:
            attached.append(MediaPart(MEDIA[kind], size_of(inner), source_of(inner)))
        if kind == "text":
            texts.append(text_at(inner.get("text"), place["text"]))
    return ToolResultPart(call_id, "\n".join(texts), is_error, len(attached), tuple(attached))
