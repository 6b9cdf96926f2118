"""Pins: messages a host has marked (`Message.pinned`) to stay in every later view, word for word.

A pinned message is never covered or edited, and its tool group stays with it. One that was covered before it was pinned
is shown again right after the summary, from the next generation on. Where all else has given way and a view still does
not fit, pins give way too, the oldest first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from offturn_engine.compaction import ViewRecord
from offturn_engine.formats.base import Format
from offturn_engine.groups import spans
from offturn_engine.handles import handle, text_behind
from offturn_engine.messages import Message, RawMessage
from offturn_engine.path import Path
from offturn_engine.ranges import Ranges, contains

SHARE = 0.5  # of a policy's target, for all pinned messages together
GAVE_WAY = "pins"
"""The concession that counts pinned messages a view had no room for."""


def pinned(path: Sequence[Message]) -> Sequence[int]:
    """Indices of the pinned messages."""
    return Path.of(path).once(_pinned)


def _pinned(path: Path) -> list[int]:
    return [i for i, message in enumerate(path) if message.pinned]


def pinned_seqs(path: Sequence[Message]) -> set[int]:
    """Seqs of the pinned messages."""
    return {path[i].seq for i in pinned(path)}


def held(path: Sequence[Message], units: Sequence[tuple[int, int]]) -> set[int]:
    """Indices of the pinned messages and of what may not be cut from them: the units that hold one."""
    return {i for low, high in units if any(m.pinned for m in path[low:high]) for i in range(low, high)}


def again(path: Sequence[Message], covered: Ranges) -> tuple[int, ...]:
    """Seqs of pinned messages that are covered, in the order of the path."""
    return tuple(path[i].seq for i in pinned(path) if contains(covered, path[i].seq))


def missing(path: Sequence[Message], record: ViewRecord) -> tuple[int, ...]:
    """Seqs of the pinned messages that a generation's view does not show as they are."""
    edited = {edit.seq for edit in record.edits}
    seqs = (path[i].seq for i in pinned(path))
    return tuple(seq for seq in seqs if seq in edited or (contains(record.covered, seq) and seq not in record.pinned))


def shown(message: Message, fmt: Format) -> tuple[RawMessage, bool]:
    """What shows a covered message again, and whether that is the very message: a text of the user's role is."""
    if message.role == "user" and not message.results:
        return message.raw, True
    return fmt.user(f"[{handle(message.seq)}, pinned, {message.origin}]\n{text_behind(message)}"), False


def marked(path: Sequence[Message], seqs: Collection[int]) -> list[Message]:
    """The path with exactly these messages pinned."""
    return [m if m.pinned == (m.seq in seqs) else replace(m, pinned=m.seq in seqs) for m in path]


def size(path: Sequence[Message], seqs: Collection[int]) -> int:
    """Tokens that pinning these messages keeps in a view: theirs, and those of their tool groups."""
    path = Path(marked(path, seqs))
    return sum(path[i].tokens for i in held(path, spans(path)))
