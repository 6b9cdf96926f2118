"""Handles: the short names by which a model or a person asks for what a view left out.

`m181` is the message with seq 181, `m181.2` its part with index 2 (used where a message has several results or calls).
Several messages are named by what views say of them: `m3 to m40`, and `0-2, 7-180` as in the head of a summary.
"""

from __future__ import annotations

import json
import re

from offturn_engine.media import known
from offturn_engine.messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from offturn_engine.ranges import Ranges, normalise

HANDLE = re.compile(r"\[?m(\d{1,12})(?:\.(\d{1,6}))?\]?")
_RANGE = re.compile(r"\[?m?(\d{1,12})\]?(?:\s*(?:-|\u2013|\bto\b)\s*\[?m?(\d{1,12})\]?)?")


def handle(seq: int, part: int | None = None) -> str:
    """The handle of a message, or of one of its parts."""
    return f"m{seq}" if part is None else f"m{seq}.{part}"


def parse_handle(text: str) -> tuple[int, int | None] | None:
    """(seq, part index or None) that a handle names, with or without brackets; None where it is no handle."""
    match = HANDLE.fullmatch(text.strip())
    if match is None:
        return None
    seq, part = match.groups()
    return int(seq), None if part is None else int(part)


def parse_ranges(text: str) -> Ranges | None:
    """The seqs of several messages, as half-open ranges; None where the text names none, or only one number."""
    found = [_RANGE.fullmatch(piece.strip()) for piece in text.split(",")]
    pairs = [(int(m[1]), int(m[2] or m[1])) for m in found if m]
    if len(pairs) < len(found) or any(low > high for low, high in pairs) or text.strip().isdecimal():
        return None
    return normalise((low, high + 1) for low, high in pairs)


def text_behind(message: Message, part: int | None = None) -> str:
    """What a handle stands for: the text of a part, or of all parts of a message."""
    if part is None:
        return "\n\n".join(text_behind(message, i) for i in range(len(message.parts)))
    match message.parts[part]:
        case TextPart(text=text) | ThinkingPart(text=text) | ToolResultPart(text=text):
            return text
        case ToolCallPart(name=name, source=source):
            return f"{name} {source}"
        case other:
            called = {"name": str(known(other))} if isinstance(other, MediaPart) else {}
            return json.dumps({"kind": other.kind, "bytes": other.size, **called})
