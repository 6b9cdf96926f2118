"""Two generations side by side: each message of the path with its fate in both. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from offturn_engine.report import Entry, Report

PAGE = 100  # messages on one page

CHANGED = "changed"
"""Chooses those whose fates differ."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One message in both generations; `left` is the older or the raw one."""

    left: Entry
    right: Entry

    @property
    def changed(self) -> bool:
        """Does any part of it have another fate, or another text in its place?"""
        return any(
            (a.fate.rule, a.instead) != (b.fate.rule, b.instead)
            for a, b in zip(self.left.parts, self.right.parts, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The pairs of one page of those chosen. counts: of all messages, by what can be chosen."""

    pairs: tuple[Pair, ...]
    counts: dict[str, int]
    chosen: int
    number: int
    pages: int


def beside(left: Report, right: Report, *, only: str = "", page: int = 1) -> Beside:
    """only: `changed`, a fate in the right one, or "" for all; page: from 1, the nearest there is is taken."""
    pairs = [Pair(a, b) for a, b in zip(left.entries, right.entries, strict=True)]
    counts = Counter[str](pair.right.fate for pair in pairs)
    changed = sum(pair.changed for pair in pairs)
    chosen = [pair for pair in pairs if not only or (pair.changed if only == CHANGED else pair.right.fate == only)]
    number, pages = paged(len(chosen), page)
    return Beside(
        pairs=tuple(chosen[(number - 1) * PAGE : number * PAGE]),
        counts={CHANGED: changed, **{name: counts[name] for name in right.by_fate}},
        chosen=len(chosen),
        number=number,
        pages=pages,
    )


def paged(total: int, page: int, size: int = PAGE) -> tuple[int, int]:
    """(the page that is shown, how many there are)."""
    pages = max(1, -(-total // size))
    return min(max(page, 1), pages), pages


def piece(text: str, start: int, size: int) -> tuple[str, int | None, int | None]:
    """A part of a long text, and where the one before and the one after begin (None: there is none)."""
    start = min(max(start, 0), max(0, len(text) - 1))
    return (
        text[start : start + size],
        max(0, start - size) if start else None,
        start + size if start + size < len(text) else None,
    )
