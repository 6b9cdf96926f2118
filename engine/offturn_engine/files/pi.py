"""Reader of sessions of pi and its kin, OpenClaw and oh-my-pi (JSON lines), as anthropic messages: that format carries
signed reasoning and error flags.

Nothing is removed where the session holds compactions of its own: pi keeps every message, and so does this reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from offturn_engine.files import anthropic
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Record, Source
from offturn_engine.files.values import count, fields, name, text
from offturn_engine.messages import Json, Origin, RawMessage

INJECTED: dict[str, Origin] = {"custom": "host", "hookMessage": "host", "developer": "host", "branchSummary": "summary"}
"""Roles of what the host shows to the model in the user's role."""
MESSAGES = ("message", "custom_message", "branch_summary")
"""Types of records that the model is shown."""


def _conversations(source: Source) -> list[Conversation]:
    """The one conversation of a session file; none where it has no messages."""
    notes, title = source.notes, ""
    items: list[Item] = []
    reached: dict[str, int] = {}  # entry -> how many items there were when it came
    for number, (record, place) in _live(source, notes):
        kind = record.get("type")
        reached |= dict.fromkeys((f"entry {number}", text(record.get("id"))), len(items))
        if kind == "session":
            title = text(record.get("id"))
        elif kind == "compaction":
            items.append(_boundary(record, place, items, reached))
        elif kind in MESSAGES:
            source.keep(record, place)
            items += _said(_message_of(record), place, f"entry {number}", len(items), notes)
        else:
            notes.count(f"{name(kind)} records skipped")
    if not any(isinstance(item, Said) for item in items):
        return []
    return [anthropic.conversation(items, title=title, system=None, source="pi", notes=notes)]


def _live(source: Source, notes: Notes) -> Iterator[tuple[int, Record]]:
    """The records on the branch that ends in the last one, numbered. Older sessions have no tree: all of them."""
    parents: dict[str, Json] = {}
    for value, place in source.records(skip_broken=True, kept=False):
        if not isinstance(value, dict):
            raise UnreadableFile(f"{place} is a {type(value).__name__}, not a record of a pi session")
        if isinstance(value.get("id"), str) and "parentId" in value:
            parents[value["id"]] = value["parentId"]
    live: set[str] = set()
    at = next(reversed(parents), None)
    while isinstance(at, str) and at in parents and at not in live:
        live.add(at)
        at = parents[at]
    for number, record in enumerate(source.records(skip_broken=True, kept=False)):
        if (own := text(record.value.get("id"))) not in parents or own in live:
            yield number, record
        else:
            notes.count("records of abandoned branches skipped")


def _message_of(record: dict[str, Any]) -> Json:
    """The message that a record holds, or is."""
    if record["type"] == "custom_message":
        return {"role": "custom", "content": record.get("content")}
    if record["type"] == "branch_summary":
        return {"role": "branchSummary", "summary": record.get("summary")}
    return record.get("message")


def _boundary(record: dict[str, Any], place: str, items: Sequence[Item], reached: dict[str, int]) -> Boundary:
    """What was kept is named by an entry, in older sessions by its number; it need not be a message."""
    kept = text(record.get("firstKeptEntryId"))
    at = reached.get(kept or f"entry {record.get('firstKeptEntryIndex')}", len(items))
    return Boundary(
        place=place,
        summary=text(record.get("summary")),
        kept_from=next((item.key for item in items[at:] if isinstance(item, Said)), ""),
        tokens_before=count(record.get("tokensBefore")),
    )


def _said(message: Json, place: str, key: str, items: int, notes: Notes) -> list[Said]:
    if not isinstance(message, dict):
        raise UnreadableFile(f"{place}, field 'message': must be an object")
    role = text(message.get("role"))
    origin = INJECTED.get(role)
    usage = fields(message.get("usage"))
    reported = sum(count(usage.get(kind)) for kind in ("input", "cacheRead", "cacheWrite"))
    raws = _messages(message, role, place, items, notes)
    return [Said(raw=raw, place=place, key=key, origin=origin, reported=reported) for raw in raws]


def _messages(message: dict[str, Any], role: str, place: str, number: int, notes: Notes) -> list[RawMessage]:
    content = message.get("content")
    if role == "user" or role in INJECTED:
        content = message.get("summary") if role == "branchSummary" else content
        return [{"role": "user", "content": content if isinstance(content, str) else _blocks(content, place, notes)}]
    if role == "assistant":
        if message.get("stopReason") in ("aborted", "error"):
            notes.count(f"assistant messages that were {message['stopReason']}")
        return _assistant(_blocks(content, place, notes), notes)
    if role == "toolResult":
        return [_result(message, place, notes)]
    if role == "bashExecution" and message.get("excludeFromContext") is not True:
        notes.count("commands the user ran shown as a call and its result")
        return _execution(message, f"user_command_{number}")
    notes.count(f"messages of role {name(role)} skipped")
    return []


def _assistant(blocks: list[RawMessage], notes: Notes) -> list[RawMessage]:
    """Reasoning that nothing follows was cut off: the API refuses it."""
    while blocks and blocks[-1]["type"] == "thinking":
        blocks.pop()
        notes.count("unfinished reasoning skipped")
    return [{"role": "assistant", "content": blocks}]


def _result(message: dict[str, Any], place: str, notes: Notes) -> RawMessage:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.get("toolCallId")}
    content = message.get("content")
    block["content"] = content if isinstance(content, str) else _blocks(content, place, notes)
    if message.get("isError"):
        block["is_error"] = True
    return {"role": "user", "content": [block]}


def _execution(message: dict[str, Any], call_id: str) -> list[RawMessage]:
    """A command the user ran in the session is not a human's prose: it is evidence, like any tool's result."""
    output, code = str(message.get("output") or ""), message.get("exitCode")
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": output}
    if code:
        result |= {"content": f"{output}\n[exit code {code}]", "is_error": True}
    use = {"type": "tool_use", "id": call_id, "name": "bash", "input": {"command": str(message.get("command") or "")}}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def _blocks(content: Json, place: str, notes: Notes) -> list[RawMessage]:
    if content is None:
        return []
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise UnreadableFile(f"{place}, field 'message.content': must be a list of blocks")
    found = (_block(item, f"{place}, field 'message.content[{i}]'", notes) for i, item in enumerate(content))
    return [block for block in found if block is not None]


def _block(item: Json, place: str, notes: Notes) -> RawMessage | None:
    if not isinstance(item, dict):
        raise UnreadableFile(f"{place}: must be an object")
    kind = item.get("type")
    if kind == "text":
        return {"type": "text", "text": item.get("text")}
    if kind == "thinking":
        if item.get("thinkingSignature"):
            return {"type": "thinking", "thinking": item.get("thinking"), "signature": item["thinkingSignature"]}
        notes.count("reasoning without a signature skipped")
        return None
    if kind == "toolCall":
        arguments = anthropic.as_object(item.get("arguments"))
        return {"type": "tool_use", "id": item.get("id"), "name": item.get("name"), "input": arguments}
    if kind == "image":
        data = {"type": "base64", "media_type": item.get("mimeType"), "data": item.get("data")}
        return {"type": "image", "source": data}
    notes.count(f"{kind} blocks skipped")
    return None


def _recognise(records: Sequence[Json]) -> str:
    found = objects(records)
    if found and found[0].get("type") == "session" and "message" not in found[0]:
        return "the first record is a session"
    return "records of type message hold a message with a role" if any(map(_is_message, found)) else ""


def _is_message(record: dict[str, Json]) -> bool:
    message = record.get("message")
    return record.get("type") == "message" and isinstance(message, dict) and "role" in message


READER = Reader("pi", _recognise, _conversations)
