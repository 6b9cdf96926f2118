"""Where a draft's path parts under its policy, and what pruning takes from it before that.

By policy the tail is filled with raw messages, and all before it is pruned; or all but the tail by its raw size is pruned
first, and the tail is filled with what is left, so that it reaches further back (`boundary.tail_measured`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from offturn_config.groups import Amount
from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.boundaries import Shape, Split, split
from offturn_engine.draft import Draft
from offturn_engine.hide import hidden
from offturn_engine.messages import Edit, Message
from offturn_engine.protect import newest
from offturn_engine.prune import merged, prune
from offturn_engine.ranges import contains
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


def part(draft: Draft, policy: Policy, limits: Limits) -> Split:
    """Head, middle and tail of the draft's path."""
    path = draft.path
    if policy.boundary.tail_measured == "pruned":
        path = _sized(_edited(draft, policy, _newest(draft, policy, limits), None)[0])
    return split(path, draft.base.covered, shape(policy, limits, first=not draft.base.covered))


def prune_draft(draft: Draft, parts: Split, policy: Policy, limits: Limits, goal: int | None) -> tuple[Draft, int]:
    """The draft after pruning, and the tokens that frees (estimated); None: all that may go goes."""
    rules = policy.prune
    keep = protected(draft, parts, policy, limits)
    if rules.style == "hidden":
        gone, freed = hidden(visible(draft), policy=rules, keep=keep)
        enough = freed > worth(rules.minimum_gain, draft.tokens_before)
        return (replace(draft, split=Split(gone, parts.tail)), freed) if enough else (draft, 0)
    return _edited(draft, policy, keep, goal)


def protected(draft: Draft, parts: Split, policy: Policy, limits: Limits) -> set[int]:
    """Seqs of what pruning leaves alone."""
    pinned = {m.seq for m in draft.path if m.pinned}
    if policy.boundary.tail_measured == "pruned":
        return pinned | _newest(draft, policy, limits)
    tail = {m.seq for m in draft.path[parts.tail :]}
    return pinned | tail | newest(visible(draft), policy.prune, limits.protected)


def visible(draft: Draft) -> list[Message]:
    """The messages of the path that the draft's base shows."""
    return [m for m in draft.path if not contains(draft.base.covered, m.seq)]


def worth(amount: Amount, view: int) -> float:
    """A share of a view in tokens, or the tokens that were named."""
    return view * amount if isinstance(amount, float) else amount


def _newest(draft: Draft, policy: Policy, limits: Limits) -> set[int]:
    """The fewest newest messages that are more than the tail before pruning, and the current turn where it may stay."""
    shown = [m for m in _sized(draft) if not contains(draft.base.covered, m.seq)]
    found = newest(shown, policy.prune, max(limits.protected, limits.tail + 1))
    turn = _current_turn(draft.path)
    small = sum(m.tokens for m in turn) <= shape(policy, limits, first=True).turn
    return found | {m.seq for m in turn} if small else found


def _current_turn(path: Sequence[Message]) -> Sequence[Message]:
    asked = last_unanswered(path)
    return () if asked is None else path[asked:]


def _edited(draft: Draft, policy: Policy, keep: set[int], goal: int | None) -> tuple[Draft, int]:
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


def _sized(draft: Draft) -> list[Message]:
    """The path by what the draft shows of it: messages as edited, and what the base covers as its summary."""
    edits: dict[int, list[Edit]] = defaultdict(list)
    for edit in draft.edits:
        edits[edit.seq].append(edit)
    covered = [contains(draft.base.covered, m.seq) for m in draft.path]
    last = max((i for i, gone in enumerate(covered) if gone), default=-1)
    summary = draft.fmt.estimate(draft.fmt.user(draft.base.summary))
    return [
        replace(message, tokens=summary if i == last else 0)
        if gone
        else replace(message, tokens=draft.fmt.estimate(draft.fmt.edit(message, edits[message.seq])))
        if message.seq in edits
        else message
        for i, (message, gone) in enumerate(zip(draft.path, covered, strict=True))
    ]
