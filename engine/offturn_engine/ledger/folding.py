"""Folding: what a finished phase shrinks to. One line: why it was there, the files it changed as they are now, the errors
it solved, its last run.

What mattered only while it ran has no line any more: files that were read, commands that passed and changed nothing
outside, errors that are gone, to-do items that are done. It stays in the record, and its messages can be recalled.
Nothing that was stated, is open or has failed folds, and nothing that the visible messages speak of.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from offturn_engine.compaction import LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.phases import Phase
from offturn_engine.ledger.ranking import SEPARATOR, Name, name_of, passes
from offturn_engine.side_effects import line_changes
from offturn_engine.tools import one_line

MOST_FILES = 12
"""Files that the line of a phase names, the last ones changed; the others keep lines of their own."""

MOST_ERRORS = 6
"""Solved errors that it names, the last ones: nobody should make them again."""

LONGEST_ERROR = 120  # characters of an error that is named
LONGEST_RUN = 160  # characters of a command and of its outcome


@dataclass(frozen=True, slots=True)
class Fold:
    """A finished phase. line: what stands for it; inside: the facts that the line tells; gone: those it does not."""

    line: str
    inside: frozenset[Name]
    gone: frozenset[Name]


def folds(
    items: Sequence[LedgerItem],
    over: Sequence[Phase],
    used: AbstractSet[Name],
    spelled: Callable[[LedgerItem], str],
    measure: Callable[[str], int],
) -> tuple[Fold, ...]:
    """One per phase of which the host said something, or whose line takes less room than those it stands for; oldest first.

    spelled: the line that a fact has by itself; used: facts that the visible messages speak of.
    """
    found: list[Fold] = []
    for phase, within in zip(over, _within(items, over), strict=True):
        passing = [item for item in within if name_of(item) not in used and transient(item)]
        changed = [item for item in within if item.kind == "file" and not transient(item)]
        fold = _fold(phase, passing, changed[-MOST_FILES:])
        alone = sum(measure(spelled(i)) for i in within if name_of(i) in fold.gone | fold.inside)
        if phase.told or measure(fold.line + "\n") < alone:
            found.append(fold)
    return tuple(found)


def transient(item: LedgerItem) -> bool:
    """Does it matter only while its phase runs?"""
    match item.kind:
        case "file":
            return item.text.split(" ", 1)[0] == "read"
        case "command":
            return passes(item) and not line_changes(item.key)
        case "error":
            return item.text.split(SEPARATOR, 1)[0] == "gone"
        case "todo":
            return item.text in ("done", "dropped")
    return False


def _within(items: Sequence[LedgerItem], over: Sequence[Phase]) -> Iterator[Sequence[LedgerItem]]:
    """The facts last seen in each phase."""
    placed = sorted(items, key=lambda item: (item.seq, item.key))
    seqs = [item.seq for item in placed]
    for phase in over:
        yield placed[bisect_left(seqs, phase.start) : bisect_right(seqs, phase.end)]


def _fold(phase: Phase, passing: Sequence[LedgerItem], changed: Sequence[LedgerItem]) -> Fold:
    ran = f"{one_line(phase.command, LONGEST_RUN)}: {one_line(phase.outcome, LONGEST_RUN)}" if phase.command else ""
    errors = [item for item in passing if item.kind == "error" and len(item.key) <= LONGEST_ERROR]
    solved = [f"{item.key} [{handle(item.seq)}]" for item in errors[-MOST_ERRORS:]]
    files = [f"{item.key}: {item.text} [{handle(item.seq)}]" for item in changed]
    parts = (
        phase.why or "a phase",
        ", ".join(files),
        f"solved {', '.join(solved)}" if solved else "",
        f"last run {ran}" if ran else "",
    )
    line = f"- [{handle(phase.start)} to {handle(phase.end)}] {SEPARATOR.join(part for part in parts if part)}"
    last_run = [i for i in passing if (i.kind, i.key, i.text) == ("command", phase.command, phase.outcome)]
    inside = frozenset(name_of(item) for item in (*last_run, *errors[-MOST_ERRORS:], *changed))
    return Fold(line, inside, frozenset(name_of(item) for item in passing) - inside)
