"""What takes the place of a summary that could not be had, in the order the policy names.

`extractive`: ledger and human messages are the summary. `trim`: the oldest groups leave the view, with partners, until it
reaches the target; the human messages among them are listed by handle. `keep`: the generation before stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offturn_engine.boundaries import at
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Spent
from offturn_engine.draft import Candidate, Draft, assemble, floor
from offturn_engine.invariants import legal_cut_points
from offturn_engine.plan import HEAD_TRIMMED, Summarise, apply
from offturn_engine.ranges import length


def fall_back(wanted: Summarise, spent: Spent = NOTHING_SPENT) -> Candidate | None:
    """A provisional candidate without a model; None: keep what there is."""
    for way in wanted.policy.failure.order:
        if way == "extractive":
            return apply(wanted, NO_SECTIONS, spent=spent, provisional=True)
        if way == "trim" and (candidate := _trimmed(wanted, spent)):
            return candidate
        if way == "keep":
            break
    return None


def _trimmed(wanted: Summarise, spent: Spent) -> Candidate | None:
    """The least that has to go, oldest first; all that may go where even that misses the target."""
    draft = replace(wanted.draft, method="extractive", provisional=True, spent=spent, human_budget=0, keep_human=0)
    assert draft.split is not None
    cuts = [i for i in legal_cut_points(draft.path) if 0 < i <= draft.split.tail]
    steps = [step for i in cuts if (step := _without_head(draft, i)) is not None]
    if not steps:
        return None
    return assemble(steps[_first(steps, draft.target)])


def _without_head(draft: Draft, start: int) -> Draft | None:
    split = at(draft.path, draft.base.covered, start, system=draft.system_budget, head=draft.head)
    gone = length(split.cover)
    return draft.conceding(HEAD_TRIMMED, gone, split=split) if gone else None


def _first(steps: Sequence[Draft], target: int) -> int:
    """Index of the first step within the target, found by halving: each step covers what the one before does."""
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        small = floor(steps[middle]) <= target and assemble(steps[middle]).rendering.tokens <= target
        low, high = (low, middle) if small else (middle + 1, high)
    return low
