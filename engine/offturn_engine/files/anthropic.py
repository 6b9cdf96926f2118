"""Messages of anthropic as files hold them, and what is repaired of them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any

from offturn_engine import formats
from offturn_engine.files.assembling import Dialect, assemble, each_repaired
from offturn_engine.files.conversation import Conversation, Item, Notes, Said
from offturn_engine.messages import Json, RawMessage

ROLES = ("system", "user", "assistant")


def conversation(items: Sequence[Item], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these messages, repaired. Raises UnreadableFile naming place and field."""
    at = next((i for i, item in enumerate(items) if _is_system(item)), None) if system is None else None
    if at is not None and isinstance(item := items[at], Said):
        notes.count("system messages moved out of the list")
        system, items = item.raw.get("content"), [*items[:at], *items[at + 1 :]]
    return assemble(items, DIALECT, title=title, system=system, source=source, notes=notes)


def call(call_id: str, name: str) -> RawMessage:
    """An assistant message with one call without arguments."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]}


def _is_system(item: Item) -> bool:
    return isinstance(item, Said) and isinstance(item.raw, dict) and item.raw.get("role") == "system"


def _repair(found: Sequence[Said], notes: Notes) -> list[tuple[int, Said]]:
    kept = each_repaired(found, notes, _repaired, "an object with a role")
    _give_ids([said.raw["content"] for _, said in kept if isinstance(said.raw["content"], list)], notes)
    return kept


def _give_ids(contents: Sequence[list[Json]], notes: Notes) -> None:
    """Ids where the file has none: a result without one answers the first call given one that still waits."""
    waiting: deque[str] = deque()
    given = 0
    for blocks in contents:
        for i, block in enumerate(blocks):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use" and not block.get("id"):
                given += 1
                waiting.append(f"call_{given}")
                blocks[i] = {**block, "id": waiting[-1]}
            elif kind == "tool_result" and not block.get("tool_use_id") and waiting:
                blocks[i] = {**block, "tool_use_id": waiting.popleft()}
    notes.count("missing call ids given by order", given)


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


DIALECT = Dialect(formats.get("anthropic"), _repair, call)
