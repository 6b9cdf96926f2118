"""Showing: the ledger as text within a budget. What is selected where not all fit is the whole art of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.folding import Fold, folds
from offturn_engine.ledger.phases import Phase
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

OVER = "### Finished phases"
"""Heading of the lines that finished phases have shrunk to, before all others."""

DETAIL = 7
"""Tiers from here on hold what was done on the way; the lines of finished phases come before it."""

PINNED = 400
"""Tokens that constraints may take whatever the budget is: they give way to nothing (invariant 11)."""

SEEN = f"seen{SEPARATOR}"
EDGES = ".,;:!?()[]\"'`*\u3002\uff0c"

STATED = frozenset({"constraint", "preference", "decision", "value", "next"})
"""Kinds whose text is a whole sentence."""

NOTHING_QUOTED: Mapping[int, str] = {}

_HEADING: Mapping[FactKind, str] = {kind: f"### {heading}" for heading, kinds in HEADINGS.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """The text for the view, how many facts it or a quotation shows, and how many are left out, whose messages can be recalled."""

    text: str
    kept: int = 0
    recoverable: int = 0


def render(
    items: Sequence[LedgerItem],
    *,
    budget: int,
    folded: Sequence[Fold] = (),
    used: Callable[[], AbstractSet[Name]] = frozenset,
    quoted: Mapping[int, str] = NOTHING_QUOTED,
    measure: Callable[[str], int] = estimate_text,
) -> LedgerBlock:
    """The items under fixed headings, one line each with its handle, within `budget` tokens as `measure` counts them.

    Where not all fit, what stands word for word in a human message that the view quotes (`quoted`, by seq) is not said
    twice and leaves its room, if there is any, to what stands nowhere else; of the rest `ranking` says which are shown first (`used`:
    those that what is still visible speaks of), and what a later statement replaced goes first of all. What is left out is counted in the last line, which the budget includes unless it is smaller than that line. Constraints
    keep `PINNED` tokens whatever the budget. What another line holds has none of its own: the error a command last ended
    with, an identifier in a sentence, and what is in the line of a finished phase (`folded`). The other identifiers share
    one line per family.
    """
    shown = [item for item in items if item.text != LIST]
    if not shown:
        return LedgerBlock("")
    if not budget and all(item.kind != "constraint" for item in shown):
        return LedgerBlock(_rest(len(shown)), 0, len(shown))
    told = superseded(shown)
    if budget:
        gone = frozenset(name for fold in folded for name in fold.gone)
        whole = _text([i for i in shown if name_of(i) not in gone], folded, len(gone), told.notes)
        if measure(whole) <= budget:
            return LedgerBlock(whole, len(shown) - len(gone), len(gone))
        # The lines of phases and of what is left out may need more room than what folds: then nothing does.
        if folded and measure(plain := _text(shown, (), 0, told.notes)) <= budget:
            return LedgerBlock(plain, len(shown), 0)
    once, told = _said_once(shown, quoted, told) if budget else (shown, told)
    wanted = used() if budget else frozenset[Name]()  # no constraint is among them, and nothing else is shown
    kept, lines, notes = _chosen(once, budget - measure(_rest(len(once))), told, folded, wanted, measure)
    left_out = len(once) - len(kept)
    return LedgerBlock(_text(kept, lines, left_out, notes), len(shown) - left_out, left_out)


def fold(
    items: Sequence[LedgerItem],
    over: Sequence[Phase],
    *,
    used: AbstractSet[Name] = frozenset(),
    measure: Callable[[str], int] = estimate_text,
) -> tuple[Fold, ...]:
    """What `render` shows of phases that are `over`. Apart from it, because it is the same for every budget."""
    return folds(items, over, used, _spelled, measure)


def _chosen(
    items: Sequence[LedgerItem],
    room: int,
    told: Superseded,
    folded: Sequence[Fold],
    used: AbstractSet[Name],
    measure: Callable[[str], int],
) -> tuple[list[LedgerItem], Sequence[Fold], Mapping[Name, str]]:
    """What is shown, the phases that have a line, and the notes that still fit beside it."""
    inside = _inside(items)
    chosen: dict[Name, LedgerItem] = {}
    notes: dict[Name, str] = {}
    lines: list[Fold] = []
    headed: set[str] = set()
    spent = 0
    missed_constraint = noted = lined = False
    last = told.gone | {name for fold in folded for name in fold.gone}
    for item in ranked(items, last, used):
        name, heading = name_of(item), _HEADING[item.kind]
        pinned = item.kind == "constraint" and name not in told.gone
        if missed_constraint and not pinned:
            break
        if not noted and (name in last or tier(item) >= STATEMENT_TIERS):
            noted = True
            notes, cost = _noted(chosen.values(), told, room - spent, measure)
            spent += cost
        if not lined and (name in last or tier(item) >= DETAIL):
            lined = True
            lines, cost = _lined(chosen, folded, room - spent, measure)
            spent += cost
        if name in inside or any(name in fold.inside or name in fold.gone for fold in lines):
            continue
        cost = measure(_spelled(item)) + (0 if heading in headed else measure(heading + "\n"))
        if spent + cost > (max(room, PINNED) if pinned else room):
            missed_constraint = missed_constraint or pinned
            continue
        spent += cost
        headed.add(heading)
        chosen[name] = item
    told_by = {name for fold in lines for name in fold.inside}
    also = (i for i in items if name_of(i) in told_by or inside.get(name_of(i)) in chosen)
    return [*chosen.values(), *also], lines, notes


def _lined(
    chosen: dict[Name, LedgerItem], folded: Sequence[Fold], room: int, measure: Callable[[str], int]
) -> tuple[list[Fold], int]:
    """The newest phases whose lines fit, and what these cost; what they tell loses the line it had by itself."""
    lines: list[Fold] = []
    spent = 0
    for fold in reversed(folded):
        freed = sum(measure(_spelled(chosen[name])) for name in fold.inside if name in chosen)
        cost = measure(fold.line + "\n") + (0 if lines else measure(OVER + "\n")) - freed
        if spent + cost <= room:
            spent += cost
            lines.insert(0, fold)
            for name in fold.inside:
                chosen.pop(name, None)
    return lines, spent


def _noted(
    chosen: Iterable[LedgerItem], told: Superseded, room: int, measure: Callable[[str], int]
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


def _said_once(
    items: Sequence[LedgerItem], quoted: Mapping[int, str], told: Superseded
) -> tuple[list[LedgerItem], Superseded]:
    """The facts without the statements that their own message, quoted beside the ledger, says in the same words.

    Identifiers in these go with them. Of a value that replaced another only that stays: its message does not tell it.
    """
    words = {seq: " ".join(text.split()) for seq, text in quoted.items()}
    said = {
        name_of(item)
        for item in items
        if item.kind in STATED
        and name_of(item) not in told.gone
        and not (item.kind == "constraint" and name_of(item) in told.notes)
        and " ".join(item.text.split()) in words.get(item.seq, "")
    }
    noted = {name: note for name, note in told.notes.items() if name in said}
    without = said.union(name for name, sentence in _inside(items).items() if sentence in said)
    once = [
        item.model_copy(update={"text": noted[name_of(item)]}) if name_of(item) in noted else item
        for item in items
        if name_of(item) in noted or name_of(item) not in without
    ]
    notes = {name: note for name, note in told.notes.items() if name not in noted}
    return once, replace(told, notes=notes)


def _inside(items: Sequence[LedgerItem]) -> dict[Name, Name]:
    """Facts that another fact's line holds too: the last error of a command, an identifier in a sentence."""
    commands = {item.key: item for item in items if item.kind == "command"}
    identifiers = {item.key for item in items if item.kind == "identifier"}
    found: dict[Name, Name] = {}
    said: dict[str, Name] = {}
    for item in items:
        if item.kind in STATED:
            if identifiers:
                words = {word.strip(EDGES) for word in item.text.split()}
                said.update(dict.fromkeys(identifiers & words, name_of(item)))
        elif item.kind == "error" and item.text.startswith(SEEN):
            command = commands.get(item.text[len(SEEN) :])
            if command and command.text.endswith(one_line(item.key, 120)):
                found[name_of(item)] = name_of(command)
    for item in items:
        if item.kind == "identifier" and item.key in said:
            found[name_of(item)] = said[item.key]
    return found


def _text(items: Sequence[LedgerItem], folded: Sequence[Fold], left_out: int, notes: Mapping[Name, str]) -> str:
    inside = {*_inside(items), *(name for fold in folded for name in fold.inside)}
    lines = [OVER, *(fold.line for fold in folded)] if folded else []
    headed: dict[str, list[LedgerItem]] = {heading: [] for heading in _HEADING.values()}
    for item in items:
        if name_of(item) not in inside:
            headed[_HEADING[item.kind]].append(item)
    for heading, under in headed.items():
        under.sort(key=lambda i: (i.seq, i.key))
        named = heading == _HEADING["identifier"]
        told = _families(under) if named else [_line(i, notes.get(name_of(i), "") if notes else "") for i in under]
        lines += [heading, *told] if told else []
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
