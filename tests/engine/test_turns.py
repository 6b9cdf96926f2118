"""Which request waits for an answer, and what counts as one."""

from __future__ import annotations

import pytest

from offturn_engine.turns import answers, last_unanswered, steps
from tests.engine.raws import ANTHROPIC, Raw, calls, human, placed, result, results, says, system


@pytest.mark.parametrize(
    ("raws", "asked"),
    [
        pytest.param([human("a")], 0, id="alone"),
        pytest.param([human("a"), says("done")], None, id="answered"),
        pytest.param([human("a"), says("  ")], 0, id="blank-is-no-answer"),
        pytest.param([human("a"), calls("c", text="I look"), result("c")], 0, id="text-beside-a-call-is-no-answer"),
        pytest.param([human("a"), says("I look"), calls("c"), result("c")], 0, id="text-before-a-call-in-one-step"),
        pytest.param([human("a"), calls("c"), result("c"), says("done")], None, id="answered-after-a-group"),
        pytest.param([human("a"), says("done"), human("b"), calls("c")], 2, id="the-last-one"),
        pytest.param([human("a"), human("b")], 1, id="two-in-a-row"),
        pytest.param([human("a"), says("done"), system("note")], None, id="a-note-asks-nothing"),
        pytest.param([says("hello")], None, id="nobody-asked"),
        pytest.param([], None, id="empty"),
    ],
)
def test_last_unanswered(raws: list[Raw], asked: int | None) -> None:
    assert last_unanswered(placed(raws)) == asked


def test_words_beside_results_are_a_request() -> None:
    raws = [human("a"), calls("c", fmt=ANTHROPIC), results(("c", "ok"), words="stop")]
    assert last_unanswered(placed(raws, ANTHROPIC)) == 2
    assert last_unanswered(placed([*raws[:2], results(("c", "ok"))], ANTHROPIC)) == 0


def test_a_step_is_a_run_of_assistant_messages() -> None:
    path = placed([human("a"), says("x"), calls("c"), result("c"), says("y"), human("b"), says("z")])
    assert steps(path) == [0, 1, 1, 1, 2, 2, 3]
    assert [i for i, ends in enumerate(answers(path)) if ends] == [4, 6]
