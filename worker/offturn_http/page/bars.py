"""Bars of who takes how many tokens of a view. Pure; a table tells the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offturn_engine.compaction import Compaction
from offturn_engine.report import Report

WIDE = 1_000  # units of the widest bar
GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A view. shares: (author, tokens, where it begins, how wide it is); the widest of the bars together is `WIDE`."""

    name: str
    tokens: int
    shares: tuple[tuple[str, int, float, float], ...]


def before_after(report: Report, real: Callable[[int], int] = int) -> tuple[Bar, Bar]:
    """The raw transcript and the view. real: makes tokens of estimates; what it adds to every request is nobody's share."""
    widest = max(report.tokens_before, report.tokens_after, 1)
    raw = [(share.author, share.before) for share in report.shares]
    return _bar("Before", raw, widest, real), _bar("After", _after(report), widest, real)


def two(
    left: tuple[Compaction, Report], right: tuple[Compaction, Report], real: Callable[[int], int]
) -> tuple[Bar, Bar]:
    """Two generations' views."""
    widest = max(1, left[1].tokens_after, right[1].tokens_after)
    made = [_bar(named(record), _after(report), widest, real) for record, report in (left, right)]
    return made[0], made[1]


def named(record: Compaction) -> str:
    """How a generation is called where there is little room."""
    return f"Gen {record.number}" if record.number else "Raw"


def shares_of(left: Report, right: Report, real: Callable[[int], int]) -> Sequence[tuple[str, int, int]]:
    """(author, tokens in the left view, tokens in the right one), in the order of a conversation's authors."""
    old, new = dict(_after(left)), dict(_after(right))
    authors = dict.fromkeys((*new, *old))
    return [
        (name, _share(old.get(name, 0), real), _share(new.get(name, 0), real))
        for name in authors
        if old.get(name) or new.get(name)
    ]


def authors_of(report: Report, real: Callable[[int], int]) -> Sequence[tuple[str, int, int]]:
    """The same of the raw transcript and the view."""
    return [(share.author, _share(share.before, real), _share(share.after, real)) for share in report.shares]


def _share(tokens: int, real: Callable[[int], int]) -> int:
    return real(tokens) - real(0)


def _after(report: Report) -> list[tuple[str, int]]:
    return [(share.author, share.after) for share in report.shares]


def _bar(name: str, shares: Sequence[tuple[str, int]], widest: int, real: Callable[[int], int]) -> Bar:
    placed, start = list[tuple[str, int, float, float]](), 0.0
    for author, tokens in shares:
        width = WIDE * tokens / widest
        if tokens:
            placed.append((author, _share(tokens, real), round(start, 1), round(max(width - GAP, 1), 1)))
        start += width
    return Bar(name=name, tokens=real(sum(tokens for _, tokens in shares)), shares=tuple(placed))
