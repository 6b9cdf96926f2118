"""Showing: the ledger as text within a budget. What is selected where not all fit is the whole art of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.ranking import SEPARATOR, STATEMENT_TIERS, Name, name_of, ranked, tier
from offturn_engine.ledger.superseding import Superseded, superseded
from offturn_engine.ledger.todos import LIST
from offturn_engine.tokens import estimate_text
from offturn_engine.tools import one_line

HEADINGS: Mapping[str, tuple[FactKind, ...]] = {
    "Files": ("file",),
    "Commands": ("command",),
    "Errors": ("error",),
    "Constraints": ("constraint",),
    "Stated": ("preference", "value"),
    "Decisions": ("decision",),
    "Next": ("next",),
    "To do": ("todo",),
    "Identifiers": ("identifier",),
    "Open calls": ("call",),
}
"""Headings in the order they are shown, and the kinds under each."""

PINNED = 400
"""Tokens that constraints may take whatever the budget is: they give way to nothing (invariant 11)."""

SEEN = f"seen{SEPARATOR}"
EDGES = ".,;:!?()[]\"'`*\u3002\uff0c"

STATED = frozenset({"constraint", "preference", "decision", "value", "next"})
"""Kinds whose text is a whole sentence."""

_HEADING: Mapping[FactKind, str] = {kind: f"### {heading}" for heading, kinds in HEADINGS.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """The text for the view, how many facts it shows, and how many are left out, whose messages can be recalled."""

    text: str
    kept: int = 0
    recoverable: int = 0


def render(
    items: Sequence[LedgerItem],
    *,
    budget: int,
    used: AbstractSet[Name] = frozenset(),
    measure: Callable[[str], int] = estimate_text,
) -> LedgerBlock:
    """The items under fixed headings, one line each with its handle, within `budget` tokens as `measure` counts them.

    Where not all fit, `ranking` says which are shown first (`used`: those that what is still visible speaks of), and what a later statement replaced goes first of all. What
    is left out is counted in the last line, which the budget includes unless it is smaller than that line. Constraints
    keep `PINNED` tokens whatever the budget. What another line holds has none of its own: the error a command last ended
    with, an identifier in a sentence. The other identifiers share one line per family.
    """
    shown = [item for item in items if item.text != LIST]
    if not shown:
        return LedgerBlock("")
    told = superseded(shown)
    whole = _text(shown, 0, told.notes)
    if measure(whole) <= budget:
        return LedgerBlock(whole, len(shown), 0)
    kept, notes = _chosen(shown, budget - measure(_rest(len(shown))), told, used, measure)
    return LedgerBlock(_text(kept, len(shown) - len(kept), notes), len(kept), len(shown) - len(kept))


def _chosen(
    items: Sequence[LedgerItem],
    room: int,
    told: Superseded,
    used: AbstractSet[Name],
    measure: Callable[[str], int],
) -> tuple[list[LedgerItem], Mapping[Name, str]]:
    """What is shown, and the notes that still fit beside it."""
    inside = _inside(items)
    chosen: list[LedgerItem] = []
    notes: dict[Name, str] = {}
    headed: set[str] = set()
    spent = 0
    missed_constraint = noted = False
    for item in ranked(items, told.gone, used):
        name, heading = name_of(item), _HEADING[item.kind]
        pinned = item.kind == "constraint" and name not in told.gone
        if missed_constraint and not pinned:
            break
        if not noted and (name in told.gone or tier(item) >= STATEMENT_TIERS):
            noted = True
            notes, cost = _noted(chosen, told, room - spent, measure)
            spent += cost
        if name in inside:
            continue
        cost = measure(_spelled(item)) + (0 if heading in headed else measure(heading + "\n"))
        if spent + cost > (max(room, PINNED) if pinned else room):
            missed_constraint = missed_constraint or pinned
            continue
        spent += cost
        headed.add(heading)
        chosen.append(item)
    shown = {name_of(item) for item in chosen}
    return [*chosen, *(item for item in items if inside.get(name_of(item)) in shown)], notes


def _noted(
    chosen: Sequence[LedgerItem], told: Superseded, room: int, measure: Callable[[str], int]
) -> tuple[dict[Name, str], int]:
    """The notes that fit beside what is shown, and their cost: before what was done, after what was said."""
    notes: dict[Name, str] = {}
    spent = 0
    for item in chosen:
        note = told.notes.get(name_of(item), "")
        if note and spent + (cost := measure(f" ({note})")) <= room:
            spent += cost
            notes[name_of(item)] = note
    return notes, spent


def _inside(items: Sequence[LedgerItem]) -> dict[Name, Name]:
    """Facts that another fact's line holds too: the last error of a command, an identifier in a sentence."""
    commands = {item.key: item for item in items if item.kind == "command"}
    found: dict[Name, Name] = {}
    said: dict[str, Name] = {}
    for item in items:
        if item.kind in STATED:
            said.update((word.strip(EDGES), name_of(item)) for word in item.text.split())
        elif item.kind == "error" and item.text.startswith(SEEN):
            command = commands.get(item.text[len(SEEN) :])
            if command and command.text.endswith(one_line(item.key, 120)):
                found[name_of(item)] = name_of(command)
    for item in items:
        if item.kind == "identifier" and item.key in said:
            found[name_of(item)] = said[item.key]
    return found


def _text(items: Sequence[LedgerItem], left_out: int, notes: Mapping[Name, str]) -> str:
    inside = _inside(items)
    lines: list[str] = []
    for heading, kinds in HEADINGS.items():
        under = [i for i in items if i.kind in kinds and name_of(i) not in inside]
        under.sort(key=lambda i: (i.seq, i.key))
        told = _families(under) if "identifier" in kinds else [_line(i, notes.get(name_of(i), "")) for i in under]
        lines += [f"### {heading}", *told] if told else []
    return "\n".join([*lines, *([_rest(left_out)] if left_out else [])])


def _families(identifiers: Sequence[LedgerItem]) -> list[str]:
    families: dict[str, list[str]] = {}
    for item in identifiers:
        families.setdefault(item.text, []).append(f"{item.key} [{handle(item.seq)}]")
    return [f"- {family}: {', '.join(named)}" for family, named in families.items()]


def _spelled(item: LedgerItem) -> str:
    """What it adds to the text."""
    return f"{item.key} [{handle(item.seq)}], " if item.kind == "identifier" else _line(item, "") + "\n"


def _line(item: LedgerItem, note: str) -> str:
    if item.kind in STATED:
        return f"- [{handle(item.seq)}] {item.text}" + (f" ({note})" if note else "")
    times = f"{SEPARATOR}{item.count} times" if item.count > 1 else ""
    return f"- [{handle(item.seq)}] {item.key}: {item.text}{times}"


def _rest(count: int) -> str:
    return f"({count:,} more facts can be recalled)"
