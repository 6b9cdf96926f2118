"""What a compaction of a path would be: skip, prune, or ask; and what comes out of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from offturn_config.limits import Limits
from offturn_config.presets import load
from offturn_engine.accept import Rejected, accept
from offturn_engine.compaction import NOTHING, Compaction, Reason, Sections
from offturn_engine.draft import Candidate
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.plan import Plan, PruneOnly, Skip, Summarise, apply, emergency, plan, widen
from offturn_engine.ranges import contains, inside
from offturn_engine.render import render
from offturn_engine.tokens import estimate_text
from tests.engine.raws import OPENAI, Raw, calls, groups, human, placed, result, says, system

POLICY = load()
LIMITS = POLICY.limits(20_000)
SECTIONS = Sections(titles=("Goal",), bodies=("- repair it",))


def talk(turns: int, words: int = 60) -> list[Raw]:
    return [raw for i in range(turns) for raw in (human(f"question {i}"), says(f"answer {i} " * words))]


def planned(path: Sequence[Message], reason: Reason = "threshold", limits: Limits = LIMITS) -> Plan:
    return plan(path, NOTHING, OPENAI, policy=POLICY, limits=limits, reason=reason)


def applied(path: Sequence[Message], base: Compaction = NOTHING, limits: Limits = LIMITS) -> Candidate:
    """The candidate of a plan that asks; what it promises is checked."""
    wanted = plan(path, base, OPENAI, policy=POLICY, limits=limits)
    assert isinstance(wanted, Summarise)
    made = apply(wanted, SECTIONS)
    assert violations(Shown(path, made.compaction, made.rendering, OPENAI)) == {}
    assert inside(base.covered, made.compaction.covered)
    return made


def numbered(made: Candidate, number: int = 1) -> Compaction:
    return made.compaction.model_copy(update={"number": number})


def test_an_empty_path_has_nothing_to_cover() -> None:
    assert planned([]) == Skip("nothing_to_cover")


@pytest.mark.parametrize(
    "raws", [[human("a " * 9_000)], [says("a " * 9_000)], [calls("c", text="a " * 9_000)], [system("a " * 9_000)]]
)
def test_one_unit_has_nothing_to_cover(raws: list[Raw]) -> None:
    assert planned(placed(raws)) == Skip("nothing_to_cover")


def test_a_phase_end_of_a_small_view_is_not_worth_it() -> None:
    path = placed(talk(4))
    assert sum(m.tokens for m in path) < LIMITS.phase_minimum
    assert planned(path, "phase") == Skip("below_phase_minimum")
    assert planned(path, "manual") != Skip("below_phase_minimum")


def test_the_gate_asks_only_where_pruning_misses_the_target() -> None:
    big = placed([human("a"), *groups(40, size=300), human("b"), says("c")])
    assert isinstance(planned(big), PruneOnly)
    prose = placed(talk(90))
    assert isinstance(planned(prose), Summarise)


def test_below_the_target_the_goal_is_the_minimum_gain() -> None:
    path = placed([human("a"), *groups(20, size=150), human("b"), says("c")])
    before = sum(m.tokens for m in path)
    assert before < LIMITS.target
    found = planned(path, "manual")
    assert isinstance(found, PruneOnly)
    assert found.candidate.rendering.tokens <= before * (1 - POLICY.size.minimum_gain)
    assert accept(found.candidate, minimum_gain=POLICY.size.minimum_gain) is None


def test_nobody_is_paid_where_no_summary_could_save_enough() -> None:
    """The tail holds nearly all of the view: right after a compaction, or one large turn."""
    path = placed([human("a"), says("b"), human("now this"), *talk(1)[1:], says("word " * 1_500)])
    assert planned(path, "manual", replace(LIMITS, tail=1)) == Skip("no_gain")


def test_a_view_that_saves_too_little_is_refused() -> None:
    made = applied(placed(talk(90)))
    assert accept(made, minimum_gain=0.2) is None
    assert accept(made, minimum_gain=0.99) == Rejected("no_gain")


def test_a_candidate_that_covers_less_than_its_base_is_refused() -> None:
    made = applied(placed(talk(90)))
    draft = replace(made.draft, base=NOTHING.model_copy(update={"covered": ((0, 170),)}))
    assert accept(replace(made, draft=draft), minimum_gain=0.0) == Rejected("covers_less")


def test_a_broken_promise_is_never_published() -> None:
    made = applied(placed(talk(90)))
    lost = replace(made.rendering, items=made.rendering.items[:-1])
    assert accept(replace(made, rendering=lost), minimum_gain=0.2) == Rejected("broken_invariant", ("nothing-lost",))


def test_a_compacted_view_stays_below_the_ceiling() -> None:
    """Its last result is larger than that: it gives way, though the window would hold it."""
    path = placed([*talk(20), human("go"), calls("c"), result("c", "a line of the log\n" * 3_000)])
    made = applied(path)
    assert sum(m.tokens for m in path[-2:]) > LIMITS.ceiling
    assert made.rendering.tokens <= LIMITS.ceiling
    assert made.compaction.concessions == {"tail_results": 1}


def test_unless_the_tail_alone_is_above_it() -> None:
    """A paste that waits for its answer: all else keeps its words, giving them up would not help."""
    path = placed([*talk(60), human("paste " * 8_000)])
    made = applied(path)
    assert path[-1].tokens > LIMITS.ceiling
    assert made.compaction.concessions == {}
    assert made.compaction.over_target
    assert made.compaction.audit.human_verbatim == 60


def test_or_the_request_that_is_replayed() -> None:
    path = placed([*talk(60), human("paste " * 8_000), *groups(40)])
    made = applied(path)
    assert made.compaction.replay == 120
    assert made.compaction.concessions == {}


def test_the_summarizer_is_given_what_is_newly_covered() -> None:
    path = placed(talk(90))
    base = numbered(applied(path[:100]))
    wanted = plan(path, base, OPENAI, policy=POLICY, limits=LIMITS)
    assert isinstance(wanted, Summarise)
    assert wanted.previous == SECTIONS
    assert not any(contains(base.covered, m.seq) for m in wanted.messages)
    made = apply(wanted, SECTIONS)
    newly = [m for m in path if contains(made.compaction.covered, m.seq) and not contains(base.covered, m.seq)]
    assert list(wanted.messages) == newly


def long_turn(groups_: int) -> list[Raw]:
    return [
        human("port it"),
        *[raw for i in range(groups_) for raw in (calls(f"c{i}", text="why " * 90), result(f"c{i}"))],
    ]


def test_a_request_is_replayed_until_it_is_answered() -> None:
    path = placed([*talk(2), *long_turn(120)])
    first = applied(path[:150])
    assert first.compaction.replay == 4
    second = applied(path, numbered(first))
    assert second.compaction.replay == 4
    assert [i.kind for i in second.rendering.items[:2]] == ["summary", "replay"]
    answered = [*path, *placed([says("done"), *talk(60)], start=len(path))]
    third = applied(answered, numbered(second, 2))
    assert third.compaction.replay is None
    assert "port it" in third.compaction.summary


def test_within_its_generation_a_replay_stays_where_it_is() -> None:
    path = placed([*talk(2), *long_turn(120)])
    record = numbered(applied(path))
    grown = [*path, *placed([says("done"), human("and b"), says("x")], start=len(path))]
    view = render(grown, record, OPENAI)
    assert [i.kind for i in view.items[:2]] == ["summary", "replay"]
    assert violations(Shown(grown, record, view, OPENAI)) == {}


@pytest.mark.parametrize("name", ["balanced", "codex", "hermes", "five-step", "opencode"])
@pytest.mark.parametrize("raws", [[], groups(3), groups(40, size=300)])
def test_a_request_that_seemed_answered_when_it_was_covered_is_replayed(name: str, raws: list[Raw]) -> None:
    """What looked like the answer goes on to a call; whatever the policy keeps or only prunes, it is shown again."""
    policy = load(name)
    path = placed([*talk(40), human("do it"), says("ok"), *talk(1)[:0]])
    base = Compaction(number=1, covered=((0, len(path) - 1),), seen=len(path), summary="s", format=OPENAI.name)
    grown = [*path, *placed([calls("c", text="ok"), result("c"), *raws], start=len(path))]
    found = plan(grown, base, OPENAI, policy=policy, limits=LIMITS, reason="manual")
    if isinstance(found, Skip):
        return
    made = found.candidate if isinstance(found, PruneOnly) else apply(found, SECTIONS)
    assert made.compaction.replay == len(path) - 2
    assert violations(Shown(grown, made.compaction, made.rendering, OPENAI)) == {}


def test_pruning_alone_drops_a_replay_that_has_been_answered() -> None:
    path = placed([*talk(2), *long_turn(120)])
    base = numbered(applied(path))
    grown = [*path, *placed([says("done"), human("b"), *groups(9, size=2_000), says("c")], start=len(path))]
    limits = replace(LIMITS, tail=1, target=LIMITS.ceiling)
    found = plan(grown, base, OPENAI, policy=POLICY, limits=limits, reason="manual")
    assert isinstance(found, PruneOnly)
    assert found.candidate.compaction.replay is None
    assert "port it" in found.candidate.compaction.summary


def test_another_human_message_takes_the_place_of_a_replayed_one() -> None:
    path = placed([*talk(2), *long_turn(120)])
    base = numbered(applied(path))
    grown = [*path, *placed([human("stop, do b"), *long_turn(100)[1:]], start=len(path))]
    made = applied(grown, base)
    assert made.compaction.replay == len(path)
    assert "port it" in made.compaction.summary


def test_widen_keeps_a_replay_that_the_base_had() -> None:
    """The request was covered by the base already, and is still waiting."""
    path = placed([*talk(2), *long_turn(160)])
    base = numbered(applied(path[:150]))
    paid = applied(path[:250], base)
    covered = applied(path, base).compaction.covered
    wide = widen(paid, path, covered)
    assert wide.compaction.replay == 4
    assert wide.compaction.covered == covered
    assert wide.compaction.sections == SECTIONS
    assert violations(Shown(path, wide.compaction, wide.rendering, OPENAI)) == {}


def test_pruning_put_over_an_emergency_is_called_what_it_is() -> None:
    path = placed([human("a"), *groups(40, size=300), human("b"), says("c")])
    found = planned(path)
    assert isinstance(found, PruneOnly)
    urgent = emergency(path, NOTHING, OPENAI, policy=POLICY, limits=replace(LIMITS, usable=3_000))
    wide = widen(found.candidate, path, urgent.compaction.covered)
    assert wide.compaction.method == "extractive"
    assert violations(Shown(path, wide.compaction, wide.rendering, OPENAI)) == {}


def test_seen_is_the_length_of_the_log_whatever_the_order_of_the_path() -> None:
    path = placed(talk(90))
    amended = [path[0].placed(400), *path[1:]]
    made = applied(amended)
    assert made.compaction.seen == 401


def test_a_late_result_of_a_covered_call_is_not_lost() -> None:
    path = placed([*talk(2), calls("slow"), human("go on"), *talk(90)])
    record = numbered(applied(path))
    assert contains(record.covered, 4)
    grown = [*path, *placed([result("slow", "at last: 42"), human("well?"), says("42")], start=len(path))]
    view = render(grown, record, OPENAI)
    assert {"role": "user", "content": f"[result of an earlier tool call, m{len(path)}]\nat last: 42"} in view.messages
    assert violations(Shown(grown, record, view, OPENAI)) == {}
    later = applied([*grown, *placed(talk(90), start=len(grown))], record)
    assert contains(later.compaction.covered, len(path))


def test_twenty_generations_stay_bounded_and_lose_nothing() -> None:
    """A session that goes on for ever: rules at its start, a human message and tool work between compactions."""
    path = placed([system("be brief"), human("Never touch src/api.py."), says("understood")])
    base = NOTHING
    for number in range(1, 21):
        while render(path, base, OPENAI).tokens < LIMITS.soft:
            more = [
                human(f"task {len(path)}: always report"),
                *groups(4, size=120),
                says(f"finished {len(path)} " * 60),
            ]
            path += placed(more, start=len(path))
        wanted = plan(path, base, OPENAI, policy=POLICY, limits=LIMITS)
        assert not isinstance(wanted, Skip)
        made = wanted.candidate if isinstance(wanted, PruneOnly) else apply(wanted, SECTIONS)
        assert accept(made, minimum_gain=POLICY.size.minimum_gain) is None
        assert OPENAI.problems(made.rendering.messages) == []
        record = made.compaction
        assert inside(base.covered, record.covered)
        assert "Never touch src/api.py." in record.summary
        humans = [m.seq for m in path if m.origin == "human" and contains(record.covered, m.seq)]
        assert [item.seq for item in record.human] == humans
        assert {i.key for i in base.ledger if i.kind == "constraint"} <= {i.key for i in record.ledger}
        assert estimate_text(record.summary) <= LIMITS.human + LIMITS.ledger + 200
        assert made.rendering.tokens <= LIMITS.ceiling
        base = numbered(made, number)
    assert render(path, base, OPENAI).messages[0] == system("be brief")
