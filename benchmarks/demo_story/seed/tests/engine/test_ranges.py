"""Ranges: sorted, disjoint, half-open."""

from __future__ import annotations

import pytest

from offturn_engine.ranges import Ranges, contains, inside, label, length, minus, normalise, ranges_of, seqs_of, union


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], ()),
        ([(3, 3)], ()),
        ([(0, 2), (2, 4)], ((0, 4),)),
        ([(0, 2), (3, 4)], ((0, 2), (3, 4))),
        ([(5, 9), (0, 3)], ((0, 3), (5, 9))),
        ([(0, 9), (2, 4)], ((0, 9),)),
        ([(0, 4), (2, 6), (6, 7)], ((0, 7),)),
    ],
)
def test_normalise(pairs: list[tuple[int, int]], expected: Ranges) -> None:
    assert normalise(pairs) == expected


def test_ranges_of_keeps_single_gaps() -> None:
    assert ranges_of([0, 1, 2, 4, 5, 7]) == ((0, 3), (4, 6), (7, 8))


def test_seqs_of_gives_back_what_ranges_of_took() -> None:
    seqs = [0, 1, 2, 7, 8, 11]
    assert list(seqs_of(ranges_of(seqs))) == seqs


def test_length_counts_seqs() -> None:
    assert length(((0, 3), (7, 9))) == 5


@pytest.mark.parametrize(("seq", "expected"), [(-1, False), (0, True), (2, True), (3, False), (7, True), (9, False)])
def test_contains(seq: int, expected: bool) -> None:
    assert contains(((0, 3), (7, 9)), seq) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((), (), ()),
        (((0, 3),), (), ((0, 3),)),
        (((0, 3),), ((3, 5),), ((0, 5),)),
        (((0, 3),), ((4, 5),), ((0, 3), (4, 5))),
        (((0, 3), (8, 9)), ((2, 8),), ((0, 9),)),
    ],
)
def test_union(a: Ranges, b: Ranges, expected: Ranges) -> None:
    assert union(a, b) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (((0, 9),), (), ((0, 9),)),
        (((0, 9),), ((0, 9),), ()),
        (((0, 9),), ((3, 5),), ((0, 3), (5, 9))),
        (((0, 9),), ((0, 4),), ((4, 9),)),
        (((0, 9),), ((6, 12),), ((0, 6),)),
        (((0, 3),), ((5, 9),), ((0, 3),)),
    ],
)
def test_minus(a: Ranges, b: Ranges, expected: Ranges) -> None:
    assert minus(a, b) == expected


def test_inside() -> None:
    assert inside(((2, 4),), ((0, 9),))
    assert not inside(((2, 12),), ((0, 9),))
    assert inside((), ((0, 9),))


def test_label() -> None:
    assert label(((0, 3), (5, 6), (7, 9))) == "0-2, 5, 7-8"
