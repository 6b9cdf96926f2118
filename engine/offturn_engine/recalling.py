"""What is given back of a log: the text behind a handle or a range, and answers to a model that asks for it, bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from offturn_engine.handles import handle, parse_handle, parse_ranges, text_behind
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.ranges import contains
from offturn_engine.search import LONGEST_QUERY, Hit, search

TOOL = "offturn_recall"
"""Name of the tool by which a model asks; its own calls and results are no news to it and are not found again."""

LONGEST_RANGE = 200_000  # characters of several messages at once
LEAST_ROOM, ROOM, MOST_ROOM = 1_000, 16_000, 1_000_000  # characters of one answer to a model
FOUND = 10  # places a search of a model names
HIT_SHARE = 0.75  # of an answer's room, for the text of the best place
USAGE = "Give a handle such as m181, or words to search for as query."


@dataclass(frozen=True, slots=True)
class Archive:
    """What can be given back: `log` by seq, the seqs that were redacted, and those the session shows or accounts for."""

    log: Sequence[Message]
    redacted: frozenset[int] = frozenset()
    path: frozenset[int] = frozenset()

    @property
    def shown(self) -> list[Message]:
        """The messages of the path, by seq."""
        return [message for message in self.log if message.seq in self.path]

    def found(self, text: str, *, limit: int, path_only: bool = False) -> list[Hit]:
        """The best places that hold a text; see `search`."""
        log = self.shown if path_only else self.log
        return search(log, text, limit=limit, skip=self.redacted, path=self.path, without=TOOL)


@dataclass(frozen=True, slots=True)
class NotThere:
    """Why a handle names nothing, in one line."""

    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model's call asks for. `problem`: why it cannot be told; `start`: the first character that is wanted."""

    handle: str = ""
    query: str = ""
    start: int = 0
    problem: str = ""


def recall(archive: Archive, name: str) -> str | NotThere:
    """The text behind a handle, or behind each of several messages of the path."""
    named, ranges = parse_handle(name), parse_ranges(name)
    if named is None and ranges is None:
        return NotThere(f"handle {name!r:.40}: write it like m12, m12.1 for one part, or m3-m40 for several messages")
    last = named[0] if named else ranges[-1][1] - 1 if ranges else 0
    if last >= len(archive.log):
        return NotThere(f"handle {name!r:.40}: the session has {len(archive.log)} messages, the first is m0")
    if named is None:
        return _several([m for m in archive.shown if contains(ranges or (), m.seq)], name)
    (seq, part), message = named, archive.log[named[0]]
    if part is not None and part >= len(message.parts):
        return NotThere(f"handle {name!r:.40}: message m{seq} has {len(message.parts)} parts, the first is m{seq}.0")
    return text_behind(message, part)


def answer(archive: Archive, asked: Asked, room: int) -> tuple[str, bool]:
    """What a model is told, in at most `room` characters and a line, and whether that is an error."""
    if asked.problem or not (asked.handle or asked.query):
        return asked.problem or USAGE, True
    if asked.handle:
        text = _by_handle(archive, asked.handle, asked.start, room)
        return (f"{text.why}. {USAGE}", True) if isinstance(text, NotThere) else (text, False)
    if len(asked.query) > LONGEST_QUERY:
        return f"A query of {len(asked.query)} characters: use at most {LONGEST_QUERY}.", True
    hits = archive.found(asked.query, limit=FOUND, path_only=True)
    if hits:
        return _found(archive, hits, room), False
    named = _by_handle(archive, asked.query, asked.start, room)
    return ("Nothing was found. Try fewer or other words." if isinstance(named, NotThere) else named), False


def _by_handle(archive: Archive, name: str, start: int, room: int) -> str | NotThere:
    named, text = parse_handle(name), recall(archive, name)
    if isinstance(text, NotThere):
        return text
    if named is not None and named[0] not in archive.path:
        return NotThere(f"handle {name!r:.40}: this message was taken back")
    if not text:
        return f"[{name} holds no text]"
    if start and start >= len(text):
        return f"[{name} has {len(text):,} characters]"
    return _cut(text, start, room, name)


def _found(archive: Archive, hits: Sequence[Hit], room: int) -> str:
    best, *others = hits
    seq, part = parse_handle(best.handle) or (best.seq, None)
    text = text_behind(archive.log[seq], part)
    size = int(room * HIT_SHARE) if others else room
    start = 0 if len(text) <= size else max(0, best.at - size // 4)
    lines = [_head(archive.log[seq], best.handle), _cut(text, start, size, best.handle)]
    if others:
        lines += ["", "Also found; ask by handle for one of them in full:"]
    left = room - sum(len(line) + 1 for line in lines)
    for hit in others:
        line = f"{hit.handle} ({hit.origin}): {hit.snippet}"
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def _head(message: Message, name: str) -> str:
    calls = ", ".join(part.name for part in message.parts if isinstance(part, ToolCallPart))
    return f"[{name}, {message.origin}{f', calls {calls}' if calls else ''}]"


def _cut(text: str, start: int, room: int, name: str) -> str:
    end = start + room
    before = f"[… {start:,} characters before this]\n" if start else ""
    more = len(text) - end
    after = f"\n[… {more:,} more characters: ask for handle {name} with start {end}]" if more > 0 else ""
    return f"{before}{text[start:end]}{after}"


def _several(messages: Iterable[Message], name: str) -> str:
    pieces: list[str] = []
    left = LONGEST_RANGE
    for message in messages:
        piece = f"{_head(message, handle(message.seq))}\n{text_behind(message)}"
        left -= len(piece)
        if left < 0 and pieces:
            pieces.append(f"[… from m{message.seq} on: {name} holds more than {LONGEST_RANGE:,} characters, ask apart]")
            break
        pieces.append(piece)
    return "\n\n".join(pieces)
