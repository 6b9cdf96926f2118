"""Showing: the ledger as text within a budget. What is selected where not all fit is the whole art of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.ranking import SEPARATOR, rank
from offturn_engine.ledger.superseding import Superseded, superseded
from offturn_engine.ledger.todos import LIST
from offturn_engine.tokens import estimate_text

HEADINGS: dict[FactKind, str] = {
    "file": "Files",
    "command": "Commands",
    "error": "Errors",
    "constraint": "Constraints",
    "preference": "Preferences",
    "decision": "Decisions",
    "value": "Values",
    "next": "Next",
    "todo": "To do",
    "identifier": "Identifiers",
    "call": "Open calls",
}
"""Heading of each kind, in the order they are shown."""

PINNED = 400
"""Tokens that constraints may take whatever the budget is: they give way to nothing (invariant 11)."""

STATED = frozenset({"constraint", "preference", "decision", "value", "next"})
"""Kinds whose text is a whole sentence."""


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """The text for the view, how many facts it shows, and how many are left out, whose messages can be recalled."""

    text: str
    kept: int = 0
    recoverable: int = 0


def render(items: Sequence[LedgerItem], *, budget: int) -> LedgerBlock:
    """The items under fixed headings, one line each with its handle, within `budget` tokens (estimated).

    Where not all fit, `ranking` says which are shown first, and what a later statement replaced goes first of all. What
    is left out is counted in the last line, which the budget includes unless it is smaller than that line. Constraints
    keep `PINNED` tokens whatever the budget.
    """
    shown = [item for item in items if item.text != LIST]
    if not shown:
        return LedgerBlock("")
    told = superseded(shown)
    whole = _text(shown, 0, told)
    if estimate_text(whole) <= budget:
        return LedgerBlock(whole, len(shown), 0)
    kept = _chosen(shown, budget - estimate_text(_rest(len(shown))), told)
    return LedgerBlock(_text(kept, len(shown) - len(kept), told), len(kept), len(shown) - len(kept))


def _chosen(items: Sequence[LedgerItem], room: int, told: Superseded) -> list[LedgerItem]:
    chosen: list[LedgerItem] = []
    headed: set[str] = set()
    spent = 0
    missed_constraint = False
    for item in sorted(items, key=lambda i: ((i.kind, i.key) in told.gone, rank(i))):
        pinned = item.kind == "constraint" and (item.kind, item.key) not in told.gone
        if missed_constraint and not pinned:
            break
        cost = estimate_text(_line(item, told) + "\n") + (
            0 if item.kind in headed else estimate_text(_heading(item.kind) + "\n")
        )
        if spent + cost > (max(room, PINNED) if pinned else room):
            missed_constraint = missed_constraint or pinned
            continue
        spent += cost
        headed.add(item.kind)
        chosen.append(item)
    return chosen


def _text(items: Sequence[LedgerItem], left_out: int, told: Superseded) -> str:
    lines: list[str] = []
    for kind in HEADINGS:
        of_kind = sorted((i for i in items if i.kind == kind), key=lambda i: (i.seq, i.key))
        if of_kind:
            lines += [_heading(kind), *(_line(item, told) for item in of_kind)]
    return "\n".join([*lines, *([_rest(left_out)] if left_out else [])])


def _heading(kind: FactKind) -> str:
    return f"### {HEADINGS[kind]}"


def _line(item: LedgerItem, told: Superseded) -> str:
    times = f"{SEPARATOR}{item.count} times" if item.count > 1 else ""
    note = told.notes.get((item.kind, item.key), "")
    times += f" ({note})" if note else ""
    if item.kind in STATED:
        return f"- [{handle(item.seq)}] {item.text}{times}"
    return f"- [{handle(item.seq)}] {item.key}: {item.text}{times}"


def _rest(count: int) -> str:
    return f"({count:,} more facts are not shown; the messages that hold them can be recalled)"
