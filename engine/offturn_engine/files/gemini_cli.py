"""Reader of Gemini CLI sessions, as gemini contents: one JSON value, or lines of which a later one corrects earlier ones.

A message holds the calls of the model and their results; here they are a content each. An id that comes again takes the
place of the earlier record; `$set` and `$rewindTo` are corrections of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offturn_engine.files import gemini
from offturn_engine.files.conversation import Boundary, Conversation, Item, Notes, Said, UnreadableFile
from offturn_engine.files.reader import Reader, objects
from offturn_engine.files.source import Source
from offturn_engine.files.values import count, fields, listed, name
from offturn_engine.messages import Json, RawMessage

SOURCE = "gemini-cli"
TYPES = ("user", "gemini", "info", "error", "warning")
NUDGES = ("System: Please continue.",)
"""What the host says in the user's place so that its model goes on."""
SNAPSHOT = "<state_snapshot>"
"""What a summary of the host's own compaction holds."""


class _Session:
    """The messages of a session by their ids, with the compactions between them."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.title = ""
        self.found: dict[str, tuple[dict[str, Any], str] | Boundary] = {}

    def take(self, record: Json, place: str) -> None:
        """A message, a correction, or what the session says of itself. Raises UnreadableFile."""
        if not isinstance(record, dict):
            raise UnreadableFile(f"{place} is a {type(record).__name__}, not a record of a Gemini CLI session")
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif "type" in record:
            self._put(record, place)
        else:
            told = {**record, **fields(record.get("$set"))}
            self.title = str(told.get("summary") or told.get("sessionId") or self.title)
            if isinstance(told.get("messages"), list):
                self._replace(told["messages"], place)

    def _put(self, message: dict[str, Any], place: str) -> None:
        id_ = message.get("id")
        if isinstance(id_, str) and id_ in self.found:
            self.notes.count("records replaced by a later one of the same id")
        self.found[id_ if isinstance(id_, str) else place] = (message, place)

    def _rewind(self, id_: str) -> None:
        """The user went back to before this message; to before all of them where it is unknown."""
        ids = list(self.found)
        gone = ids[ids.index(id_) if id_ in self.found else 0 :]
        for gone_id in gone:
            del self.found[gone_id]
        self.notes.count("messages the user took back skipped", len(gone))

    def _replace(self, messages: Sequence[Json], place: str) -> None:
        """A new list: after a compaction of the host's it begins with its summary, and what was there stays."""
        first = fields(messages[0]) if messages else {}
        said = " ".join(str(part.get("text") or "") for part in objects(_parts(first.get("content"))))
        places = [f"{place}, message {i}" for i in range(len(messages))]
        if self.found and SNAPSHOT in said and first.get("id") not in self.found:
            kept = next(
                (m["id"] for m in objects(messages) if isinstance(m.get("id"), str) and m["id"] in self.found), ""
            )
            tokens = next((t for t in map(_tokens, reversed(self.found.values())) if t), 0)
            summary = Boundary(place=place, summary=said, kept_from=kept, tokens_before=tokens)
            self.found[f"{place}, compaction"] = summary
            messages, places = messages[2:], places[2:]  # the summary, and the model's word that it has read it
        else:
            self.notes.count("messages replaced by a later list", len(self.found))
            self.found.clear()
        for message, at in zip(messages, places, strict=True):
            if not isinstance(message, dict):
                raise UnreadableFile(f"{at} is a {type(message).__name__}, not a message")
            self._put(message, at)

    def items(self) -> list[Item]:
        """What was said, in order."""
        found: list[Item] = []
        for key, entry in self.found.items():
            if isinstance(entry, Boundary):
                found.append(entry)
            else:
                found += self._said(key, *entry)
        return found

    def _said(self, key: str, message: dict[str, Any], place: str) -> list[Said]:
        kind, parts = message.get("type"), _parts(message.get("content"))
        if kind == "user":
            nudged = parts in [[{"text": text}] for text in NUDGES]
            raw = {"role": "user", "parts": parts}
            return [Said(raw=raw, place=place, key=key, origin="host" if nudged else None)]
        if kind != "gemini":
            self.notes.count(f"messages of type {name(kind)} skipped")
            return []
        self.notes.count("summaries of reasoning skipped", len(listed(message.get("thoughts"))))
        calls, results = _calls(listed(message.get("toolCalls")))
        raw = {"role": "model", "parts": [*parts, *calls]}
        said = [Said(raw=raw, place=place, key=key, reported=count(fields(message.get("tokens")).get("input")))]
        return [*said, *([Said(raw={"role": "user", "parts": results}, place=place)] if results else [])]


def _calls(calls: Sequence[Json]) -> tuple[list[RawMessage], list[RawMessage]]:
    made: list[RawMessage] = []
    results: list[RawMessage] = []
    for call in objects(calls):
        made.append({"functionCall": {key: call[key] for key in ("id", "name", "args") if call.get(key) is not None}})
        results += _parts(call.get("result"))
    return made, results


def _parts(content: Json) -> list[RawMessage]:
    """The parts of a text, of a part, or of a list of either."""
    items = content if isinstance(content, list) else [content]
    return [{"text": item} if isinstance(item, str) else item for item in items if item not in ("", None)]


def _tokens(entry: tuple[dict[str, Any], str] | Boundary) -> int:
    return 0 if isinstance(entry, Boundary) else count(fields(entry[0].get("tokens")).get("input"))


def _conversations(source: Source) -> list[Conversation]:
    session = _Session(source.notes)
    for record, place in source.records(skip_broken=True):
        session.take(record, place)
    made = gemini.conversation(session.items(), title=session.title, system=None, source=SOURCE, notes=source.notes)
    return [made] if made.messages else []


def _recognise(records: Sequence[Json]) -> str:
    found = [*objects(records), *(m for record in objects(records) for m in objects(listed(record.get("messages"))))]
    if any("sessionId" in record and "projectHash" in record for record in found):
        return "a record names a session and its projectHash"
    return "messages are of type gemini" if any(_is_answer(record) for record in found) else ""


def _is_answer(record: Mapping[str, Any]) -> bool:
    return record.get("type") == "gemini" and "content" in record


READER = Reader(SOURCE, _recognise, _conversations)
