"""Where the tail starts, what is covered, and which request is replayed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.boundaries import Shape, Split, at, split
from offturn_engine.groups import pending, spans
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message
from offturn_engine.ranges import contains
from offturn_engine.turns import last_unanswered, waiting_in
from tests.engine.raws import FORMATS, Raw, calls, groups, human, odd, placed, result, says, system

PLENTY = 1_000_000


def cut(path: list[Message], *, tail: int = 0, turn: int = 0, system: int = PLENTY) -> Split:
    return split(path, (), Shape(tail=tail, turn=turn, system=system))


@pytest.mark.parametrize(
    ("raws", "legal"),
    [
        pytest.param([human("a")], [0], id="alone"),
        pytest.param([human("a"), says("b"), human("c")], [0, 1, 2], id="talk"),
        pytest.param([human("a"), calls("c"), result("c"), says("b")], [0, 1, 3], id="not-inside-a-group"),
        pytest.param([human("a"), calls("c"), human("b")], [0, 1], id="not-after-a-pending-call"),
        pytest.param([calls("c"), human("b"), says("x"), human("d")], [0, 1, 2, 3], id="after-one-given-up"),
    ],
)
def test_legal_cut_points(raws: list[Raw], legal: list[int]) -> None:
    assert legal_cut_points(placed(raws)) == legal


def test_the_tail_is_the_newest_whole_units_within_the_budget() -> None:
    path = placed([human("a"), *groups(10), says("done")])
    sizes = [sum(m.tokens for m in path[low:high]) for low, high in spans(path)]
    found = cut(path, tail=sum(sizes[-4:]))
    assert found == Split(((0, len(path) - 7),), len(path) - 7)
    assert cut(path, tail=sum(sizes[-4:]) - 1).tail == len(path) - 5


def test_the_last_unit_stays_whatever_its_size() -> None:
    path = placed([human("a"), says("b"), human("c"), says("long " * 500)])
    assert cut(path, tail=1) == Split(((0, 3),), 3)


def test_the_current_turn_stays_where_it_is_small_enough() -> None:
    path = placed([human("a"), says("b"), human("c"), *groups(3)])
    size = sum(m.tokens for m in path[2:])
    assert cut(path, tail=1, turn=size) == Split(((0, 2),), 2)


def test_else_its_request_is_replayed() -> None:
    path = placed([human("a"), says("b"), human("c"), *groups(3)])
    size = sum(m.tokens for m in path[2:])
    found = cut(path, tail=1, turn=size - 1)
    assert found == Split(((0, 7),), 7)
    assert waiting_in(path, found.cover) == 2


def test_an_answered_request_is_not_replayed() -> None:
    path = placed([human("a"), *groups(3), says("done")])
    assert waiting_in(path, cut(path, tail=1).cover) is None


def sized(raws: list[Raw]) -> list[Message]:
    """A path of messages of 10 tokens each."""
    return [replace(m, tokens=10) for m in placed(raws)]


def test_the_group_at_the_edge_is_outside_the_tail_or_inside() -> None:
    path = sized([human("a"), says("b"), human("c"), *groups(3), says("d")])  # groups at 3, 5, 7
    for edge, start in ((False, 7), (True, 5)):
        assert split(path, (), Shape(tail=45, turn=0, system=0, edge=edge)).tail == start
        assert split(path, (), Shape(tail=30, turn=0, system=0, edge=edge)).tail == start
    assert (
        split(path, (), Shape(tail=70, turn=0, system=0, edge=True)).tail == 3
    )  # a lone message at the edge is outside


def test_messages_that_stay_bring_their_group_with_them() -> None:
    path = sized([human("a"), says("b"), *groups(4)])
    assert split(path, (), Shape(tail=1, turn=0, system=0, messages=3)).tail == 6
    assert split(path, (), Shape(tail=1, turn=0, system=0, messages=3, edge=True)).tail == 6
    assert split(path, (), Shape(tail=1, turn=0, system=0, messages=4, edge=True)).tail == 4


def test_a_call_in_the_head_keeps_its_result_however_late_it_came() -> None:
    path = placed([calls("c"), human("a"), human("b"), says("d"), result("c"), says("e"), human("f"), says("g")])
    assert at(path, (), 7, system=0, head=1).cover == ((1, 4), (5, 7))
    assert at(path, (), 7, system=0).cover == ((0, 7),)


def test_where_all_would_fit_the_tail_has_its_plain_size() -> None:
    path = sized([system("s"), *(raw for i in range(10) for raw in (human(f"q{i}"), says(f"a{i}")))])
    shape = Shape(tail=150, turn=0, system=0, overrun=1.5, messages=2)
    assert split(path, (), shape).cover == ()
    assert split(path, (), replace(shape, always=True)) == Split(((1, 5),), 5)  # 16 messages are more than the tail
    assert split(path, (), replace(shape, tail=100, always=True)) == split(path, (), replace(shape, tail=100))


def test_where_not_even_that_is_exceeded_only_the_newest_messages_stay() -> None:
    path = sized([system("s"), *(raw for i in range(10) for raw in (human(f"q{i}"), says(f"a{i}")))])
    shape = Shape(tail=500, turn=0, system=0, always=True, head=2, messages=8)
    assert split(path, (), shape) == Split(((3, 13),), 13)
    assert split(path, (), replace(shape, messages=30)) == Split(((3, 4),), 4)  # something is covered
    assert split(path, ((3, 13),), replace(shape, head=0)).cover == ((1, 3),)


def test_what_the_base_covers_is_not_covered_again() -> None:
    path = placed([human("a"), says("b"), human("c"), says("d")])
    assert split(path, ((0, 2),), Shape(tail=1, turn=0, system=0)).cover == ((2, 3),)


def test_system_messages_before_all_else_are_the_head() -> None:
    path = placed([system("rules"), system("more"), human("a"), says("b"), human("c"), says("d")])
    assert cut(path, tail=1, system=0) == Split(((2, 5),), 5)


def test_later_system_messages_stay_the_newest_first() -> None:
    """A host that adds one at every turn must not fill the window with them."""
    path = placed([raw for i in range(10) for raw in (human(f"q{i}"), system(f"it is {i} o'clock"), says(f"a{i}"))])
    size = path[1].tokens
    assert cut(path, tail=1, system=3 * size).cover == ((0, 22), (23, 25), (26, 28))
    assert at(path, (), 29, system=0).cover == ((0, 29),)


def test_seqs_need_not_be_neighbours_nor_ascend() -> None:
    """A path has gaps after a rewind, and an amended message bears a later seq."""
    path = [m.placed(seq) for m, seq in zip(placed([human("a"), says("b")] * 3), (0, 9, 4, 5, 20, 21), strict=True)]
    assert cut(path, tail=1).cover == ((0, 1), (4, 6), (9, 10), (20, 21))


@given(
    st.sampled_from(FORMATS).flatmap(lambda fmt: odd(fmt).map(lambda raws: placed(raws, fmt))),
    st.integers(0, 3_000),
    st.integers(0, 3_000),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_a_split_never_parts_what_belongs_together(
    path: list[Message], tail: int, turn: int, edge: bool, always: bool
) -> None:
    found = split(path, (), Shape(tail=tail, turn=turn, system=PLENTY, edge=edge, always=always))
    assert found.tail in legal_cut_points(path)
    covered = [i for i, m in enumerate(path) if contains(found.cover, m.seq)]
    assert all(i < found.tail for i in covered)
    assert not {i for i, _ in pending(path)} & set(covered)
    asked = last_unanswered(path)
    assert waiting_in(path, found.cover) == (path[asked].seq if asked is not None and asked in covered else None)
    for low, high in spans(path):
        inside = [i in covered for i in range(low, high) if path[i].origin != "system"]
        assert all(inside) or not any(inside)
