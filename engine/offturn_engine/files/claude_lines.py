"""Which lines of a Claude Code session make which messages of which conversation, told without keeping what they say.

A session is a tree: each line names the one before it. What is live is the branch that ends in the newest message. An
API message stands on several lines, one for each block, and only the last of them has the branch going on; a resumed
session copies the branch under new names and leaves calls out that ran in parallel. So a live message is all lines that
bear its id, and its results are those that name its calls, on whatever branch they stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from offturn_engine.files.conversation import Notes
from offturn_engine.files.source import Record
from offturn_engine.files.values import fields, listed, text
from offturn_engine.files.values import name as named
from offturn_engine.messages import Json

Slot: TypeAlias = tuple[int, ...]
"""Numbers of the lines that make one message, or mark one compaction."""

CONTENT = ("user", "assistant", "queued")
CONTINUED = "This session is being continued from a previous conversation that ran out of context"
"""How the summary begins that a new session of an older host starts with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is kept of a line to find its place. parent: "" where a conversation begins."""

    number: int
    uuid: str
    parent: str
    kind: str  # user, assistant, queued, boundary, other
    message: str  # id of the API message of an assistant's line
    names: tuple[str, ...]  # of calls, of an assistant's line; of the calls a user's line answers


@dataclass(slots=True)
class Thread:
    """The lines of the main conversation, or of one agent's beside it."""

    name: str
    lines: dict[str, Line] = field(default_factory=dict)
    is_tree: bool = False


def record_of(value: dict[str, Json]) -> dict[str, Json]:
    """A line as a message record: what an agent says may be wrapped into a report of its progress."""
    data = fields(value.get("data"))
    inner = data.get("message")
    if value.get("type") == "progress" and data.get("type") == "agent_progress" and isinstance(inner, dict):
        return {**inner, "isSidechain": True, "agentId": data.get("agentId")}
    return value


def is_summary(record: dict[str, Any]) -> bool:
    """Is a message record the summary of a compaction?"""
    content = fields(record.get("message")).get("content")
    return bool(record.get("isCompactSummary")) or text(content).startswith(CONTINUED)


def threads(records: Iterable[Record], notes: Notes) -> list[Thread]:
    """The main conversation first, then those of agents in order of appearance."""
    found: dict[str, Thread] = {"": Thread("")}
    side_of: dict[str, str] = {}
    for number, (value, _) in enumerate(records):
        if not isinstance(value, dict):
            notes.count("lines that are no objects skipped")
            continue
        record = record_of(value)
        kind = _kind(record)
        uuid = text(record.get("uuid")) or (f"line {number}" if kind in CONTENT else "")
        if kind == "other":
            notes.count(f"{_told(record)} skipped")
        if uuid:
            name = _side(record, side_of)
            side_of[uuid] = name
            _add(found.setdefault(name, Thread(name)), number, uuid, kind, record, notes)
    return [thread for thread in found.values() if thread.lines]


def slots(thread: Thread, notes: Notes) -> list[Slot]:
    """The messages of the live branch in order, each once."""
    lines = sorted(thread.lines.values(), key=lambda line: line.number) if not thread.is_tree else _branch(thread)
    groups: dict[str, list[Line]] = defaultdict(list)
    answers: dict[str, list[Line]] = defaultdict(list)
    for line in sorted(thread.lines.values(), key=lambda line: line.number):
        if line.message:
            groups[line.message].append(line)
        elif line.kind == "user":
            for name in line.names:
                answers[name].append(line)
    made = list(_made(lines, groups, answers))
    used = {number for slot in made for number in slot}
    left = sum(line.kind in CONTENT and line.number not in used for line in thread.lines.values())
    notes.count("lines of abandoned branches and repeated ones skipped", left)
    return made


def _made(lines: Sequence[Line], groups: Mapping[str, list[Line]], answers: Mapping[str, list[Line]]) -> Iterator[Slot]:
    answered = {name for line in lines if line.kind == "user" for name in line.names}
    said: set[str] = set()
    for line in lines:
        if not line.message:
            if line.kind != "other":
                yield (line.number,)
            continue
        if line.message in said:
            continue
        said.add(line.message)
        group = groups[line.message]
        yield tuple(one.number for one in group)
        for name in dict.fromkeys(name for one in group for name in one.names):
            if name not in answered and answers[name]:
                answered.update(answers[name][0].names)
                yield (answers[name][0].number,)


def _branch(thread: Thread) -> list[Line]:
    """From the beginning to the newest message."""
    branch: list[Line] = []
    at = next((uuid for uuid, line in reversed(thread.lines.items()) if line.kind in CONTENT), "")
    seen = set()
    while at in thread.lines and at not in seen:
        seen.add(at)
        branch.append(thread.lines[at])
        at = thread.lines[at].parent
    return branch[::-1]


def _add(thread: Thread, number: int, uuid: str, kind: str, record: dict[str, Any], notes: Notes) -> None:
    """A line that bears the name of an earlier one takes its place."""
    named = record.get("parentUuid") or record.get("logicalParentUuid")
    thread.is_tree |= text(named) in thread.lines
    before = next(reversed(thread.lines), "")
    begins = named is None and "parentUuid" in record and kind != "boundary" and not is_summary(record)
    parent = text(named) if text(named) in thread.lines else "" if begins else before
    if uuid in thread.lines:
        notes.count("lines written again under the same name")
        parent = thread.lines[uuid].parent
    message = fields(record.get("message"))
    call = "id" if kind == "assistant" else "tool_use_id"
    names = (text(fields(block).get(call)) for block in listed(message.get("content")))
    thread.lines[uuid] = Line(
        number=number,
        uuid=uuid,
        parent=parent,
        kind=kind,
        message=text(message.get("id")) if kind == "assistant" else "",
        names=tuple(filter(None, names)),
    )


def _kind(record: dict[str, Any]) -> str:
    kind = record.get("type")
    if kind in ("user", "assistant") and fields(record.get("message")).get("content") is not None:
        is_shown = record.get("isCompactSummary") or not record.get("isVisibleInTranscriptOnly")
        return str(kind) if is_shown and not record.get("isApiErrorMessage") else "other"
    if kind == "attachment" and fields(record.get("attachment")).get("type") == "queued_command":
        return "queued"
    return "boundary" if kind == "system" and record.get("subtype") == "compact_boundary" else "other"


def _told(record: dict[str, Any]) -> str:
    """What a line is that is no message, in words that hold no content."""
    kind = text(record.get("type"))
    if kind in CONTENT:
        return "lines of API errors" if record.get("isApiErrorMessage") else f"{kind} lines that are no message"
    return f"{named(kind)} lines"


def _side(record: dict[str, Any], side_of: Mapping[str, str]) -> str:
    if not record.get("isSidechain"):
        return ""
    parent = text(record.get("parentUuid"))
    return text(record.get("agentId")) or side_of.get(parent, "") or f"side {text(record.get('uuid'))[:8]}"
