"""Phases: which stretches of a conversation are over, why each was there, and what its last run came to.

A phase ends where the host said so (`phase_done`). Where it never did, one ends before a human message that more work
follows, once no item of a to-do list is open any more. Found anew in the log each time, so that it makes no difference
in how many steps a log was compacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.compaction import LedgerItem, PhaseEnd
from offturn_engine.groups import Pairs, pair
from offturn_engine.ledger.collecting import command_key, outcome_of
from offturn_engine.ledger.joining import settled
from offturn_engine.ledger.ranking import INSPECTION
from offturn_engine.ledger.todos import LIST, OPEN, keeps_a_list, todos
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.results import failed, run_counts
from offturn_engine.side_effects import line_changes
from offturn_engine.tokens import estimate_text
from offturn_engine.tools import one_line

LONGEST_WHY = 160  # characters
NOD = 5  # tokens below which a request asks for nothing new: "yes", "go ahead"
MOST = 200  # ends that a record keeps: phases before them are one


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase that is over. start, end: its first and last seq; command: what was run last, and what it came to; told:
    the host said something of it, and that is `why`."""

    start: int
    end: int
    why: str
    command: str = ""
    outcome: str = ""
    told: bool = False


def phases(path: Sequence[Message], marks: Sequence[PhaseEnd] = ()) -> tuple[Phase, ...]:
    """The phases of this path that are over, oldest first. `marks`: the ends that the host told."""
    here = {message.seq for message in path}
    told = {mark.seq: mark.note.strip() for mark in marks if mark.seq in here}
    if not told and not any(keeps_a_list(call) for message in path for _, call in message.calls):
        return ()
    pairs = pair(path)
    ends = told or _listed(path, pairs)
    found: list[Phase] = []
    start, before = 0, -1
    for i, message in enumerate(path):
        if message.seq not in ends:
            continue
        # An amended message has the seq of a newer one: such a phase has no range of its own.
        if before < path[start].seq <= message.seq:
            command, outcome = _last_run(path, pairs, start, i)
            why = ends[message.seq] or next((m.text for m in path[start : i + 1] if _asks(m)), "")
            noted = bool(told.get(message.seq))
            found.append(Phase(path[start].seq, message.seq, one_line(why, LONGEST_WHY), command, outcome, told=noted))
        start, before = i + 1, max(before, message.seq)
    return tuple(found)


def ended(path: Sequence[Message], before: Sequence[PhaseEnd], told: Sequence[PhaseEnd]) -> tuple[PhaseEnd, ...]:
    """The ends that a generation tells of, and those told since: each at the last message that the path has up to there."""
    marks = {mark.seq: mark for mark in before}
    for mark in told:
        last = next((message.seq for message in reversed(path) if message.seq <= mark.seq), None)
        if last is not None:
            marks.pop(last, None)
            marks[last] = PhaseEnd(seq=last, note=one_line(mark.note, LONGEST_WHY))
    return tuple(marks.values())[-MOST:]


def _listed(path: Sequence[Message], pairs: Pairs) -> dict[int, str]:
    """Where a list with nothing open was left behind: the last seq before new work was asked for, and what the list was
    made for."""
    ends: dict[int, str] = {}
    known: tuple[LedgerItem, ...] = ()
    request, why = "", ""
    asked = -1  # index of a human message after a list with nothing open
    for i, message in enumerate(path):
        if _asks(message):
            new = asked < 0 and i > 0 and _done(known)
            asked = i if new else asked
            request = message.text if new or not request or estimate_text(message.text) >= NOD else request
        elif asked >= 0 and any(True for _ in message.calls):
            ends[path[asked - 1].seq] = why
            known, asked = (), -1
        for part, result in message.results:
            call, place = _call(path, pairs, i, part)
            if call and keeps_a_list(call) and not failed(result, call):
                why = why if known else request
                known = settled((*known, *todos(call, result, place, i)))
    return ends


def _asks(message: Message) -> bool:
    return message.origin == "human" and bool(message.text.strip())


def _done(known: Sequence[LedgerItem]) -> bool:
    items = [item for item in known if item.text != LIST]
    return any(item.text == "done" for item in items) and not any(item.text in OPEN for item in items)


def _last_run(path: Sequence[Message], pairs: Pairs, start: int, end: int) -> tuple[str, str]:
    """The last command with counts of a test run, else the last that did more than look and changed nothing outside."""
    other: tuple[str, str] = ("", "")
    for i in range(end, start - 1, -1):
        for part, result in reversed(list(path[i].results)):
            call, _ = _call(path, pairs, i, part)
            command = command_key(call) if call else ""
            if call is None or not command or command.split(" ", 1)[0] in INSPECTION:
                continue
            if run_counts(result.text):
                return command, outcome_of(call, result)
            if not other[0] and not line_changes(command):
                other = command, outcome_of(call, result)
    return other


def _call(path: Sequence[Message], pairs: Pairs, i: int, part: int) -> tuple[ToolCallPart | None, int]:
    place = pairs.call_of.get((i, part))
    call = path[place[0]].parts[place[1]] if place else None
    return (call, place[0]) if place and isinstance(call, ToolCallPart) else (None, -1)
