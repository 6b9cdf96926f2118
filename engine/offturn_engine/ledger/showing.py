"""Showing: the ledger as text within a budget. What is selected where not all fit is the whole art of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.ranking import SEPARATOR, rank
from offturn_engine.ledger.superseding import Superseded, superseded
from offturn_engine.ledger.todos import LIST
from offturn_engine.tokens import estimate_text

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

STATED = frozenset({"constraint", "preference", "decision", "value", "next"})
"""Kinds whose text is a whole sentence."""

_HEADING: Mapping[FactKind, str] = {kind: f"### {heading}" for heading, kinds in HEADINGS.items() for kind in kinds}


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
    keep `PINNED` tokens whatever the budget. An identifier that stands in a line above has none of its own; the others
    share one line per family.
    """
    shown = [item for item in items if item.text != LIST]
    if not shown:
        return LedgerBlock("")
    told = superseded(shown)
    whole = _text(shown, 0, told.notes)
    if estimate_text(whole) <= budget:
        return LedgerBlock(whole, len(shown), 0)
    kept, notes = _chosen(shown, budget - estimate_text(_rest(len(shown))), told)
    return LedgerBlock(_text(kept, len(shown) - len(kept), notes), len(kept), len(shown) - len(kept))


def _chosen(
    items: Sequence[LedgerItem], room: int, told: Superseded
) -> tuple[list[LedgerItem], dict[tuple[str, str], str]]:
    """What is shown, and the notes that still fit beside it."""
    chosen: list[LedgerItem] = []
    headed: set[str] = set()
    spent = 0
    missed_constraint = False
    for item in sorted(items, key=lambda i: ((i.kind, i.key) in told.gone, rank(i))):
        pinned = item.kind == "constraint" and (item.kind, item.key) not in told.gone
        if missed_constraint and not pinned:
            break
        cost = estimate_text(_line(item, "") + "\n") + (
            0 if _HEADING[item.kind] in headed else estimate_text(_HEADING[item.kind] + "\n")
        )
        if spent + cost > (max(room, PINNED) if pinned else room):
            missed_constraint = missed_constraint or pinned
            continue
        spent += cost
        headed.add(_HEADING[item.kind])
        chosen.append(item)
    notes: dict[tuple[str, str], str] = {}
    for item in chosen:
        note = told.notes.get((item.kind, item.key), "")
        if note and spent + (cost := estimate_text(f" ({note})")) <= room:
            spent += cost
            notes[item.kind, item.key] = note
    return chosen, notes


def _text(items: Sequence[LedgerItem], left_out: int, notes: Mapping[tuple[str, str], str]) -> str:
    lines: list[str] = []
    for heading, kinds in HEADINGS.items():
        under = sorted((i for i in items if i.kind in kinds), key=lambda i: (i.seq, i.key))
        if "identifier" in kinds:
            told = _families(_alone(under, "\n".join(lines)))
        else:
            told = [_line(item, notes.get((item.kind, item.key), "")) for item in under]
        lines += [f"### {heading}", *told] if told else []
    return "\n".join([*lines, *([_rest(left_out)] if left_out else [])])


def _alone(identifiers: Sequence[LedgerItem], above: str) -> list[LedgerItem]:
    return [item for item in identifiers if item.key not in above]


def _families(identifiers: Sequence[LedgerItem]) -> list[str]:
    families: dict[str, list[str]] = {}
    for item in identifiers:
        families.setdefault(item.text, []).append(f"{item.key} [{handle(item.seq)}]")
    return [f"- {family}: {', '.join(named)}" for family, named in families.items()]


def _line(item: LedgerItem, note: str) -> str:
    if item.kind in STATED:
        return f"- [{handle(item.seq)}] {item.text}" + (f" ({note})" if note else "")
    times = f"{SEPARATOR}{item.count} times" if item.count > 1 else ""
    return f"- [{handle(item.seq)}] {item.key}: {item.text}{times}"


def _rest(count: int) -> str:
    return f"({count:,} more facts can be recalled)"
