"""What all formats do alike: neutral messages, origins, and the checks of an edit against the part it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from offturn_engine.messages import (
    Edit,
    Json,
    MediaPart,
    Message,
    Origin,
    Part,
    RawMessage,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from offturn_engine.tokens import Estimate

Place = TypeVar("Place")


def message_of(
    raw: RawMessage, places: Sequence[tuple[Place, Part]], role: Role, declared: Origin | None, estimate: Estimate
) -> Message:
    """The neutral message of what was read. `declared`: its origin as the host has it."""
    parts = tuple([part for _, part in places])
    return Message(role=role, parts=parts, raw=raw, origin=origin_of(role, parts, declared), tokens=estimate(raw))


def origin_of(role: Role, parts: Sequence[Part], declared: Origin | None) -> Origin:
    """Who made a message. What a host declares counts for the user role only, and never for tool results alone."""
    if role != "user":
        return role
    if parts and isinstance(parts[0], ToolResultPart) and all(isinstance(part, ToolResultPart) for part in parts):
        return "tool"
    return declared or "human"


def named(places: Sequence[tuple[Place, Part]], edit: Edit) -> Place:
    """Where the part of an edit is. Raises ValueError where there is none, or it cannot take this edit."""
    if not 0 <= edit.part < len(places):
        raise ValueError(f"seq {edit.seq} has {len(places)} parts, the edit names part {edit.part}")
    place, part = places[edit.part]
    fits_text = isinstance(part, TextPart | ToolResultPart) and edit.text is not None and edit.arguments is None
    fits_call = isinstance(part, ToolCallPart) and edit.arguments is not None and edit.text is None
    fits_image = isinstance(part, MediaPart) and edit.rule == "image" and edit.text is not None
    fits_reasoning = isinstance(part, ThinkingPart) and edit.rule == "reasoning"
    if not (fits_text or fits_call or fits_image or fits_reasoning):
        raise ValueError(f"seq {edit.seq}, part {edit.part}: a {type(part).__name__} does not take this edit")
    return place


def size_of(value: Json) -> int:
    """Bytes of a value's JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def edited(
    message: Message,
    edits: Sequence[Edit],
    read: Callable[[RawMessage, int], Sequence[tuple[Place, Part]]],
    put: Callable[[dict[str, Any], Place, Edit], None],
) -> RawMessage:
    """The raw message with each edit put at its place; the very raw value where there is none."""
    if not edits:
        return message.raw
    places, raw = read(message.raw, 0), dict(message.raw)
    for edit in edits:
        put(raw, named(places, edit), edit)
    return raw
