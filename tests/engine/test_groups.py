"""Who answers whom, and what must not be parted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.groups import LATE, group_is_open, pair, pending, spans
from offturn_engine.messages import Message
from tests.engine.raws import ANTHROPIC, FORMATS, Raw, calls, groups, human, odd, placed, result, results, says


def answered(raws: list[Raw]) -> dict[int, int]:
    """Message index of each call -> of its result."""
    return {call[0]: answer[0] for call, answer in pair(placed(raws)).result_of.items()}


def test_results_find_their_calls() -> None:
    pairs = pair(placed([calls("a", "b"), result("b"), result("a")]))
    assert pairs.result_of == {(0, 0): (2, 0), (0, 1): (1, 0)}
    assert pairs.open_calls == ()
    assert pairs.orphans == ()


def test_the_same_id_twice_in_one_step_is_answered_in_order() -> None:
    assert answered([calls("c"), calls("c"), result("c"), result("c")]) == {0: 2, 1: 3}


def test_a_call_given_up_does_not_take_the_results_of_later_ones() -> None:
    """All ids are the same: pairing in order of occurrence alone would shift every pair after the first open call."""
    raws = [calls("c"), human("never mind"), calls("c"), result("c"), calls("c"), result("c")]
    assert answered(raws) == {2: 3, 4: 5}
    assert pair(placed(raws)).open_calls == ((0, 0),)
    assert spans(placed(raws)) == [(0, 1), (1, 2), (2, 4), (4, 6)]


def test_a_second_result_goes_to_the_older_call() -> None:
    raws = [calls("c"), human("go on"), calls("c"), result("c", "new"), result("c", "old")]
    assert answered(raws) == {2: 3, 0: 4}


def test_a_result_without_a_call_is_an_orphan() -> None:
    assert pair(placed([result("c"), calls("c")])).orphans == ((0, 0),)


@pytest.mark.parametrize(
    ("raws", "units"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([human("a"), says("b")], [(0, 1), (1, 2)], id="lone"),
        pytest.param([calls("a", "b"), result("a"), result("b"), says("x")], [(0, 3), (3, 4)], id="parallel"),
        pytest.param([calls("a"), calls("b"), result("b"), result("a")], [(0, 4)], id="split-over-messages"),
        pytest.param([calls("a"), human("hurry"), result("a")], [(0, 3)], id="a-message-inside"),
        pytest.param([calls("a", "b"), result("a"), human("x")], [(0, 2), (2, 3)], id="one-open"),
    ],
)
def test_spans(raws: list[Raw], units: list[tuple[int, int]]) -> None:
    assert spans(placed(raws)) == units


def test_a_result_after_the_answer_binds_nothing() -> None:
    raws = [human("a"), calls("slow"), human("well?"), says("it is running"), human("ok"), says("yes"), result("slow")]
    assert spans(placed(raws)) == [(i, i + 1) for i in range(7)]


def test_a_result_many_steps_later_binds_nothing() -> None:
    """Else one result after a thousand messages would make a unit that no budget can cut."""
    soon = [calls("slow"), human("go on"), *groups(LATE - 1), result("slow")]
    assert spans(placed(soon)) == [(0, len(soon))]
    late = [calls("slow"), human("go on"), *groups(LATE), result("slow")]
    assert max(high - low for low, high in spans(placed(late))) == 2


@pytest.mark.parametrize(
    ("raws", "count", "is_open"),
    [
        pytest.param([human("a"), calls("c")], 1, True, id="pending"),
        pytest.param([human("a"), calls("c", "d"), result("c")], 1, True, id="one-of-two"),
        pytest.param([human("a"), calls("c"), calls("d")], 2, True, id="split-over-messages"),
        pytest.param([human("a"), calls("c"), human("hurry")], 1, False, id="a-human-spoke"),
        pytest.param([human("a"), calls("c"), result("c")], 0, False, id="closed"),
        pytest.param([calls("old"), human("b"), calls("c"), result("c")], 0, False, id="given-up-long-ago"),
        pytest.param([calls("old"), human("b"), says("done")], 0, False, id="given-up-and-answered"),
    ],
)
def test_what_is_pending_at_the_end(raws: list[Raw], count: int, is_open: bool) -> None:
    path = placed(raws)
    assert len(pending(path)) == count
    assert group_is_open(path) == is_open


def test_a_group_is_open_while_results_come_in_user_messages() -> None:
    raws = [human("a"), calls("c", "d", fmt=ANTHROPIC), results(("c", "ok"))]
    assert group_is_open(placed(raws, ANTHROPIC))
    assert not group_is_open(placed([*raws, results(("d", "ok"))], ANTHROPIC))


@given(st.sampled_from(FORMATS).flatmap(lambda fmt: odd(fmt).map(lambda raws: placed(raws, fmt))))
@settings(max_examples=100, deadline=None)
def test_pairs_are_one_to_one_and_units_cover_the_list(path: list[Message]) -> None:
    pairs = pair(path)
    assert {answer: call for call, answer in pairs.result_of.items()} == pairs.call_of
    for call, answer in pairs.result_of.items():
        assert call < answer
        assert dict(path[call[0]].calls)[call[1]].id == dict(path[answer[0]].results)[answer[1]].call_id
    counted = len(pairs.result_of) + len(pairs.open_calls)
    assert counted == sum(len(m.calls) for m in path)
    assert len(pairs.call_of) + len(pairs.orphans) == sum(len(m.results) for m in path)
    units = spans(path)
    assert [i for low, high in units for i in range(low, high)] == list(range(len(path)))
