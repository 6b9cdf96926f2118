"""Reader of OpenCode: its event stream, its exported documents, and the rows of its database, as anthropic messages.

All three hold the same sessions, messages and parts; a later record of an id takes the place of an earlier one. The
database is opened by who calls the reader: its rows come as documents, one a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offturn_engine.files import anthropic, opencode_rows
from offturn_engine.files.conversation import Conversation, Notes, UnreadableFile
from offturn_engine.files.opencode_messages import Message, items
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import fields, listed
from offturn_engine.messages import Json

SOURCE = "opencode"
EVENTS = ("message.", "session.")
ENVELOPES = ("event", "payload")
"""What recorders of events wrap an event in."""


@dataclass(slots=True)
class _Session:
    info: Mapping[str, Any] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)


class _Sessions:
    """The sessions of a file by their ids, in order of first appearance."""

    def __init__(self, source: Source) -> None:
        self.notes = source.notes
        self._keep = source.keep
        self.found: dict[str, _Session] = {}
        self._session_of: dict[str, str] = {}  # by message id

    def take(self, value: Json, place: str) -> None:
        """A document, an event or a row, or a list of them. Raises UnreadableFile where it is none."""
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                raise UnreadableFile(f"{place} holds a {type(item).__name__}, not a document of OpenCode")
            self._take(item, place)

    def _take(self, value: Mapping[str, Any], place: str) -> None:
        event = _event(value)
        if event is not None:
            self._event(str(event["type"]), event["properties"], place)
        elif opencode_rows.is_row(value):
            for document in opencode_rows.documents(value):
                self._document(document, place)
        elif isinstance(value.get("info"), dict):
            self._exported(value, place)
            for message in objects(listed(value.get("messages"))):
                self._exported(message, place)
        else:
            self._document(value, place)

    def _exported(self, value: Mapping[str, Any], place: str) -> None:
        for document in (value.get("info"), *objects(listed(value.get("parts")))):
            self._document(fields(document), place)

    def _document(self, value: Mapping[str, Any], place: str) -> None:
        if "messageID" in value:
            self._part(value, place)
        elif "id" in value:
            self._info(value, place)
        else:
            self.notes.count("records that are no session, message or part skipped")

    def _event(self, kind: str, properties: Mapping[str, Any], place: str) -> None:
        if isinstance(properties.get("info"), dict):
            self._info(properties["info"], place)
        elif isinstance(properties.get("part"), dict):
            self._part(properties["part"], place)
        elif kind == "message.part.delta":
            self._delta(properties, place)
        elif kind == "message.removed":
            session = self.found.get(str(properties.get("sessionID")), _Session())
            session.messages.pop(str(properties.get("messageID")), None)
        elif kind == "message.part.removed":
            self._parts(properties).pop(str(properties.get("partID")), None)
        else:
            self.notes.count("events without messages skipped")

    def _info(self, info: Mapping[str, Any], place: str) -> None:
        id_ = _text(info.get("id"), place, "id")
        if "role" not in info:
            self._session(id_).info = info
            return
        session = _text(info.get("sessionID"), place, "sessionID")
        self._session_of[id_] = session
        self._message(id_, place).info = info
        self._keep(info, place)

    def _part(self, part: Mapping[str, Any], place: str) -> None:
        owner = _text(part.get("messageID"), place, "messageID")
        if owner not in self._session_of:
            self._session_of[owner] = _text(part.get("sessionID"), place, "sessionID")
        kept = self._message(owner, place).parts[_text(part.get("id"), place, "id")] = _slim(part)
        self._keep(kept, place)

    def _delta(self, properties: Mapping[str, Any], place: str) -> None:
        part, name = self._parts(properties).get(str(properties.get("partID"))), str(properties.get("field"))
        if part is not None and isinstance(properties.get("delta"), str):
            part[name] = f"{part.get(name) or ''}{properties['delta']}"
            self._keep(properties["delta"], place)

    def _parts(self, properties: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        session = self.found.get(str(properties.get("sessionID")), _Session())
        message = session.messages.get(str(properties.get("messageID")))
        return message.parts if message else {}

    def _session(self, id_: str) -> _Session:
        return self.found.setdefault(id_, _Session())

    def _message(self, id_: str, place: str) -> Message:
        messages = self._session(self._session_of[id_]).messages
        return messages.setdefault(id_, Message(place=place))


def _conversations(source: Source) -> list[Conversation]:
    """A conversation for each session with messages: each main one, then its sub-agents."""
    sessions = _Sessions(source)
    for value, place in source.records(skip_broken=True, kept=False):
        sessions.take(value, place)
    filled = {id_: session for id_, session in sessions.found.items() if session.messages}
    found = [_conversation(id_, filled, source.notes if len(filled) == 1 else Notes()) for id_ in _ordered(filled)]
    return [conversation for conversation in found if conversation.messages]


def _conversation(id_: str, sessions: Mapping[str, _Session], notes: Notes) -> Conversation:
    session = sessions[id_]
    title = str(session.info.get("title") or id_)
    made = items(session.messages, session.info.get("revert"), notes)
    title = f"sub-agent: {title}" if session.info.get("parentID") else title
    return anthropic.conversation(made, title=title, system=None, source=SOURCE, notes=notes)


def _ordered(sessions: Mapping[str, _Session]) -> list[str]:
    """Ids, each followed by those of its sub-agents; those in a circle of parents come last."""
    below = defaultdict(list)
    for id_, session in sessions.items():
        below[str(session.info.get("parentID"))].append(id_)
    roots = [id_ for id_, session in sessions.items() if str(session.info.get("parentID")) not in sessions]
    placed: dict[str, None] = {}
    waiting = [*reversed([*roots, *sessions])]
    while waiting:
        id_ = waiting.pop()
        if id_ not in placed:
            placed[id_] = None
            waiting += reversed(below[id_])
    return list(placed)


def _event(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for inner in (value, *(value.get(name) for name in ENVELOPES)):
        if not isinstance(inner, dict) or not isinstance(inner.get("properties"), dict):
            continue
        if isinstance(inner.get("type"), str):
            return inner
    return None


def _slim(part: Mapping[str, Any]) -> dict[str, Any]:
    """The part without its tool's metadata, which repeats whole files; what an interrupted tool put out stays."""
    state = part.get("state")
    metadata = state.get("metadata") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(metadata, dict):
        return dict(part)
    kept = {"metadata": metadata} if metadata.get("interrupted") is True else {}
    return {**part, "state": {k: v for k, v in state.items() if k != "metadata"} | kept}


def _text(value: Json, place: str, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise UnreadableFile(f"{place}, field {name!r}: must be a text")
    return value


def _recognise(records: Sequence[Json]) -> str:
    for record in objects(records):
        event = _event(record)
        if event is not None and str(event["type"]).startswith(EVENTS):
            return "records are events of OpenCode's sessions and messages"
        if "id" in fields(record.get("info")) and isinstance(record.get("messages", record.get("parts")), list):
            return "an object has info and messages, or parts, beside it"
        if opencode_rows.is_row(record):
            return "records are rows of OpenCode's table session_message"
        if isinstance(record.get("sessionID"), str) and ("role" in record or "messageID" in record):
            return "records name a session with sessionID"
    return ""


READER = Reader(SOURCE, _recognise, _conversations)
