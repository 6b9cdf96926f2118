"""Which format a file has, by its shape."""

from __future__ import annotations

from collections.abc import Sequence

from offturn_engine.files.conversation import UnreadableFile
from offturn_engine.messages import Json

NAMES = ("openai-chat", "anthropic", "taubench", "pi")

BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use", "compaction"}
)
"""Content types only anthropic messages have."""


def detected(records: Sequence[Json]) -> tuple[str, str]:
    """(name, why) for the records of a file. Raises UnreadableFile."""
    objects = [record for record in records if isinstance(record, dict)]
    if not records:
        return "openai-chat", "the file is empty"
    if objects and objects[0].get("type") == "session" and "message" not in objects[0]:
        return "pi", "the first record is a session"
    if objects and any(_is_pi_message(record) for record in objects):
        return "pi", "records of type message hold a message with a role"
    if any(isinstance(record.get("traj"), list) for record in objects):
        return "taubench", "an object has a traj list"
    messages, why = _messages(records)
    if not messages and not why:
        known = ", ".join(NAMES)
        raise UnreadableFile(f"this is no transcript offturn can read: no messages were found (formats: {known})")
    block = next((b for m in messages for b in _block_types(m) if b in BLOCKS), None)
    if block:
        return "anthropic", f"{why}, with {block} blocks"
    if any("system" in record and isinstance(record.get("messages"), list) for record in objects):
        return "anthropic", f"{why}, with system beside them"
    return "openai-chat", why


def _is_pi_message(record: dict[str, Json]) -> bool:
    message = record.get("message")
    return record.get("type") == "message" and isinstance(message, dict) and "role" in message


def _messages(records: Sequence[Json]) -> tuple[list[dict[str, Json]], str]:
    """Messages of a list of messages, of objects with `messages`, or of lists of messages; and which it is."""
    if any(isinstance(r, dict) and "role" in r for r in records):
        return [r for r in records if isinstance(r, dict)], "a list of messages"
    wrapped = [r["messages"] for r in records if isinstance(r, dict) and isinstance(r.get("messages"), list)]
    if wrapped:
        return _flat(wrapped), "messages inside an object"
    lists = [r for r in records if isinstance(r, list)]
    return (_flat(lists), "lists of messages") if lists and len(lists) == len(records) else ([], "")


def _flat(lists: Sequence[list[Json]]) -> list[dict[str, Json]]:
    return [m for items in lists for m in items if isinstance(m, dict)]


def _block_types(message: dict[str, Json]) -> list[str]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [b["type"] for b in content if isinstance(b, dict) and isinstance(b.get("type"), str)]
