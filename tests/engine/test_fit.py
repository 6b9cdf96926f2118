"""What gives way so that a view fits, in which order, and what never does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from offturn_config.limits import Limits
from offturn_config.presets import load
from offturn_engine.compaction import NOTHING
from offturn_engine.draft import Candidate, assemble
from offturn_engine.errors import CannotFit
from offturn_engine.fit import concessions
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.plan import emergency
from tests.engine.raws import ANTHROPIC, OPENAI, Raw, calls, groups, human, placed, result, results, says, system

POLICY = load()
LIMITS = replace(POLICY.limits(20_000), tail=1_500, human=2_000, ledger=1_000)
ORDER = (
    "ledger_detail",
    "tail_results",
    "tail_messages",
    "long_texts",
    "human_budget",
    "human_by_handle",
    "system_messages",
)


def talk(turns: int, words: int = 40) -> list[Raw]:
    return [raw for i in range(turns) for raw in (human(f"question {i} " * words), says(f"answer {i} " * words))]


def fitted(path: Sequence[Message], usable: int, limits: Limits = LIMITS) -> Candidate:
    """An emergency view; what it promises is checked."""
    made = emergency(path, NOTHING, OPENAI, policy=POLICY, limits=replace(limits, usable=usable))
    assert made.rendering.tokens <= usable
    assert violations(Shown(path, made.compaction, made.rendering, OPENAI)) == {}
    return made


def smaller_and_smaller(path: Sequence[Message], limits: Limits = LIMITS) -> list[Candidate]:
    """Views for ever smaller limits, each just below what the last one needed."""
    made = [fitted(path, sum(m.tokens for m in path), limits)]
    while True:
        try:
            made.append(fitted(path, made[-1].rendering.tokens - 1, limits))
        except CannotFit:
            return made


def gave_way(made: Candidate) -> set[str]:
    return set(made.compaction.concessions)


def test_each_concession_is_made_in_its_turn() -> None:
    """A session in which each kind of concession has something to give."""
    notes = [raw for i in range(9) for raw in (human(f"I want {i}: " + "word " * 60), system(f"note {i}"), says("ok"))]
    turn = [human("port the parser"), *groups(6, size=200), calls("z", text="long " * 1_000), result("z")]
    path = placed([system("rules"), *talk(3), *groups(4), *notes, *turn])
    draft = fitted(path, 20_000, replace(LIMITS, tail=4_000)).draft
    steps = list(concessions(draft, POLICY.prune))
    assert tuple(steps[-1].concessions) == ORDER
    sizes = [assemble(step).rendering.tokens for step in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(b.concessions) - len(a.concessions) <= 1 for a, b in pairwise(steps))


def test_nothing_gives_way_where_there_is_room() -> None:
    assert gave_way(fitted(placed(talk(40)), 19_000)) == set()


def test_ledger_detail() -> None:
    ran = [(calls("c", arguments=f'{{"command": "make target-{i}"}}'), result("c")) for i in range(60)]
    path = placed([*(raw for pair in ran for raw in pair), human("thanks"), says("welcome")])
    whole = fitted(path, 10_000)
    less = fitted(path, whole.rendering.tokens - 1)
    assert gave_way(less) == {"ledger_detail"}
    assert less.compaction.audit.kept < whole.compaction.audit.kept


def test_tail_results() -> None:
    """The last result alone is larger than the limit: it becomes a line, and nothing that gave way before stays so."""
    path = placed([*talk(10), human("go"), calls("c"), result("c", "a line of the log\n" * 10_000)])
    made = fitted(path, 15_000)
    assert made.compaction.concessions == {"tail_results": 1}
    assert made.rendering.messages[-1]["content"].startswith("[cleared: bash ls")


def test_tail_results_of_earlier_turns_go_first() -> None:
    path = placed([human("a"), *groups(1, size=1_500), says("done"), human("b"), *groups(1, size=1_500)])
    limits = replace(LIMITS, tail=20_000)
    size = sum(m.tokens for m in path)
    assert [e.seq for e in fitted(path, size - 10, limits).compaction.edits] == [2]
    assert [e.seq for e in fitted(path, size - 2_000, limits).compaction.edits] == [2, 6]


def test_tail_messages_stop_first_at_the_current_turn() -> None:
    path = placed(
        [human("a"), says("word " * 900), human("b"), says("word " * 900), human("now c"), *groups(8, size=40)]
    )
    limits = replace(LIMITS, tail=20_000, target=20_000)
    steps = [m for m in smaller_and_smaller(path, limits) if "tail_messages" in gave_way(m)]
    shown = [[i.seq for i in m.rendering.items if i.kind == "message"] for m in steps]
    assert shown[0][0] == 4
    assert steps[0].compaction.replay is None
    inside = [m for m, seqs in zip(steps, shown, strict=True) if seqs[0] > 4]
    assert inside
    assert all(m.compaction.replay == 4 for m in inside)


def test_long_texts_go_before_human_words() -> None:
    path = placed([*talk(6), human("and now?"), says("word " * 100_000)])
    made = fitted(path, 15_000)
    assert made.compaction.concessions == {"long_texts": 1}
    assert made.compaction.audit.human_verbatim == 7
    assert "characters left out, recall m13" in made.rendering.messages[-1]["content"]


def test_a_long_text_is_cut_once() -> None:
    path = placed([human("a"), says("word " * 100_000)])
    first = fitted(path, 15_000).compaction
    again = emergency(path, first, OPENAI, policy=POLICY, limits=replace(LIMITS, usable=15_000)).compaction
    assert len(again.edits) == len(first.edits) == 1


def test_human_words_are_cut_before_they_are_listed() -> None:
    made = smaller_and_smaller(placed([*talk(8), human("and now?")]))
    cut = [gave_way(m) & {"human_budget", "human_by_handle"} for m in made]
    assert {"human_budget"} in cut
    assert cut[-1] == {"human_budget", "human_by_handle"}
    assert made[-1].compaction.audit.human_by_handle == 8


def test_system_messages_after_the_first_go_last() -> None:
    path = placed([system("rules"), *[raw for i in range(20) for raw in (human("q"), system(f"note {i}"), says("a"))]])
    limits = replace(LIMITS, tail=POLICY.limits(20_000).tail)
    made = smaller_and_smaller(path, replace(limits, target=1))
    assert "system_messages" in gave_way(made[-1])
    kept = [m["content"] for m in made[-1].rendering.messages if m["role"] == "system"]
    assert kept[0] == "rules"
    assert len(kept) < 20


def test_the_whole_turn_goes_where_its_last_group_cannot_be_made_smaller() -> None:
    """Arguments that are not JSON are text of the model's own, which no rule may cut."""
    path = placed([*talk(3), human("write it"), calls("c", arguments="{bad " * 20_000), result("c")])
    made = fitted(path, 10_000)
    assert made.compaction.concessions == {"whole_turn": 1}
    assert [i.kind for i in made.rendering.items] == ["summary", "replay"]
    assert made.rendering.messages[-1] == human("write it")


def test_pending_calls_are_never_covered() -> None:
    path = placed([*talk(3), human("write it"), calls("c", arguments="{bad " * 20_000)])
    with pytest.raises(CannotFit):
        fitted(path, 10_000)


def test_the_last_human_message_never_gives_way() -> None:
    path = placed([*talk(3), human("paste " * 40_000)])
    with pytest.raises(CannotFit) as caught:
        fitted(path, 10_000)
    assert caught.value.limit == 10_000
    assert path[-1].tokens < caught.value.tokens < path[-1].tokens + 1_000


def test_an_older_paste_does() -> None:
    path = placed([human("paste " * 40_000), says("I see"), human("go on")])
    made = fitted(path, 10_000)
    assert made.compaction.audit.human_cut == 1
    assert made.rendering.messages[-1] == human("go on")


def test_constraints_are_pinned() -> None:
    path = placed([human("Never touch src/api.py."), *groups(40, size=200), human("b")])
    for made in smaller_and_smaller(path):
        assert "Never touch src/api.py." in made.compaction.summary


def test_thousands_of_human_messages_fit() -> None:
    """Their handles alone would fill the window: the oldest are one span."""
    path = placed([raw for i in range(6_000) for raw in (human(f"question {i}"), says("yes"))])
    made = fitted(path, 19_000)
    assert made.compaction.audit.human_by_handle + made.compaction.audit.human_verbatim > 5_000
    assert "[m0] to [m" in made.compaction.summary


def test_a_call_given_up_under_an_id_that_repeats_binds_nothing() -> None:
    raws = [human("a"), calls("c"), human("never mind")]
    raws += [raw for i in range(200) for raw in (calls("c", text=f"step {i}"), result("c", "line " * 100))]
    made = fitted(placed(raws), 6_000)
    assert len(made.rendering.items) < 40


def test_a_result_that_comes_a_thousand_messages_late_binds_nothing() -> None:
    raws = [human("a"), calls("slow"), human("go on"), *groups(500), result("slow", "at last")]
    made = fitted(placed(raws), 6_000)
    assert made.rendering.items[-1].kind == "late"


def test_words_beside_results_are_replayed_alone() -> None:
    path = placed([human("a"), calls("c", fmt=ANTHROPIC), results(("c", "ok"), words="now b")], ANTHROPIC)
    path += [m.placed(m.seq + 3) for m in placed(groups(60, fmt=ANTHROPIC), ANTHROPIC)]
    limits = replace(LIMITS, usable=1_900)
    made = emergency(path, NOTHING, ANTHROPIC, policy=POLICY, limits=limits)
    assert made.compaction.replay == 2
    assert violations(Shown(path, made.compaction, made.rendering, ANTHROPIC)) == {}
    assert ANTHROPIC.problems(made.rendering.messages) == []
