"""Ranges against what they stand for: sets of seqs."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.ranges import (
    LABELLED,
    Ranges,
    contains,
    in_order,
    inside,
    label,
    length,
    minus,
    normalise,
    ranges_of,
    seqs_of,
    union,
)

SEQS = st.sets(st.integers(0, 40))
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)))


def is_normal(ranges: Ranges) -> bool:
    """Sorted, not empty, and with a gap between neighbours."""
    ends = [end for pair in ranges for end in pair]
    return all(low < high for low, high in ranges) and ends == sorted(set(ends))


@given(SEQS)
def test_ranges_hold_exactly_the_seqs(seqs: set[int]) -> None:
    ranges = ranges_of(seqs)
    assert is_normal(ranges)
    assert list(seqs_of(ranges)) == sorted(seqs)
    assert length(ranges) == len(seqs)
    assert {seq for seq in range(-1, 42) if contains(ranges, seq)} == seqs


@given(PAIRS)
def test_any_pairs_become_normal(pairs: list[tuple[int, int]]) -> None:
    ranges = normalise(pairs)
    assert is_normal(ranges)
    assert set(seqs_of(ranges)) == {seq for low, high in pairs for seq in range(low, high)}


@given(SEQS, SEQS)
def test_union_minus_and_inside_are_those_of_sets(a: set[int], b: set[int]) -> None:
    left, right = ranges_of(a), ranges_of(b)
    assert union(left, right) == ranges_of(a | b)
    assert minus(left, right) == ranges_of(a - b)
    assert inside(left, right) == (a <= b)


def test_one_range_less_many_and_many_less_one() -> None:
    many = tuple((i, i + 1) for i in range(0, 100, 2))
    assert minus(((0, 100),), many) == tuple((i, i + 1) for i in range(1, 100, 2))
    assert minus(many, ((10, 90),)) == ranges_of([*range(0, 10, 2), *range(90, 100, 2)])


def test_labels_are_for_people_and_have_a_bound() -> None:
    assert label(()) == ""
    assert label(((0, 3), (7, 9), (11, 12))) == "0-2, 7-8, 11"
    many = tuple((i, i + 2) for i in range(0, 4 * LABELLED, 3))
    assert label(many) == f"0-1, ..., {many[-1][0]}-{many[-1][0] + 1}"


@given(st.lists(st.integers(0, 12), unique=True))
def test_ranges_in_order_keep_the_order(seqs: list[int]) -> None:
    found = in_order(seqs)

    assert list(seqs_of(found)) == seqs
    assert all(left[1] != right[0] for left, right in pairwise(found))
    assert normalise(found) == ranges_of(seqs)
