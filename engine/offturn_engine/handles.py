"""Handles: the short names by which a model or a person asks for what a view left out.

`m181` is the message with seq 181, `m181.2` its part with index 2 (used where a message has several results or calls).
"""

from __future__ import annotations

import re

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
