"""When a compaction is wanted: one rule over totals and thresholds.

Thresholds are kept in *estimate units* (uncalibrated estimates), so that the store's script compares integers; the
session's calibration translates them. The rule itself also lives in the store's `wanted()`; both must agree.
Parking and the too-dense breaker keep jobs from starting; what a session needs is told all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from offturn_config.limits import Limits
from offturn_engine.rules_of_thumb import Estimator
from offturn_engine.tokens import Calibration

Requirement = Literal["none", "soft", "hard"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Levels in estimate units."""

    soft: int
    hard: int
    growth: int


NEVER = 10**13
"""A level that no view reaches; the store's scripts know it too."""

OFF = Thresholds(NEVER, NEVER, 1)
"""Without automatic triggers."""


def early(levels: Thresholds, *, milliseconds: int, growth: float, largest: int) -> Thresholds:
    """A soft level from which a summary is ready before the view is at the hard level, with room for one result.

    milliseconds: what a summary took; growth: estimated tokens a millisecond. Never above soft, nor below half of it.
    """
    start = levels.hard - largest - ceil(milliseconds * growth)
    return replace(levels, soft=max(levels.soft // 2, min(levels.soft, start)))


def due(tokens: int, thresholds: Thresholds, *, path_tokens: int = 0, held: int = 0) -> Requirement:
    """NONE, SOFT or HARD for a view of this size; a hold (after rollback or no gain) silences SOFT only."""
    if tokens >= thresholds.hard:
        return "hard"
    return "soft" if tokens >= thresholds.soft and path_tokens >= held else "none"


def stepping(tokens: int, step: int, *, path_tokens: int, stepped: int) -> bool:
    """Of a view that nothing is required of: is it to be looked at, because results are pruned in steps (0: they are not)?

    stepped: length of the path from which the next step is looked at. `plan` says whether enough can go.
    """
    return step > 0 and tokens >= step and path_tokens >= stepped


def thresholds(limits: Limits) -> Thresholds:
    """The trigger levels of limits that are in estimate units already."""
    return Thresholds(limits.soft, limits.hard, limits.minimum_growth)


def in_estimates(limits: Limits, calibration: Calibration, estimator: Estimator = "calibrated") -> Limits:
    """Limits in estimate units: view sizes lose the fixed overhead of system and tools, parts only the factor.

    With a rule of thumb the policy's levels are in that unit already; only what must fit the window is corrected by usage.
    """
    size = calibration.estimate_for
    if estimator != "calibrated":
        usable = size(limits.usable)
        soft, hard = min(limits.soft, max(1, usable)), min(limits.hard, max(1, usable))
        target, ceiling = min(limits.target, soft), min(limits.ceiling, soft)
        return replace(limits, usable=usable, soft=soft, hard=hard, target=target, ceiling=ceiling)

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
        idle_floor=size(limits.idle_floor),
        minimum_growth=part(limits.minimum_growth),
        step=int(limits.step / calibration.factor),
        tail=part(limits.tail),
        protected=int(limits.protected / calibration.factor),
        human=part(limits.human),
        ledger=part(limits.ledger),
        restore_file=part(limits.restore_file) if limits.restore_file else 0,
        restore=part(limits.restore) if limits.restore else 0,
        skills=part(limits.skills) if limits.skills else 0,
    )
