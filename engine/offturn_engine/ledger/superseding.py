"""Superseding: of two statements about the same thing with different values, the later one holds.

Nothing is forgotten for that: it is told when facts are shown. The later one says what it was before and until when;
the earlier one is the first to be left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from offturn_engine.compaction import LedgerItem
from offturn_engine.handles import handle
from offturn_engine.ledger.ranking import Name, name_of
from offturn_engine.ledger.values import Said, changed, same_matter, taken_apart

STATEMENTS = frozenset({"constraint", "preference", "value", "next", "decision"})
COMPARED = 400  # the newest statements, which are compared with each other
NEAR = 30  # earlier statements with a word in common that each is compared with

SURE = 0.6
"""Words in common with what replaces a constraint and is none itself."""


MEASURES = frozenset({"money", "date", "weekday", "time", "part", "version", "percent", "number"})
"""Shapes of which a rule has one at a time. A ban on another file, host or name is another ban."""

_FORBIDS = re.compile(
    r"(?i)\b(?:never|do not|don[\u2019']t|must not|mustn[\u2019']t|may not|no one|nobody|nunca|jam\u00e1s|no)\b"
    r"|\u4e0d\u8981|\u4e0d\u5f97|\u4e0d\u80fd|\u4e0d\u53ef|\u4e0d\u8bb8|\u4e0d\u51c6|\u7981\u6b62|\u522b|\u52ff"
)
_INSTEAD = re.compile(
    r"(?i)\b(?:instead|from now on|no longer|now|ahora|en (?:vez|lugar) de|ya no)\b|\u6539\u4e3a|\u6539\u6210|\u73b0\u5728|\u4e0d\u518d"
)
_POINTING = re.compile(r"(?i)^(?:it|this|that|these|those|here|there|es|esto|eso|aquí|这|這|那)\b")
"""What such a sentence speaks of is in another one."""


@dataclass(slots=True)
class Superseded:
    """gone: (kind, key) of statements that a later one replaces; notes: what the later one tells of that. Not to be changed."""

    gone: set[Name] = field(default_factory=set)
    notes: dict[Name, str] = field(default_factory=dict)


def superseded(items: Sequence[LedgerItem]) -> Superseded:
    """Which of the facts no longer hold. Linear: each statement is compared with the newest of those that share a word."""
    return _superseded(tuple(sorted((i for i in items if i.kind in STATEMENTS), key=lambda i: i.seq)[-COMPARED:]))


@lru_cache(maxsize=16)  # a ledger is shown again where a view did not fit, and with its restores
def _superseded(said: tuple[LedgerItem, ...]) -> Superseded:
    told = Superseded()
    names = [name_of(item) for item in said]
    by_word: dict[str, list[int]] = defaultdict(list)
    apart: list[Said] = []
    for at, item in enumerate(said):
        now = taken_apart(item.text)
        apart.append(now)
        if now.values and not _POINTING.match(item.text):
            near = sorted({i for word in now.words for i in by_word[word][-NEAR:]}, reverse=True)[:NEAR]
            for before in near:
                if same_matter(apart[before], now) and names[before] not in told.gone:
                    _compare(said[before], apart[before], item, now, told)
        for word in now.words:
            by_word[word].append(at)
    return told


def _compare(old: LedgerItem, before: Said, new: LedgerItem, now: Said, told: Superseded) -> None:
    """`before` and `now` are of the same matter."""
    name = name_of(old)
    if old.seq >= new.seq or (old.kind == "constraint" != new.kind and not same_matter(before, now, SURE)):
        return
    value = changed(before, now)
    if value and _another_ban(old, new) and {v: shape for shape, v in before.values}[value] not in MEASURES:
        return
    restated = not value and {v for _, v in before.values} <= {v for _, v in now.values}
    if value:
        told.notes.setdefault(name_of(new), f"was {value} until {handle(new.seq)}")
    if value or (restated and old.kind == new.kind):
        told.gone.add(name)


def _another_ban(old: LedgerItem, new: LedgerItem) -> bool:
    both = all(item.kind == "constraint" and _FORBIDS.search(item.text) for item in (old, new))
    return both and not _INSTEAD.search(new.text)
