"""Reader of anthropic files: message lists, or objects with `messages` and `system`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from offturn_engine import formats
from offturn_engine.files.conversation import Conversation, Notes, UnreadableFile
from offturn_engine.files.pairing import closed
from offturn_engine.messages import Json, RawMessage

ROLES = ("system", "user", "assistant")
FORMAT = formats.get("anthropic")


def conversation(messages: Sequence[Json], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these messages, repaired. Raises UnreadableFile naming message and field."""
    repaired: list[tuple[int, RawMessage]] = []
    for i, raw in enumerate(messages):
        if not isinstance(raw, dict):
            raise UnreadableFile(f"message {i} is a {type(raw).__name__}, not an object with a role")
        if raw.get("role") == "system" and system is None:
            notes.count("system messages moved out of the list")
            system = raw.get("content")
            continue
        message = _repaired(raw, notes)
        if message is not None:
            repaired.append((i, message))
    return Conversation(
        title=title,
        format="anthropic",
        messages=tuple(closed(repaired, FORMAT, call, notes)),
        system=system,
        source_format=source,
        notes=notes.lines(),
    )


def call(call_id: str, name: str) -> RawMessage:
    """An assistant message with one call without arguments."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]}


def _repaired(raw: dict[str, Any], notes: Notes) -> RawMessage | None:
    content = raw.get("content")
    if isinstance(content, list):
        kept = [_block(block, notes) for block in content if not _is_blank(block)]
        notes.count("blank text blocks skipped", len(content) - len(kept))
        content = kept
    blank = not content or (isinstance(content, str) and content.isspace())
    if blank and raw.get("role") in ROLES:
        notes.count(f"empty {raw['role']} messages skipped")
        return None
    return {**raw, "content": content}


def _is_blank(block: Json) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return False
    text = block.get("text")
    return text is None or (isinstance(text, str) and not text.strip())


def _block(block: Json, notes: Notes) -> Json:
    if not isinstance(block, dict) or block.get("type") != "tool_use" or isinstance(block.get("input"), dict):
        return block
    notes.count("inputs that were not objects made one")
    return {**block, "input": as_object(block.get("input"))}


def as_object(arguments: Json) -> dict[str, Json]:
    """Arguments as the object the API asks for; what is none is kept under `value`."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return {"value": arguments}
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, dict) else {"value": arguments}
