"""A learnt start: early enough for a summary of the latency seen at the growth seen, never above soft."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.triggers import Thresholds, early

LEVELS = Thresholds(soft=120_000, hard=170_000, growth=10_000)


@pytest.mark.parametrize(
    ("milliseconds", "growth", "largest", "soft"),
    [
        (0, 0.0, 10_000, 120_000),
        (20_000, 1.0, 10_000, 120_000),  # 140,000 would do: never above soft
        (60_000, 1.0, 10_000, 100_000),
        (60_000, 1.0, 30_000, 80_000),  # one result more must fit as well
        (600_000, 1.0, 10_000, 60_000),  # but not below half of soft
    ],
)
def test_the_start_is_as_early_as_it_must_be(milliseconds: int, growth: float, largest: int, soft: int) -> None:
    found = early(LEVELS, milliseconds=milliseconds, growth=growth, largest=largest)

    assert found == Thresholds(soft=soft, hard=170_000, growth=10_000)


@given(st.integers(0, 10**6), st.floats(0, 1_000), st.integers(0, 10**6))
def test_it_never_leaves_its_bounds(milliseconds: int, growth: float, largest: int) -> None:
    found = early(LEVELS, milliseconds=milliseconds, growth=growth, largest=largest).soft

    assert LEVELS.soft // 2 <= found <= LEVELS.soft
    assert found + milliseconds * growth + largest <= LEVELS.hard + 1 or found == LEVELS.soft // 2
