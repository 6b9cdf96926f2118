"""Where a draft's path parts under its policy, and what pruning takes from it before that.

By policy the tail is filled with raw messages, and all before it is pruned; or all but the tail by its raw size is pruned
first, and the tail is filled with what is left, so that it reaches further back (`boundary.tail_measured`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from offturn_config.groups import Amount
from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.boundaries import Shape, Split, split
from offturn_engine.draft import Draft
from offturn_engine.hide import hidden
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.pins import pinned_seqs
from offturn_engine.plain import by_seq, plain_of
from offturn_engine.protect import newest
from offturn_engine.prune import merged, prune
from offturn_engine.rules_of_thumb import text_estimate
from offturn_engine.turns import last_unanswered


def shape(policy: Policy, limits: Limits, *, first: bool) -> Shape:
    """What stays visible beside a summary; `first`: nothing was covered before."""
    rules = policy.boundary
    return Shape(
        tail=limits.tail,
        turn=limits.target // 2 if rules.last_human else 0,
        system=limits.tail,
        head=rules.head_messages if first or not rules.head_decays else 0,
        human=limits.human if policy.human.placement == "messages" else 0,
        overrun=rules.tail_overrun,
        edge=rules.tail_edge == "inside",
        always=rules.always_cut,
        messages=rules.tail_messages,
        turns=rules.tail_turns,
    )


Pruned: TypeAlias = tuple[Draft, int]
"""A draft after pruning, and the tokens that frees, estimated."""


def part(draft: Draft, policy: Policy, limits: Limits) -> tuple[Split, Pruned | None]:
    """Head, middle and tail of the draft's path; where they are measured pruned, also the draft with all that may go gone."""
    path, cleared = draft.path, None
    if policy.boundary.tail_measured == "pruned":
        cleared = _edited(draft, policy, protected(draft, None, policy, limits), None)
        path = _sized(cleared[0])
    return split(path, draft.base.covered, shape(policy, limits, first=not draft.base.covered)), cleared


def prune_draft(draft: Draft, parts: Split, policy: Policy, limits: Limits, goal: int | None) -> Pruned:
    """The draft after pruning, until so many tokens are freed; None: all that may go goes."""
    rules = policy.prune
    keep = protected(draft, parts, policy, limits)
    if rules.style == "hidden":
        gone, freed = hidden(visible(draft), policy=rules, keep=keep)
        enough = freed > worth(rules.minimum_gain, draft.tokens_before)
        return (replace(draft, split=Split(gone, parts.tail)), freed) if enough else (draft, 0)
    return _edited(draft, policy, keep, goal)


def protected(draft: Draft, parts: Split | None, policy: Policy, limits: Limits) -> set[int]:
    """Seqs of what pruning leaves alone. parts: None where the tail is measured pruned, and so not known yet."""
    kept = pinned_seqs(draft.path)
    if parts is None or policy.boundary.tail_measured == "pruned":
        return kept | _newest(draft, policy, limits)
    tail = {m.seq for m in draft.path[parts.tail :]}
    return kept | tail | newest(visible(draft), policy.prune, limits.protected)


def visible(draft: Draft) -> Path:
    """The messages of the path that the draft's base shows."""
    return draft.path.without(draft.base.covered)


def worth(amount: Amount, view: int) -> float:
    """A share of a view in tokens, or the tokens that were named."""
    return view * amount if isinstance(amount, float) else amount


def _newest(draft: Draft, policy: Policy, limits: Limits) -> set[int]:
    """The fewest newest messages that are more than the tail before pruning, and the current turn where it may stay."""
    shown = _sized(draft).without(draft.base.covered)
    found = newest(shown, policy.prune, max(limits.protected, limits.tail + 1))
    turn = _current_turn(draft.path)
    small = sum(m.tokens for m in turn) <= shape(policy, limits, first=True).turn
    return found | {m.seq for m in turn} if small else found


def _current_turn(path: Sequence[Message]) -> Sequence[Message]:
    asked = last_unanswered(path)
    return () if asked is None else path[asked:]


def _edited(draft: Draft, policy: Policy, keep: set[int], goal: int | None) -> Pruned:
    report = prune(
        visible(draft),
        policy=policy.prune,
        protected=keep,
        edited={(e.seq, e.part): e for e in draft.edits},
        goal=goal,
        estimate=text_estimate(policy.trigger.estimator),
        untouched={m.seq for m in _current_turn(draft.path)},
    )
    return replace(draft, edits=merged((*draft.edits, *report.edits))), report.freed


def _sized(draft: Draft) -> Path:
    """The path by what the draft shows of it: messages as edited, and what the base covers as its summary."""
    path, fmt, sizes = draft.path, draft.fmt, [*draft.path.sizes]
    plain = plain_of(path, fmt)
    for seq, edits in by_seq(draft.edits).items():
        if (place := path.place(seq)) is not None:
            sizes[place] = plain.edited(path[place], edits, fmt)[1]
    covered = path.inside(draft.base.covered)
    for low, high in covered:
        sizes[low:high] = [0] * (high - low)
    if covered:
        sizes[covered[-1][1] - 1] = fmt.estimate(fmt.user(draft.base.summary))
    return path.sized(sizes)
