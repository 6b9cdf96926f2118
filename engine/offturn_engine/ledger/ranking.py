"""Ranking: which facts come first where not all fit: by kind and state, then the newest, then the most frequent."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from offturn_engine.compaction import FactKind, LedgerItem
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


def name_of(item: LedgerItem) -> Name:
    """What identifies a fact."""
    return item.kind, item.key


def rank(item: LedgerItem) -> tuple[int, int, int, str]:
    """What sorts facts: the first to be shown first."""
    return (tier(item), -item.seq, -item.count, item.key)


def ranked(items: Sequence[LedgerItem], gone: AbstractSet[Name], used: AbstractSet[Name]) -> list[LedgerItem]:
    """All facts, the first to be shown first; last of all those that no longer hold.

    Within a tier what is used where the conversation stands comes first. Of statements the newest `NEWEST` are taken
    together, then the next, and of each such lot the shorter first: so that the most of them find room.
    """
    by_age = sorted((i for i in items if tier(i) < STATEMENT_TIERS), key=lambda i: -i.seq)
    lot = {name_of(item): place // NEWEST for place, item in enumerate(by_age)}

    def place(item: LedgerItem) -> tuple[bool, int, bool, int, int, tuple[int, int, int, str]]:
        name = name_of(item)
        size = len(item.text) if name in lot else 0
        return (name in gone, tier(item), name not in used, lot.get(name, 0), size, rank(item))

    return sorted(items, key=place)


def tier(item: LedgerItem) -> int:
    """How soon a fact is shown; 0 first."""
    if item.kind == "error":
        return 4 if item.text.startswith("seen") else 6
    if item.kind == "file":
        return 8 if item.text.split(" ", 1)[0] == "read" else 5
    if item.kind == "command":
        looks = item.key.split(" ", 1)[0] in INSPECTION
        return 4 if not passes(item) else 9 if looks else 7
    if item.kind == "todo":
        return 2 if item.text in OPEN else 8
    return _TIERS[item.kind]


def passes(command: LedgerItem) -> bool:
    """Did the command succeed when it last ran?"""
    return command.text.split(SEPARATOR, 1)[0] in _PASSED
