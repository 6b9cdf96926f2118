"""Ranking: which facts come first where not all fit: by kind and state, then the newest, then the most frequent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.ledger.found import Found
from offturn_engine.ledger.todos import OPEN

KINDS: tuple[FactKind, ...] = (
    "file",
    "command",
    "error",
    "constraint",
    "preference",
    "decision",
    "next",
    "value",
    "todo",
    "identifier",
    "call",
)

PLACE: Mapping[FactKind, int] = {kind: place for place, kind in enumerate(KINDS)}
SEPARATOR = " · "
NEWEST = 20

Name = tuple[str, str]

LOOKING = "ls cat head tail sed grep rg find pwd echo wc which file stat tree du df env cd nl less"
"""Commands that look without changing; where they succeed they are the first to be left out."""

INSPECTION = frozenset(LOOKING.split())

_PASSED = ("exit 0", "ok")
STATEMENT_TIERS = 4
"""Tiers below this hold what people and the agent stated, and what is open."""

_TIERS = {"constraint": 0, "call": 1, "next": 2, "preference": 3, "value": 3, "decision": 3, "identifier": 6}


def name_of(item: Found) -> Name:
    """What identifies a fact."""
    return item.kind, item.key


def ranked(items: Sequence[LedgerItem], gone: AbstractSet[Name], used: AbstractSet[Name]) -> list[LedgerItem]:
    """All facts, the first to be shown first; last of all those that no longer hold.

    Within a tier what is used where the conversation stands comes first. Of statements the newest `NEWEST` are taken
    together, then the next, and of each such lot the shorter first: so that the most of them find room.
    """
    tiers = [tier(item) for item in items]
    statements = [at for at, found in enumerate(tiers) if found < STATEMENT_TIERS]
    by_age = sorted(statements, key=lambda at: -items[at].seq)
    lots = {at: place // NEWEST for place, at in enumerate(by_age)}

    def place(at: int) -> tuple[bool, int, bool, int, int, int, int, str]:
        item = items[at]
        name = name_of(item)
        lot = lots.get(at)
        size = 0 if lot is None else len(item.text)
        return (name in gone, tiers[at], name not in used, lot or 0, size, -item.seq, -item.count, item.key)

    return [items[at] for at in sorted(range(len(items)), key=place)]


def tier(item: LedgerItem) -> int:
    """How soon a fact is shown; 0 first."""
    if item.kind == "error":
        return 4 if item.text.startswith("seen") else 6
    if item.kind == "file":
        return 8 if item.text == "read" or item.text.startswith("read ") else 5
    if item.kind == "command":
        looks = item.key.split(" ", 1)[0] in INSPECTION
        return 4 if not passes(item) else 9 if looks else 7
    if item.kind == "todo":
        return 2 if item.text in OPEN else 8
    return _TIERS[item.kind]


def passes(command: Found) -> bool:
    """Did the command succeed when it last ran?"""
    return command.text.split(SEPARATOR, 1)[0] in _PASSED
