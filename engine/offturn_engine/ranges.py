"""Sets of seqs as sorted, disjoint, half-open ranges: `((0, 3), (7, 9))` is 0, 1, 2, 7, 8."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

LABELLED = 8  # ranges named one by one: a label has a bound


def ranges_of(seqs: Iterable[int]) -> Ranges:
    """The ranges that hold exactly these seqs."""
    return normalise((s, s + 1) for s in seqs)


def in_order(seqs: Iterable[int]) -> Ranges:
    """The seqs in the order given, as ranges: a path may show a later seq before an earlier one."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and found[-1][1] == seq:
            found[-1] = (found[-1][0], seq + 1)
        else:
            found.append((seq, seq + 1))
    return tuple(found)


def normalise(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Sorted, merged, without empty ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(p for p in pairs if p[0] < p[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def seqs_of(ranges: Ranges) -> Iterator[int]:
    """Every seq, ascending."""
    for low, high in ranges:
        yield from range(low, high)


def length(ranges: Ranges) -> int:
    """How many seqs."""
    return sum(high - low for low, high in ranges)


def place_of(ranges: Ranges, seq: int) -> int:
    """How many seqs come before this one, in the order of the ranges, which a path's may not be in; all of them where it is not there."""
    before = 0
    for low, high in ranges:
        if low <= seq < high:
            return before + seq - low
        before += high - low
    return before


def contains(ranges: Ranges, seq: int) -> bool:
    """Is the seq in one of the ranges?"""
    i = bisect_right(ranges, (seq + 1,)) - 1
    return i >= 0 and ranges[i][0] <= seq < ranges[i][1]


def union(a: Ranges, b: Ranges) -> Ranges:
    """Seqs of either."""
    return normalise((*a, *b))


def minus(a: Ranges, b: Ranges) -> Ranges:
    """Seqs of a that are not in b."""
    left: list[tuple[int, int]] = []
    at = 0
    for low, high in a:
        while at < len(b) and b[at][1] <= low:
            at += 1
        inner = at
        while inner < len(b) and b[inner][0] < high:
            left.append((low, b[inner][0]))
            low = max(low, b[inner][1])
            inner += 1
        left.append((low, high))
    return normalise(left)


def inside(a: Ranges, b: Ranges) -> bool:
    """Is every seq of a in b?"""
    return not minus(a, b)


def label(ranges: Ranges) -> str:
    """For people: `0-2, 7-8`; a single seq is `5`. Of more than `LABELLED` ranges the first and the last."""
    if len(ranges) > LABELLED:
        return f"{label(ranges[:1])}, ..., {label(ranges[-1:])}"
    return ", ".join(str(low) if high == low + 1 else f"{low}-{high - 1}" for low, high in ranges)
