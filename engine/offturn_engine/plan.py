"""`plan` and `apply`: the function pair every shell calls.

    plan(path, base, ...)  ->  Skip(reason) | PruneOnly(candidate) | Summarise(...)
    apply(summarise, sections)  ->  Candidate

Prune first; then the policy's gate says whether a summary is needed: always, or where pruning misses the soft level or
the target. For a view already below that level (manual, phase end) the goal is the view less the minimum gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.boundaries import Split, including, least_tail
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Compaction, Opaque, PhaseEnd, Reason, Sections, Spent
from offturn_engine.draft import Candidate, Draft, assemble, floor, human_tokens
from offturn_engine.errors import CannotFit
from offturn_engine.fit import concede, without_turn
from offturn_engine.formats.base import Format
from offturn_engine.hide import hidden
from offturn_engine.ledger import ended
from offturn_engine.managed import compacted_in_band
from offturn_engine.messages import Edit, Message
from offturn_engine.notes import LEAD_IN, SYSTEM_NOTE, language_of, spoken
from offturn_engine.outcome import BELOW_TRIGGER, NO_GAIN, NOTHING_TO_COVER, RESTING, TOO_DENSE
from offturn_engine.parting import part, protected, prune_draft, shape, visible, worth
from offturn_engine.path import Path
from offturn_engine.pins import missing, pinned_seqs
from offturn_engine.prompt import output_cap
from offturn_engine.protect import with_newest_results
from offturn_engine.prune import merged, prune
from offturn_engine.ranges import Ranges
from offturn_engine.render import render
from offturn_engine.restore import Allowance, allowance, restores
from offturn_engine.rules_of_thumb import text_estimate
from offturn_engine.tiers import Estimates, levels, tier

HEAD_TRIMMED = "head_trimmed"
"""The concession that counts messages nobody summarised: they left the view, or the summarizer's request."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing to do, and why: `phases_off`, `below_phase_minimum`, `below_trigger`, `nothing_to_cover`, `no_gain`,
    `resting`, `too_dense`.

    no_gain: no summary could save enough. below_trigger, resting: see the outcomes. too_dense: too many summaries in a row have failed,
    or human words that this policy never cuts are above the ceiling by themselves.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class PruneOnly:
    """Pruning, or the ledger alone, reaches the goal: nothing to ask a model for.

    grows: it is made to show pinned messages again, and may be larger than what it replaces.
    """

    candidate: Candidate
    grows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """The gate asks for a summary of `messages` (newly covered; `edits` are the policy's source edits of them)."""

    draft: Draft
    messages: tuple[Message, ...]
    edits: Mapping[tuple[int, int], Edit]
    previous: Sections
    focus: str
    note: str
    language: str
    max_output_tokens: int
    ceiling: int
    restore: Allowance
    policy: Policy


Plan: TypeAlias = Skip | PruneOnly | Summarise


def plan(
    path: Sequence[Message],
    base: Compaction,
    fmt: Format,
    *,
    policy: Policy,
    limits: Limits,
    reason: Reason = "threshold",
    focus: str = "",
    note: str = "",
    phases: Sequence[PhaseEnd] = (),
    failures: int = 0,
    least: Ranges = (),
) -> Plan:
    """Decide what a compaction of this path would be. `limits` are in estimate units.

    phases: ends that the host told of and that no generation knows, each at the last seq that the log had then.
    failures: jobs in a row that could not finish; only the tiers of rule K1 look at them. least: what must be covered,
    because something that this is to replace does. Asked for by hand, it brings pinned messages back even where there is
    nothing else to do.
    """
    if not path:
        return Skip(NOTHING_TO_COVER)
    path = Path.of(path)
    told = ended(path, base.phases, phases)
    made = _planned(path, base, fmt, policy, limits, reason, focus, note, told, failures, least)
    if isinstance(made, Skip) and reason == "manual" and missing(path, base):
        candidate = assemble(draft_of(path, base, fmt, policy, limits, reason, told))
        return PruneOnly(candidate, grows=True) if candidate.rendering.tokens <= limits.ceiling else made
    return made


def _planned(
    path: Path,
    base: Compaction,
    fmt: Format,
    policy: Policy,
    limits: Limits,
    reason: Reason,
    focus: str,
    note: str,
    phases: tuple[PhaseEnd, ...],
    failures: int,
    least: Ranges,
) -> Plan:
    draft = draft_of(path, base, fmt, policy, limits, reason, phases)
    before = draft.tokens_before
    if reason == "phase" and (unwanted := _no_phase(before, policy, limits)):
        return Skip(unwanted)
    goal = min(_level(policy, limits), int(before * (1 - policy.size.minimum_gain)))
    parts, cleared = part(draft, policy, limits)
    parts = including(parts, path, base.covered, least)
    early = _early(draft, parts, policy, limits, failures)
    if early is not None:
        return early
    asked = policy.gate == "always_summarise" and parts.cover
    if asked and cleared is not None and policy.prune.style != "hidden":
        pruned, freed = cleared
    else:
        pruned, freed = prune_draft(draft, parts, policy, limits, None if asked else before - goal)
    if not asked and (before - freed <= goal or not parts.cover):
        candidate = assemble(pruned)
        saved = before - candidate.rendering.tokens
        if saved >= (worth(policy.prune.minimum_gain, before) if parts.cover else before * policy.size.minimum_gain):
            return PruneOnly(candidate)
    if not parts.cover:
        return Skip(NOTHING_TO_COVER)
    draft = replace(draft, split=parts, edits=pruned.edits if asked else draft.edits, restores=())
    if (why := _hopeless(draft, policy, limits)) is not None:
        return Skip(why)
    wanted = _summarise(draft, pruned.edits, policy, limits, focus, note)
    if policy.summary.ledger_first:
        candidate = apply(wanted, NO_SECTIONS)
        if not candidate.compaction.over_target:
            return PruneOnly(candidate)
    return wanted


def _early(draft: Draft, parts: Split, policy: Policy, limits: Limits, failures: int) -> Plan | None:
    """What needs no gate: the provider has compacted already, a step between two compactions, or a tier is enough."""
    managed = policy.remote.mode == "managed"
    done = compacted_in_band(draft.path, draft.base.covered, system=limits.tail) if managed else None
    if done is not None:
        covering = replace(draft, split=done, restores=())
        return PruneOnly(apply(_summarise(covering, draft.edits, policy, limits, "", ""), NO_SECTIONS))
    if draft.reason != "threshold":
        return None
    if policy.prune.when == "every-turn" and draft.tokens_before < limits.soft:
        return _step(draft, parts, policy, limits)
    return _tiered(draft, parts, policy, limits, failures) if policy.tiers.enabled else None


def apply(
    wanted: Summarise,
    sections: Sections,
    *,
    spent: Spent = NOTHING_SPENT,
    model: str = "",
    provisional: bool = False,
    head_trimmed: int = 0,
    opaque: Opaque | None = None,
) -> Candidate:
    """The candidate of a plan and what the summarizer wrote; empty sections: the ledger is the summary.

    head_trimmed: messages left out of the summarizer's request. opaque: a provider's item for exactly what the plan
    covers; where more has to be covered, it goes.
    """
    draft = replace(
        wanted.draft,
        sections=sections,
        opaque=opaque,
        method="remote" if opaque else "model" if sections.titles else "extractive",
        spent=spent,
        model=model,
        provisional=provisional,
    )
    if head_trimmed:
        draft = draft.conceding(HEAD_TRIMMED, head_trimmed)
    try:
        return _restored(concede(draft, wanted.ceiling, wanted.policy.prune), wanted)
    except CannotFit as least:
        if least_tail(draft.path) > wanted.ceiling:  # then the ceiling does not count: giving way would be for nothing
            return assemble(draft)
        return _restored(concede(draft, least.tokens, wanted.policy.prune), wanted)


def _restored(made: Candidate, wanted: Summarise) -> Candidate:
    """With what the policy restores: the target was looked at before, soft level and minimum gain are kept."""
    if made.draft.opaque and made.draft.split is not wanted.draft.split:
        made = assemble(replace(made.draft, opaque=None, method="extractive"), made.account)
    allowed, bare, before = wanted.restore, made.rendering.tokens, made.draft.tokens_before
    most = min(allowed.below, int(before * (1 - wanted.policy.size.minimum_gain)))
    found = restores(made.draft.path, made.compaction, made.draft.fmt, allowed, most - bare)
    return assemble(replace(made.draft, restores=found), made.account) if found else made


def emergency(path: Sequence[Message], base: Compaction, fmt: Format, *, policy: Policy, limits: Limits) -> Candidate:
    """A view that fits `limits.usable`, made without a model and without waiting. Raises CannotFit.

    Where pruning before the tail brings it to the soft level nothing more is covered: the next messages find room.
    """
    draft = replace(draft_of(path, base, fmt, policy, limits, "overflow", base.phases), provisional=True)
    parts, _ = part(draft, policy, limits)
    goal = min(limits.soft, limits.usable)
    pruned, freed = prune_draft(draft, parts, policy, limits, draft.tokens_before - goal)
    if freed and draft.tokens_before - freed <= goal:
        candidate = assemble(pruned)
        if candidate.rendering.tokens <= goal:
            return candidate
    if parts.cover:
        draft = replace(draft, split=parts, method="extractive")
    try:
        return concede(draft, limits.usable, policy.prune)
    except CannotFit:
        if (rest := without_turn(draft)) is None:
            raise
        return concede(rest, limits.usable, policy.prune)


def widen(candidate: Candidate, path: Sequence[Message], covered: Ranges) -> Candidate:
    """The same paid summary over everything an emergency covered meanwhile; ledger and human messages fill the gap.

    `path` is the path as it is now; `covered` what the current (provisional) generation covers.
    """
    draft, path = candidate.draft, Path.of(path)
    split = including(Split(candidate.compaction.covered, 0), path, draft.base.covered, covered)
    method = "extractive" if draft.method in ("prune", "remote") else draft.method
    return assemble(replace(draft, path=path, split=split, method=method, opaque=None))


def draft_of(
    path: Sequence[Message],
    base: Compaction,
    fmt: Format,
    policy: Policy,
    limits: Limits,
    reason: Reason,
    phases: tuple[PhaseEnd, ...],
) -> Draft:
    """A draft that covers and edits what the base does. phases: the ends that the host told."""
    path, after = Path.of(path), policy.after
    pinned = pinned_seqs(path)
    language = language_of(path) if after.lead_in or after.system_note else ""
    return Draft(
        path=path,
        fmt=fmt,
        base=base,
        split=None,
        edits=tuple(edit for edit in base.edits if edit.seq not in pinned),
        human_budget=limits.human,
        ledger_budget=limits.ledger,
        system_budget=limits.tail,
        head=shape(policy, limits, first=not base.covered).head,
        keep_human=shape(policy, limits, first=not base.covered).human,
        human_rules=policy.human,
        lead_in=LEAD_IN[language] if after.lead_in else "",
        system_note=base.system_note or (SYSTEM_NOTE[language] if after.system_note else ""),
        role=after.summary_role,
        phases=phases,
        restores=base.restores,
        method="prune",
        reason=reason,
        policy=policy.hash,
        target=limits.target,
        measure=text_estimate(policy.trigger.estimator),
        tokens_before=render(path, base, fmt).tokens,
    )


def _no_phase(before: int, policy: Policy, limits: Limits) -> str:
    """Why the end of a phase is no reason; "" where it is one."""
    if not policy.trigger.phase:
        return "phases_off"
    return "below_phase_minimum" if before < limits.phase_minimum else ""


def _hopeless(draft: Draft, policy: Policy, limits: Limits) -> str | None:
    """Why no summary could be published; nobody is paid for one then."""
    least, before = floor(draft), draft.tokens_before
    # Between the two the ceiling makes human words give way, and the view gets smaller than that.
    bound = least <= limits.ceiling or least_tail(draft.path) > limits.ceiling
    if bound and before - least < before * policy.size.minimum_gain:
        return NO_GAIN
    if policy.human.sacred and least + human_tokens(draft) > limits.ceiling >= least_tail(draft.path):
        return TOO_DENSE
    return None


def _level(policy: Policy, limits: Limits) -> int:
    """The size from which pruning alone is not enough."""
    return limits.soft if policy.gate == "if_above_trigger" else limits.target


def _step(draft: Draft, parts: Split, policy: Policy, limits: Limits) -> Skip | PruneOnly:
    """Below the trigger: prune all that may go, but only once that frees the minimum gain (cache-friendly steps)."""
    pruned, freed = prune_draft(draft, parts, policy, limits, None)
    least = _least_gain(policy, draft.tokens_before)
    if freed < least:
        return Skip(RESTING)
    candidate = assemble(pruned)
    # What is freed is an estimate. Without the gain it would count as a strike, in a view that is not full.
    return PruneOnly(candidate) if draft.tokens_before - candidate.rendering.tokens >= least else Skip(RESTING)


def _least_gain(policy: Policy, view: int) -> float:
    """What a view must lose for a generation to be published."""
    return max(worth(policy.prune.minimum_gain, view), view * policy.size.minimum_gain)


def _tiered(draft: Draft, parts: Split, policy: Policy, limits: Limits, failures: int) -> Skip | PruneOnly | None:
    """What the tiers before the summary make of a view that has grown to the trigger; None: a summary is needed."""
    base, before = draft.base, draft.tokens_before
    pruned, freed = prune_draft(draft, parts, policy, limits, before - limits.target)
    cleared = assemble(pruned) if freed else None
    hiding = _without_uses(pruned, parts, policy, limits) if policy.tiers.clear_uses else None
    sizes = Estimates(
        now=before,
        cleared=cleared.rendering.tokens if cleared else before,
        without_uses=hiding.rendering.tokens if hiding else None,
        cleared_before=base.tokens_after if base.number and base.method == "prune" else None,
    )
    found = tier(sizes, levels(policy, limits), failures=failures, attempts=policy.failure.attempts)
    if found == 0:
        return Skip(BELOW_TRIGGER)
    if found == TOO_DENSE:
        return Skip(TOO_DENSE)
    candidate = cleared if found == 1 else hiding if found == 2 else None
    if found == 3:
        return None
    if candidate is None or before - candidate.rendering.tokens < _least_gain(policy, before):
        return Skip(NO_GAIN if found == 2 else RESTING)
    return PruneOnly(candidate)


def _without_uses(pruned: Draft, parts: Split, policy: Policy, limits: Limits) -> Candidate | None:
    """The view without whole old groups and old reasoning, down to the target (rule K5); None where nothing goes."""
    rules = policy.prune.model_copy(update={"style": "off", "reasoning": "drop", "argument_characters": 0})
    shown, keep = visible(pruned), protected(pruned, parts, policy, limits)
    edited = {(e.seq, e.part): e for e in pruned.edits}
    thoughts = prune(shown, policy=rules, protected=keep, edited=edited)
    draft = replace(pruned, edits=merged((*pruned.edits, *thoughts.edits)))
    over = render(draft.path, draft.base.model_copy(update={"edits": draft.edits}), draft.fmt).tokens - limits.target
    kept = keep | with_newest_results(shown, rules)
    gone, freed = hidden(shown, policy=rules, keep=kept, goal=over)
    if not thoughts.edits and not freed:
        return None
    return assemble(replace(draft, split=Split(gone, parts.tail)) if gone else draft)


def _summarise(draft: Draft, edits: Sequence[Edit], policy: Policy, limits: Limits, focus: str, note: str) -> Summarise:
    assert draft.split is not None
    covered = tuple(draft.path.within(draft.split.cover))
    measure = text_estimate(policy.trigger.estimator)
    return Summarise(
        draft=draft,
        messages=covered,
        edits={(e.seq, e.part): e for e in edits} if policy.summary.source == "pruned" else {},
        previous=draft.base.sections,
        focus=focus,
        note=note,
        language=spoken(draft.path),
        max_output_tokens=output_cap(policy.summary, limits.summary, covered, draft.base.sections, measure),
        ceiling=limits.ceiling,
        restore=allowance(policy, limits),
        policy=policy,
    )
