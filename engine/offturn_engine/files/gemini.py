"""Contents of gemini as files hold them, and what is repaired of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn_engine import formats
from offturn_engine.files.assembling import Dialect, assemble, each_repaired
from offturn_engine.files.conversation import Conversation, Item, Notes, Said
from offturn_engine.messages import Json, RawMessage


def conversation(items: Sequence[Item], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these contents, repaired. Raises UnreadableFile naming place and field."""
    return assemble(items, DIALECT, title=title, system=system, source=source, notes=notes)


def _call(call_id: str, name: str) -> RawMessage:  # noqa: ARG001 -- a response names its function: that is the id
    return {"role": "model", "parts": [{"functionCall": {"name": call_id, "args": {}}}]}


def _repair(found: Sequence[Said], notes: Notes) -> list[tuple[int, Said]]:
    return each_repaired(found, notes, _repaired, "a content with parts")


def _repaired(raw: dict[str, Any], notes: Notes) -> RawMessage | None:
    parts = raw.get("parts")
    if not isinstance(parts, list):
        return raw
    filled = [part for part in parts if part != {} and part != {"text": ""}]
    if not filled:
        notes.count("empty contents skipped")
        return None
    notes.count("empty parts skipped", len(parts) - len(filled))
    return {**raw, "parts": filled}


DIALECT = Dialect(formats.get("gemini"), _repair, _call)
