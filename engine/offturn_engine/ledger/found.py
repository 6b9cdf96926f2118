"""A fact as it is found, before those of one name are joined."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from offturn_engine.compaction import FactKind, LedgerItem


class Fact(NamedTuple):
    """What a `LedgerItem` holds; `times` is its count. Most facts are joined away, and a tuple costs a tenth of a record."""

    kind: FactKind
    key: str
    text: str
    seq: int
    times: int = 1


Found: TypeAlias = Fact | LedgerItem


def times(fact: Found) -> int:
    """How often it was found."""
    return fact.times if isinstance(fact, Fact) else fact.count


def item(fact: Found) -> LedgerItem:
    """The fact as it is stored."""
    if not isinstance(fact, Fact):
        return fact
    return LedgerItem(kind=fact.kind, key=fact.key, text=fact.text, seq=fact.seq, count=fact.times)


def told(fact: Found, text: str) -> Fact:
    """The fact with another text."""
    return Fact(fact.kind, fact.key, text, fact.seq, times(fact))
