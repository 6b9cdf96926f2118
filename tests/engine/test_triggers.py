"""When a compaction is wanted, and thresholds in the units the store compares."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.presets import load
from offturn_engine.tokens import Calibration
from offturn_engine.triggers import Requirement, Thresholds, due, in_estimates, stepping, thresholds

LIMITS = load().limits(100_000)
LEVELS = Thresholds(soft=60, hard=85, growth=5)


@pytest.mark.parametrize(
    ("tokens", "path", "held", "wanted"),
    [
        pytest.param(59, 59, 0, "none", id="below"),
        pytest.param(60, 60, 0, "soft", id="at-soft"),
        pytest.param(84, 84, 0, "soft", id="below-hard"),
        pytest.param(85, 85, 0, "hard", id="at-hard"),
        pytest.param(60, 60, 61, "none", id="held"),
        pytest.param(60, 61, 61, "soft", id="grown-past-the-hold"),
        pytest.param(85, 60, 99, "hard", id="a-hold-does-not-silence-hard"),
    ],
)
def test_due(tokens: int, path: int, held: int, wanted: Requirement) -> None:
    assert due(tokens, LEVELS, path_tokens=path, held=held) == wanted


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 200))
def test_more_tokens_never_want_less(tokens: int, path: int, held: int) -> None:
    order = ("none", "soft", "hard")
    now = due(tokens, LEVELS, path_tokens=path, held=held)
    assert order.index(due(tokens + 1, LEVELS, path_tokens=path + 1, held=held)) >= order.index(now)


def test_thresholds_are_those_of_the_limits() -> None:
    assert thresholds(LIMITS) == Thresholds(LIMITS.soft, LIMITS.hard, LIMITS.minimum_growth)


def test_without_calibration_limits_stay_as_they_are() -> None:
    assert in_estimates(LIMITS, Calibration()) == LIMITS


def test_sizes_of_views_lose_the_overhead_and_sizes_of_parts_do_not() -> None:
    found = in_estimates(LIMITS, Calibration(factor=2.0, overhead=10_000))
    assert found.soft == (LIMITS.soft - 10_000) // 2
    assert found.usable == (LIMITS.usable - 10_000) // 2
    assert found.tail == LIMITS.tail // 2
    assert found.summary == LIMITS.summary


@given(st.floats(0.5, 3.0), st.floats(0.5, 3.0), st.integers(0, 120_000), st.integers(0, 120_000))
def test_more_overhead_or_a_larger_factor_never_raises_a_limit(f: float, g: float, low: int, more: int) -> None:
    small, large = sorted((f, g))
    before = in_estimates(LIMITS, Calibration(factor=small, overhead=low))
    after = in_estimates(LIMITS, Calibration(factor=large, overhead=low + more))
    assert all(b >= a for b, a in zip(astuple(before), astuple(after), strict=True))


@given(st.floats(0.5, 3.0), st.integers(0, 120_000))
def test_the_levels_keep_their_order(factor: float, overhead: int) -> None:
    found = in_estimates(replace(LIMITS, usable=95_000), Calibration(factor=factor, overhead=overhead))
    assert 1 <= found.target <= found.ceiling <= found.soft <= found.hard
    assert found.hard <= max(1, found.usable)


def test_where_results_are_pruned_in_steps_the_levels_stay_and_each_step_of_growth_is_looked_at() -> None:
    policy = load("claude-code-3layer")
    limits = policy.limits(200_000, 20_000)
    assert limits.step == policy.prune.minimum_gain == 5_000
    assert thresholds(limits) == Thresholds(limits.soft, limits.hard, limits.minimum_growth)
    assert [stepping(tokens, 5_000, path_tokens=9_000, stepped=0) for tokens in (4_999, 5_000)] == [False, True]
    assert [stepping(8_000, 5_000, path_tokens=path, stepped=9_000) for path in (8_999, 9_000)] == [False, True]
    assert not stepping(9_000, 0, path_tokens=9_000, stepped=0)
    assert load("claude-code").limits(200_000).step == 0


def test_levels_in_bytes_by_four_are_not_corrected_but_what_must_fit_is() -> None:
    limits = load("claude-code").limits(200_000)
    learnt = Calibration(factor=1.5, overhead=20_000)
    found = in_estimates(limits, learnt, "bytes4")
    assert found.usable == learnt.estimate_for(limits.usable) == 120_000
    assert (found.soft, found.hard, found.target) == (120_000, 120_000, limits.target)
    roomy = Calibration(factor=1.0, overhead=5_000)
    assert in_estimates(limits, roomy, "bytes4").soft == limits.soft
