"""What a view shows, in which order: each rule of `render` by an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.formats.base import Format
from offturn_engine.messages import Edit, Message
from offturn_engine.ranges import Ranges
from offturn_engine.render import NO_RESULT, Rendering, render
from tests.engine.raws import ANTHROPIC, OPENAI, Raw, calls, human, placed, result, results, says, system

STUB = "[cleared: bash ls · recall m3]"


def shown(rendering: Rendering) -> list[str]:
    """`m3` for message 3, else the kind, with the message's seq where it has one."""
    return [
        f"m{i.seq}" if i.kind == "message" else i.kind + (f" m{i.seq}" if i.seq >= 0 else "") for i in rendering.items
    ]


def view(raws: Sequence[Raw], covered: Ranges = (), fmt: Format = OPENAI, **changes: object) -> Rendering:
    record = Compaction(covered=covered, summary="what happened").model_copy(update=changes)
    return render(placed(raws, fmt), record, fmt)


def words(rendering: Rendering, index: int) -> object:
    return rendering.messages[index]["content"]


def test_generation_nothing_is_the_log() -> None:
    raws = [system("rules"), human("a"), calls("c"), result("c"), says("b")]
    rendering = render(placed(raws), NOTHING, OPENAI)
    assert rendering.messages == raws
    assert rendering.tokens == sum(m.tokens for m in placed(raws))


def test_the_summary_stands_where_the_covered_messages_were() -> None:
    raws = [system("rules"), human("a"), says("b"), system("note"), human("c")]
    assert shown(view(raws, ((1, 3),))) == ["m0", "summary", "m3", "m4"]
    assert shown(view(raws, ((1, 2), (3, 4)))) == ["m0", "summary", "m2", "m4"]


def test_a_replay_follows_the_summary_at_once() -> None:
    raws = [human("a"), calls("c"), result("c"), calls("d"), result("d")]
    assert shown(view(raws, ((0, 3),), replay=0)) == ["summary", "replay m0", "m3", "m4"]


def test_a_replay_leaves_out_the_results_beside_the_words() -> None:
    """Their call is covered: with them the provider would refuse the request."""
    raws = [human("a"), calls("c", fmt=ANTHROPIC), results(("c", "ok"), words="now b"), calls("d", fmt=ANTHROPIC)]
    rendering = view(raws, ((0, 3),), ANTHROPIC, replay=2)
    assert shown(rendering) == ["summary", "replay m2", "m3"]
    assert words(rendering, 1) == [{"type": "text", "text": "now b"}]


@pytest.mark.parametrize(
    ("raws", "order"),
    [
        pytest.param([calls("c"), human("hurry"), result("c")], ["m0", "m2", "m1"], id="inside-a-group"),
        pytest.param([calls("c", "d"), result("d"), result("c")], ["m0", "m1", "m2"], id="parallel"),
        pytest.param([calls("c"), calls("d"), result("d"), result("c")], ["m0", "m3", "m1", "m2"], id="interleaved"),
        pytest.param([calls("c"), human("x")], ["m0", "synthetic", "m1"], id="closed"),
        pytest.param([calls("c"), human("x"), says("y"), result("c")], ["m0", "m3", "m1", "m2"], id="closed-no-more"),
        pytest.param([human("x"), calls("c", "d"), result("c")], ["m0", "m1", "m2"], id="pending"),
        pytest.param([calls("c", "d"), result("c"), human("x")], ["m0", "m1", "synthetic", "m2"], id="half-closed"),
        pytest.param([human("x"), result("c")], ["m0", "late m1"], id="orphan"),
    ],
)
def test_order_of_groups(raws: list[Raw], order: list[str]) -> None:
    assert shown(view(raws)) == order


def test_calls_at_the_end_are_pending_and_others_closed() -> None:
    rendering = view([calls("a"), human("x"), calls("b", "c"), result("b")])
    assert (rendering.pending, rendering.closed) == (1, 1)
    assert words(rendering, 1) == NO_RESULT


def test_a_result_whose_call_is_covered_is_told_with_its_handle() -> None:
    rendering = view([human("a"), calls("c"), human("b"), says("x"), result("c", "late news")], ((0, 3),))
    assert shown(rendering) == ["summary", "m3", "late m4"]
    assert rendering.messages[-1] == human("[result of an earlier tool call, m4]\nlate news")


def test_of_several_results_each_late_one_is_told_after_the_others() -> None:
    """A provider takes nothing between a call and its results, not even what is told of an earlier one."""
    raws = [calls("c", fmt=ANTHROPIC), human("b"), calls("d", fmt=ANTHROPIC), results(("c", "old"), ("d", "new"))]
    rendering = view(raws, ((0, 2),), ANTHROPIC)
    assert shown(rendering) == ["summary", "m2", "m3", "late m3"]
    assert rendering.messages[2] == results(("d", "new"))
    assert rendering.messages[3] == human("[result of an earlier tool call, m3.0]\nold")
    assert ANTHROPIC.problems(rendering.messages) == []


def test_a_late_result_stands_before_the_words_beside_it() -> None:
    raws = [calls("c", fmt=ANTHROPIC), human("b"), says("x"), results(("c", "old"), words="go on")]
    rendering = view(raws, ((0, 2),), ANTHROPIC)
    assert shown(rendering) == ["summary", "m2", "late m3", "m3"]
    assert words(rendering, 3) == [{"type": "text", "text": "go on"}]


def test_words_beside_a_result_stand_after_the_group() -> None:
    """`d` is closed by a synthetic result, and another result comes after the words: both stand before them."""
    raws = [calls("c", "d", "e", fmt=ANTHROPIC), results(("c", "1"), words="hurry"), results(("e", "2")), says("x")]
    rendering = view(raws, fmt=ANTHROPIC)
    assert shown(rendering) == ["m0", "m2", "synthetic", "m1", "m3"]
    problems = ANTHROPIC.problems([human("start"), *rendering.messages])
    assert problems == []


def test_edits_are_applied_also_to_what_is_left_of_a_message() -> None:
    raws = [calls("c", fmt=ANTHROPIC), human("b"), calls("d", fmt=ANTHROPIC), results(("c", "old"), ("d", "new"))]
    edits = (Edit(seq=3, part=1, rule="stub", text=STUB), Edit(seq=3, part=0, rule="stub", text="[cleared]"))
    rendering = view(raws, ((0, 2),), ANTHROPIC, edits=edits)
    assert rendering.messages[2] == results(("d", STUB))
    assert words(rendering, 3) == "[result of an earlier tool call, m3.0]\n[cleared]"


def test_signed_thinking_stays_as_it_is() -> None:
    thinking: Raw = {"type": "thinking", "thinking": "hm", "signature": "EqQB"}
    said: Raw = {"role": "assistant", "content": [thinking, {"type": "text", "text": "done"}]}
    rendering = view([human("a"), says("b"), human("c"), said], ((0, 2),), ANTHROPIC)
    assert rendering.messages[-1] == said


def test_a_late_result_says_what_is_attached() -> None:
    image: Raw = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    block: Raw = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "shot"}, image]}
    rendering = view([human("a"), {"role": "user", "content": [block]}], fmt=ANTHROPIC)
    assert words(rendering, 1) == "[result of an earlier tool call, m1, 1 attached]\nshot"


def test_a_path_in_another_order_than_its_seqs() -> None:
    path: list[Message] = placed([human("a"), says("b"), human("c")])
    amended = [path[0], replace(path[1], seq=9), path[2]]
    assert shown(render(amended, NOTHING, OPENAI)) == ["m0", "m9", "m2"]
    record = Compaction(covered=((0, 1), (9, 10)), summary="what happened")
    assert shown(render(amended, record, OPENAI)) == ["summary", "m2"]
