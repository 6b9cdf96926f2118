"""Rules K1 to K5 and K11: the four tiers of Claude Code, and its three layers."""

from __future__ import annotations

import pytest

from offturn_config.presets import load
from offturn_engine.formats import get
from offturn_engine.messages import ToolCallPart
from offturn_engine.outcome import BELOW_TRIGGER, RESTING, TOO_DENSE
from offturn_engine.plan import PruneOnly, Skip, Summarise
from offturn_engine.ranges import contains, seqs_of
from offturn_engine.side_effects import changes_outside
from offturn_engine.tiers import Estimates, Levels, Tier, levels, tier
from offturn_engine.tokens import Calibration
from offturn_engine.tools import reproducible
from offturn_engine.triggers import in_estimates
from tests.engine.raws import Raw, human, says
from tests.policies.histories import cleared, filler, path_of, planned, reads, turns, used

NAME = "claude-code"
PLACEHOLDER = "[Old tool result content cleared]"
AT = Levels(max_input=180_000, buffer=10_000, growth=4_000)


@pytest.mark.parametrize(
    ("now", "after_1", "after_2", "before", "failures", "expected"),
    [
        (169_999, 100_000, 90_000, None, 0, 0),  # below max_input - buffer
        (170_000, 100_000, 90_000, None, 0, 1),
        (175_000, 175_000, 90_000, None, 0, 1),  # above max_input - buffer, below max_input: enough
        (190_000, 179_999, 90_000, None, 0, 1),
        (190_000, 180_000, 179_999, None, 0, 2),
        (190_000, 180_000, 180_000, None, 2, 3),
        (190_000, 185_000, None, None, 0, 3),  # tier 2 is not supported
        (190_000, 185_000, 180_000, None, 3, TOO_DENSE),
        (175_999, 172_000, 90_000, 172_000, 0, "rest"),  # tier 1 left it above max_input - buffer
        (176_000, 172_000, 90_000, 172_000, 0, 1),  # and it has grown
        (170_500, 168_000, 90_000, 168_000, 0, 1),  # tier 1 had brought it below
        (181_000, 180_500, 90_000, 179_000, 0, 2),  # rest ends where a request would not fit
    ],
)
def test_K1_each_branch_of_the_tree(
    now: int, after_1: int, after_2: int | None, before: int | None, failures: int, expected: Tier
) -> None:
    sizes = Estimates(now=now, cleared=after_1, without_uses=after_2, cleared_before=before)
    assert tier(sizes, AT, failures=failures, attempts=load(NAME).failure.attempts) == expected


def test_K1_the_plan_follows_the_tree() -> None:
    policy = load(NAME)
    limits = policy.limits(200_000)
    start = levels(policy, limits).start

    small = path_of([human("go"), *reads(10, 10_000), says("done"), human("on")], policy)
    assert planned(small, policy, limits) == Skip(BELOW_TRIGGER)

    files = path_of([human("go"), *reads(18, 10_000), says("done"), human("on")], policy)
    first = planned(files, policy, limits)
    assert isinstance(first, PruneOnly)
    assert cleared(first.candidate, PLACEHOLDER)
    assert first.candidate.compaction.covered == ()

    written = [raw for i in range(18) for raw in used("write", {"path": f"f{i}", "content": filler(10_000)}, "ok", i)]
    second = planned(path_of([human("go"), *written, says("done"), human("on")], policy), policy, limits)
    assert isinstance(second, PruneOnly)
    assert second.candidate.compaction.covered

    prose = path_of([raw for i in range(20) for raw in (human(f"q{i}"), says(filler(9_500)))], policy)
    assert sum(m.tokens for m in prose) > start + policy.trigger.buffer
    assert isinstance(planned(prose, policy, limits), Summarise | PruneOnly)
    assert planned(prose, policy, limits, failures=policy.failure.attempts) == Skip(TOO_DENSE)


def test_K1_a_first_tier_that_stays_high_rests_until_the_minimum_growth() -> None:
    """Text of the model fills the view; what can be cleared frees too little to go below the start."""
    policy = load(NAME)
    limits = policy.limits(200_000)
    raws: list[Raw] = [human("go"), *reads(12, 1_000), *[says(filler(9_200)) for _ in range(18)], human("on")]
    path = path_of(raws, policy)
    made = planned(path, policy, limits)
    assert isinstance(made, PruneOnly)
    record = made.candidate.compaction.model_copy(update={"number": 1})
    assert levels(policy, limits).start <= record.tokens_after < levels(policy, limits).max_input

    five = [*raws, says("ok"), *reads(5, 100, first=50), human("on")]  # the five that were newest can be cleared now
    assert planned(path_of(five, policy), policy, limits, base=record) == Skip(RESTING)
    grown = [*five, says(filler(limits.minimum_growth)), human("on")]
    assert isinstance(planned(path_of(grown, policy), policy, limits, base=record), PruneOnly)


def test_K1_the_estimate_is_bytes_by_four() -> None:
    policy = load(NAME)
    fmt = get("openai-chat", policy.trigger.estimator)
    log = human("2026-11-03T10:00:01Z ERROR worker-3 req=9f3c status=500 dur=812ms\n" * 400)
    assert fmt.estimate(log) == pytest.approx(len(str(log["content"])) / 4, abs=10)
    assert get("openai-chat").estimate(log) > 1.3 * fmt.estimate(log)
    assert fmt.parse(log).tokens == fmt.estimate(log)

    limits = policy.limits(200_000)
    learnt = Calibration(factor=1.2, overhead=20_000)
    assert in_estimates(limits, learnt, "bytes4").soft == min(limits.soft, in_estimates(limits, learnt).usable)
    assert in_estimates(limits, Calibration(), "bytes4") == limits


def test_K2_constants() -> None:
    policy = load(NAME)
    for window, most in ((200_000, 180_000), (180_000, 162_000), (1_000_000, 900_000)):
        limits = policy.limits(window)
        at = levels(policy, limits)
        assert (at.max_input, at.buffer, limits.target) == (most, 10_000, 40_000)
    assert policy.prune.protected_results == 5


def test_K2_the_five_newest_results_stay() -> None:
    policy = load(NAME)
    path = path_of([human("go"), *reads(18, 10_000), says("done"), human("on")], policy)
    made = planned(path, policy, policy.limits(200_000))
    assert isinstance(made, PruneOnly)
    results = [m.seq for m in path if m.results]
    assert not set(results[-5:]) & set(cleared(made.candidate, PLACEHOLDER))
    assert len(cleared(made.candidate, PLACEHOLDER)) == 13


def test_K3_only_reproducible_results_and_never_the_record_of_a_change() -> None:
    policy = load(NAME)
    tools = (
        ("FileRead", {"file_path": "a"}, True),
        ("Bash", {"command": "cargo test"}, True),
        ("Grep", {"pattern": "a"}, True),
        ("Glob", {"pattern": "*"}, True),
        ("WebSearch", {"query": "a"}, True),
        ("WebFetch", {"url": "https://example.com"}, True),
        ("FileEdit", {"file_path": "a"}, True),
        ("FileWrite", {"file_path": "a", "content": "b"}, True),
        ("exec_command", {"cmd": "ls"}, True),
        ("Bash", {"command": "git add -A && git commit -m x"}, False),
        ("Bash", {"command": "bash -lc 'cd x && npm publish'"}, False),
        ("Bash", {"command": "curl -X POST https://example.com -d a=1"}, False),
        ("Bash", {"command": "ls | xargs rm"}, False),
        ("mcp__tracker__create_issue", {"title": "a"}, False),
        ("Task", {"prompt": "look"}, False),
    )
    raws = [human("go"), *[r for i, (n, a, _) in enumerate(tools) for r in used(n, a, filler(8_000), i)]]
    raws += [*reads(8, 8_000, first=50), says("done"), human("on")]
    path = path_of(raws, policy)
    made = planned(path, policy, policy.limits(200_000))
    assert isinstance(made, PruneOnly)
    gone = set(cleared(made.candidate, PLACEHOLDER))
    assert [2 * i + 2 in gone for i in range(len(tools))] == [clears for _, _, clears in tools]


def test_K4_the_late_half_goes_first_and_the_first_half_only_where_the_target_is_missed() -> None:
    policy = load(NAME, {"size.target": 0.62})
    path = path_of([human("go"), *reads(18, 10_000), says("done"), human("on")], policy)
    clearable = [m.seq for m in path if m.results][:-5]
    made = planned(path, policy, policy.limits(200_000))
    assert isinstance(made, PruneOnly)
    assert cleared(made.candidate, PLACEHOLDER) == clearable[7:]  # the late half is enough
    lower = load(NAME, {"size.target": 0.50})
    more = planned(path, lower, lower.limits(200_000))
    assert isinstance(more, PruneOnly)
    assert cleared(more.candidate, PLACEHOLDER) == [*clearable[7:], *clearable[:3]]


def test_K5_whole_old_groups_and_old_reasoning_leave_the_view() -> None:
    policy = load(NAME)
    written = [raw for i in range(18) for raw in used("write", {"path": f"f{i}", "content": filler(10_000)}, "ok", i)]
    written[6]["reasoning_content"] = "think " * 50
    pushed = used("bash", {"command": "git push"}, "pushed", 30, text="and push")
    pushed[0]["reasoning_content"] = "think " * 50
    raws = [human("go"), *written[:8], *pushed, *written[8:], says("done"), human("on")]
    path = path_of(raws, policy)
    made = planned(path, policy, policy.limits(200_000))
    assert isinstance(made, PruneOnly)
    record = made.candidate.compaction
    gone = [m for m in path if contains(record.covered, m.seq)]
    assert gone
    assert all(m.origin in ("assistant", "tool") for m in gone)
    assert not any(changes_outside(call) for m in gone for _, call in m.calls)
    assert {e.seq for e in record.edits if e.rule == "reasoning"} == {9}  # of a group that stays
    results = [m.seq for m in path if m.results]
    assert not set(results[-5:]) & set(seqs_of(record.covered))


def test_K11_three_layers_prune_in_steps_below_the_trigger_and_have_no_second_tier() -> None:
    policy = load("claude-code-3layer")
    limits = policy.limits(200_000, 20_000)
    assert limits.soft == 180_000 - 13_000
    few = path_of([human("go"), *reads(6, 4_000), says("done"), human("on")], policy)
    assert planned(few, policy, limits) == Skip(RESTING)  # one result beside the five newest: less than a step
    more = path_of([human("go"), *reads(8, 4_000), says("done"), human("on")], policy)
    step = planned(more, policy, limits)
    assert isinstance(step, PruneOnly)
    assert len(cleared(step.candidate, PLACEHOLDER)) == 3
    assert sum(m.tokens for m in more) < limits.soft

    written = [raw for i in range(18) for raw in used("write", {"path": f"f{i}", "content": filler(10_000)}, "ok", i)]
    full = planned(path_of([human("go"), *written, says("done"), human("on")], policy), policy, limits)
    assert isinstance(full, PruneOnly)
    assert full.candidate.compaction.method == "extractive"  # the ledger first
    prose = path_of(
        [*turns(1), *[r for i in range(9) for r in (human(filler(10_000, f"{i}")), says(filler(10_000)))]], policy
    )
    assert isinstance(planned(prose, policy, limits), Summarise)


@pytest.mark.parametrize("name", ["FileRead", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "FileEdit", "FileWrite"])
def test_K3_the_named_tools_can_be_run_again(name: str) -> None:
    assert reproducible(ToolCallPart("c", name, {}, ""))
