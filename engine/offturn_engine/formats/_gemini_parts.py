"""Where the parts of a gemini content are: the one reading that parse, edit and without share.

Source: the types of google-genai 3.6 (`Content`, `Part`). Field names come as the API spells them (`functionCall`) or
as the SDK does (`function_call`); both take both. Calls and responses are paired by the function's name and by order:
their ids are optional, and the SDK's own helper leaves them out of responses. So the name is the neutral id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from offturn_engine.formats._canonical import camel
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

Places = list[tuple[int, Part]]
"""(index of the part, part)."""

ROLES: Mapping[str, Role] = {"user": "user", "model": "assistant"}
BESIDE = frozenset(
    [
        "thought",
        "thoughtSignature",
        "videoMetadata",
        "partMetadata",
        "mediaResolution",
        "mediaProcessing",
        "speechMetadata",
        "documentMetadata",
        "spreadsheetMetadata",
        "audioMetadata",
    ]
)
"""Fields that say something about a part; it has one other field, which holds its content."""

TOLD = ("output", "result", "error")
"""Keys of a function's response that hold its text."""


def role_of(raw: RawMessage) -> Role:
    """The API takes a content without a role as the user's."""
    return ROLES.get(str(raw.get("role") or "user"), "user")


def read(raw: RawMessage, index: int) -> Places:
    """Each part with its place, in order. Raises InvalidMessage."""
    field = Field(index)
    if raw.get("role") is not None and raw["role"] not in tuple(ROLES):
        field["role"].refuse("is unknown to gemini: user or model; give a system prompt to view(system=...)")
    parts, field = raw.get("parts"), field["parts"]
    if not isinstance(parts, list):
        field.refuse(f"must be a list of parts, got {kind_of(parts)}")
    if not parts:
        field.refuse("is an empty list: leave an empty content out")
    return [(i, _part(object_at(part, field[i]), field[i], role_of(raw))) for i, part in enumerate(parts)]


def held(part: Mapping[str, Json]) -> str:
    """The field that holds the content of a part, as it is spelled there; "" where none does."""
    return next((key for key, value in part.items() if value is not None and camel(key) not in BESIDE), "")


def signed(part: Mapping[str, Json]) -> bool:
    """Does it bear a signature of the model's thoughts?"""
    return bool(part.get("thoughtSignature") or part.get("thought_signature"))


def _part(part: Mapping[str, Json], field: Field, role: Role) -> Part:
    key = held(part)
    kind = camel(key)
    if kind == "text" or (not key and signed(part)):
        return _text(part, field, role)
    if not key:
        field.refuse("holds nothing: leave the part out")
    if kind == "functionCall":
        _belongs(role == "assistant", "model", field[key])
        return _call(object_at(part[key], field[key]), field[key])
    if kind == "functionResponse":
        _belongs(role == "user", "user", field[key])
        return _result(object_at(part[key], field[key]), field[key])
    if kind in ("inlineData", "fileData"):
        return MediaPart(_media(object_at(part[key], field[key])), size_of(part))
    return OpaquePart(kind, size_of(part))


def _belongs(is_there: bool, role: str, field: Field) -> None:
    if not is_there:
        field.refuse(f"belongs into a content of role {role}")


def _text(part: Mapping[str, Json], field: Field, role: Role) -> Part:
    text = text_at(part.get("text") or "", field["text"])
    if part.get("thought"):
        _belongs(role == "assistant", "model", field["thought"])
    if part.get("thought") or (not text and signed(part)):
        return ThinkingPart(text, signed(part))
    if not text:
        field["text"].refuse("is empty: leave the part out")
    return TextPart(text)


def _call(call: Mapping[str, Json], field: Field) -> ToolCallPart:
    name, arguments = id_at(call.get("name"), field["name"]), object_at(call.get("args") or {}, field["args"])
    return ToolCallPart(name, name, arguments, json.dumps(arguments, ensure_ascii=False))


def _result(result: Mapping[str, Json], field: Field) -> ToolResultPart:
    name, response = (
        id_at(result.get("name"), field["name"]),
        object_at(result.get("response") or {}, field["response"]),
    )
    media = result.get("parts")
    return ToolResultPart(
        name,
        text_of(response),
        is_error=True if response.get("error") else None,
        media=len(media) if isinstance(media, list) else 0,
    )


def text_of(response: Mapping[str, Json]) -> str:
    """What a function answered: its text where it holds nothing else, else its JSON."""
    key = text_key(response)
    return str(response[key]) if key else json.dumps(response, ensure_ascii=False) if response else ""


def text_key(response: Mapping[str, Json]) -> str:
    """The key under which a response holds one text and nothing else, or ""."""
    key = next(iter(response), "") if len(response) == 1 else ""
    return key if key in TOLD and isinstance(response[key], str) else ""


def _media(data: Mapping[str, Json]) -> str:
    kind = str(data.get("mimeType") or data.get("mime_type") or "").partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"
