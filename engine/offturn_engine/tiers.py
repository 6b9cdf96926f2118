"""The four tiers of Claude Code (rules K1, K2): how far a compaction has to go, as one pure function over estimates.

Tier 0 leaves the view alone, tier 1 clears results that could be had again, tier 2 takes whole old groups and old
reasoning out of the view, tier 3 summarises. Where even that has failed too often the session is too dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.outcome import TOO_DENSE

Tier = Literal[0, 1, 2, 3, "rest", "too_dense"]
"""`rest`: tier 1 has just done what it can; it does not fire again before the minimum growth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Tokens of the view: as it is, after tier 1, after tiers 1 and 2 (None: not supported), and as tier 1 left it last.

    `cleared_before`: the view right after the newest generation where that was a tier 1, else None.
    """

    now: int
    cleared: int
    without_uses: int | None = None
    cleared_before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """max_input: what a request may hold; buffer: kept free below it; growth: the minimum growth."""

    max_input: int
    buffer: int
    growth: int

    @property
    def start(self) -> int:
        """The size from which anything is done."""
        return self.max_input - self.buffer


def levels(policy: Policy, limits: Limits) -> Levels:
    """The levels of a policy: the soft level is the maximum input less the buffer."""
    buffer = min(policy.trigger.buffer, limits.window // 4)
    return Levels(max_input=min(limits.soft + buffer, limits.usable), buffer=buffer, growth=limits.minimum_growth)


def tier(sizes: Estimates, at: Levels, *, failures: int, attempts: int) -> Tier:
    """The tier a view of these sizes needs after so many failed summaries in a row."""
    if sizes.now < at.start:
        return 0
    if sizes.cleared < at.max_input:
        last = sizes.cleared_before
        return "rest" if last is not None and last >= at.start and sizes.now - last < at.growth else 1
    if sizes.without_uses is not None and sizes.without_uses < at.max_input:
        return 2
    return 3 if failures < attempts else TOO_DENSE
