"""Ranking: which facts come first where not all fit: by kind and state, then the newest, then the most frequent."""

from __future__ import annotations

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.ledger.todos import LIST, OPEN

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

INSPECTION = frozenset(
    "ls cat head tail sed grep rg find pwd echo wc which file stat tree du df env cd nl less".split()
)
"""Commands that look without changing; where they succeed they are the first to be left out."""

_PASSED = ("exit 0", "ok")
_TIERS = {"constraint": 0, "call": 1, "next": 2, "preference": 3, "value": 3, "decision": 3, "identifier": 8}


def rank(item: LedgerItem) -> tuple[int, int, int, str]:
    """What sorts facts: the first to be shown first."""
    return (tier(item), -item.seq, -item.count, item.key)


def tier(item: LedgerItem) -> int:
    """How soon a fact is shown; 0 first."""
    if item.kind == "error":
        return 4 if item.text.startswith("seen") else 9
    if item.kind == "file":
        return 7 if item.text.split(" ", 1)[0] == "read" else 5
    if item.kind == "command":
        looks = item.key.split(" ", 1)[0] in INSPECTION and passes(item)
        return 9 if looks else 6
    if item.kind == "todo":
        return 0 if item.text == LIST else 2 if item.text in OPEN else 8
    return _TIERS[item.kind]


def passes(command: LedgerItem) -> bool:
    """Did the command succeed when it last ran?"""
    return command.text.split(SEPARATOR, 1)[0] in _PASSED
