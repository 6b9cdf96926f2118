"""When a compaction is wanted: one rule over totals and thresholds.

Thresholds are kept in *estimate units* (uncalibrated estimates), so that the store's script compares integers; the
session's calibration translates them. The rule itself also lives in the store's `wanted()`; both must agree.
Parking and the too-dense breaker keep jobs from starting; what a session needs is told all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from offturn_config.policy import Limits
from offturn_engine.tokens import Calibration

Requirement = Literal["none", "soft", "hard"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Levels in estimate units."""

    soft: int
    hard: int
    growth: int


def due(tokens: int, thresholds: Thresholds, *, path_tokens: int = 0, held: int = 0) -> Requirement:
    """NONE, SOFT or HARD for a view of this size; a hold (after rollback or no gain) silences SOFT only."""
    if tokens >= thresholds.hard:
        return "hard"
    return "soft" if tokens >= thresholds.soft and path_tokens >= held else "none"


def thresholds(limits: Limits) -> Thresholds:
    """The trigger levels of limits that are in estimate units already."""
    return Thresholds(limits.soft, limits.hard, limits.minimum_growth)


def in_estimates(limits: Limits, calibration: Calibration) -> Limits:
    """Limits in estimate units: view sizes lose the fixed overhead of system and tools, parts only the factor."""
    size = calibration.estimate_for

    def part(tokens: int) -> int:
        return max(1, int(tokens / calibration.factor))

    return replace(
        limits,
        usable=size(limits.usable),
        soft=max(1, size(limits.soft)),
        hard=max(1, size(limits.hard)),
        target=max(1, size(limits.target)),
        ceiling=max(1, size(limits.ceiling)),
        phase_minimum=size(limits.phase_minimum),
        minimum_growth=part(limits.minimum_growth),
        tail=part(limits.tail),
        human=part(limits.human),
        ledger=part(limits.ledger),
    )
