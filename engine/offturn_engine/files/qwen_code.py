"""Reader of Qwen Code sessions (JSON lines), as gemini contents: a tree of records, of which the live branch is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.files import gemini
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, name
from offturn_engine.messages import Json

SOURCE = "qwen-code"
SPOKEN = ("user", "assistant", "tool_result")
COMPACTION = "chat_compression"
REWIND = "rewind"
TITLE = "custom_title"
LEAVES = (REWIND, COMPACTION)
"""System records that say where the conversation stands."""
BEFORE_TAIL = 2  # contents of a compacted history before what was kept: the summary, and the model's word on it

Records = dict[str, tuple[dict[str, Any], str]]
"""Records and their places, by uuid."""


def _conversations(source: Source) -> list[Conversation]:
    records = _read(source)
    live = _live(records, source.notes)
    title, items = "", list[Item]()
    for uuid, (record, place) in live.items():
        payload = fields(record.get("systemPayload"))
        title = str(payload.get("customTitle") or title or record.get("sessionId") or "")
        if record.get("type") in SPOKEN:
            items.append(_said(uuid, record, place))
        elif record.get("subtype") == COMPACTION:
            items += _compaction(payload, place, items)
        elif record.get("subtype") not in (TITLE, REWIND):
            source.notes.count(f"{name(record.get('subtype'))} records skipped")
    made = gemini.conversation(items, title=title, system=None, source=SOURCE, notes=source.notes)
    return [made] if made.messages else []


def _read(source: Source) -> Records:
    """Records of one uuid are pieces of one message."""
    records: Records = {}
    for record, place in source.records(skip_broken=True):
        if not isinstance(record, dict):
            raise UnreadableFile(f"{place} is a {type(record).__name__}, not a record of a Qwen Code session")
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            raise UnreadableFile(f"{place}, field 'uuid': must be a text")
        if uuid in records:
            source.notes.count("records of one message joined")
            record = _joined(records[uuid][0], record)
        records[uuid] = (record, place)
    return records


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    parts = [part for one in (first, second) for part in listed(fields(one.get("message")).get("parts"))]
    message = {**fields(first.get("message")), **fields(second.get("message")), "parts": parts}
    return {**first, **second, "message": message}


def _live(records: Records, notes: Notes) -> Records:
    """The branch that ends where the conversation stands, and the titles it was given."""
    at = next((uuid for uuid, (record, _) in reversed(records.items()) if _is_leaf(record)), "")
    live: set[str] = set()
    while at in records and at not in live:
        live.add(at)
        at = str(records[at][0].get("parentUuid"))
    said = sum(record.get("type") in SPOKEN for uuid, (record, _) in records.items() if uuid not in live)
    notes.count("messages of abandoned branches skipped", said)
    for uuid, (record, _) in records.items():
        if record.get("subtype") == TITLE and str(record.get("parentUuid")) in live:
            live.add(uuid)
    return {uuid: entry for uuid, entry in records.items() if uuid in live}


def _is_leaf(record: Mapping[str, Any]) -> bool:
    return record.get("type") in SPOKEN or record.get("subtype") in LEAVES


def _said(uuid: str, record: Mapping[str, Any], place: str) -> Said:
    tokens = count(fields(record.get("usageMetadata")).get("promptTokenCount"))
    return Said(raw=record.get("message"), place=place, key=uuid, reported=tokens)


def _compaction(payload: Mapping[str, Any], place: str, before: Sequence[Item]) -> list[Item]:
    """The contents that came after the summary are the last ones before it."""
    history = listed(payload.get("compressedHistory"))
    summary = " ".join(
        str(part.get("text") or "") for part in objects(listed(fields(history[:1] and history[0]).get("parts")))
    )
    if not summary:
        return []
    said, tail = [item for item in before if isinstance(item, Said)], len(history[BEFORE_TAIL:])
    kept_from = said[-tail].key if 0 < tail <= len(said) else ""
    tokens = count(fields(payload.get("info")).get("originalTokenCount"))
    return [Boundary(place=place, summary=summary, kept_from=kept_from, tokens_before=tokens)]


def _recognise(records: Sequence[Json]) -> str:
    found = any("uuid" in record and "parts" in fields(record.get("message")) for record in objects(records))
    return "records have a uuid and a message with parts" if found else ""


READER = Reader(SOURCE, _recognise, _conversations)
