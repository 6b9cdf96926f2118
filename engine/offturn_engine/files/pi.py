"""Reader of pi sessions (JSON lines), as anthropic messages: that format carries signed reasoning and error flags.

Nothing is removed where the session holds compactions of its own: pi keeps every message, and so does this reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn_engine.files import anthropic
from offturn_engine.files.conversation import Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.messages import Json, RawMessage


def _conversations(source: Source) -> list[Conversation]:
    """The one conversation of a session file; none where it has no messages."""
    notes, title = source.notes, ""
    items: list[Item] = []
    for record, place in _live(source, notes):
        if record.get("type") == "session":
            title = str(record.get("id", ""))
        elif record.get("type") == "message":
            raws = _messages(record.get("message"), place, len(items), notes)
            items += [Said(raw=raw, place=place) for raw in raws]
        else:
            notes.count(f"{record.get('type')} records skipped")
    if not items:
        return []
    return [anthropic.conversation(items, title=title, system=None, source="pi", notes=notes)]


def _live(source: Source, notes: Notes) -> list[tuple[dict[str, Any], str]]:
    """The records on the branch that ends in the last one, with their places. Older sessions have no tree: all of them."""
    records: list[tuple[dict[str, Any], str]] = []
    for value, place in source.records(skip_broken=True):
        if not isinstance(value, dict):
            raise UnreadableFile(f"{place} is a {type(value).__name__}, not a record of a pi session")
        records.append((value, place))
    parents = {r["id"]: r.get("parentId") for r, _ in records if isinstance(r.get("id"), str) and "parentId" in r}
    if not parents:
        return records
    live, at = set(), next(reversed(parents))
    while at in parents and at not in live:
        live.add(at)
        at = parents[at]
    kept = [(r, place) for r, place in records if r.get("id") not in parents or r["id"] in live]
    notes.count("records of abandoned branches skipped", len(records) - len(kept))
    return kept


def _messages(message: Json, place: str, number: int, notes: Notes) -> list[RawMessage]:
    if not isinstance(message, dict):
        raise UnreadableFile(f"{place}, field 'message': must be an object")
    role, content = message.get("role"), message.get("content")
    if role == "user":
        return [{"role": "user", "content": content if isinstance(content, str) else _blocks(content, place, notes)}]
    if role == "assistant":
        if message.get("stopReason") in ("aborted", "error"):
            notes.count(f"assistant messages that were {message['stopReason']}")
        return _assistant(_blocks(content, place, notes), notes)
    if role == "toolResult":
        return [_result(message, place, notes)]
    if role == "bashExecution":
        notes.count("commands the user ran shown as a call and its result")
        return _execution(message, f"user_command_{number}")
    notes.count(f"messages of role {role} skipped")
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
