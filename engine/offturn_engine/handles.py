"""Handles: the short names by which a model or a person asks for what a view left out.

`m181` is the message with seq 181, `m181.2` its part with index 2 (used where a message has several results or calls).
"""

from __future__ import annotations

import json
import re

from offturn_engine.media import known
from offturn_engine.messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

HANDLE = re.compile(r"\[?m(\d{1,12})(?:\.(\d{1,6}))?\]?")


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
