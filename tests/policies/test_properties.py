"""For every preset and any history: nothing that is spared is touched, all promises hold, no view grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_config.presets import load, names
from offturn_engine import formats
from offturn_engine.accept import accept
from offturn_engine.boundaries import split
from offturn_engine.compaction import NOTHING, Sections
from offturn_engine.draft import Candidate
from offturn_engine.errors import CannotFit
from offturn_engine.formats import get, parse_all
from offturn_engine.groups import pair
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message, ThinkingPart, ToolCallPart
from offturn_engine.parting import shape
from offturn_engine.plan import PruneOnly, Skip, Summarise, apply, emergency, plan
from offturn_engine.protect import newest
from offturn_engine.ranges import contains
from offturn_engine.side_effects import changes_outside
from tests.engine.raws import Raw, odd
from tests.engine.strategies import transcripts

SCALE = 200  # the limits of a large window, divided: histories here are short
SECTIONS = Sections(titles=("Goal",), bodies=("- repair it",))
FORMATS = st.sampled_from(formats.names())
HISTORIES = {
    name: st.one_of(transcripts(name, turns=8, big=True, orphans=True), odd(get(name))) for name in formats.names()
}


@cache
def small(name: str) -> Limits:
    """The limits of a preset for a window of 200,000 tokens, divided."""
    limits = load(name).limits(200_000, 20_000)
    sizes = {f.name: getattr(limits, f.name) for f in fields(limits)}
    return replace(limits, **{name: size if size > 10**8 else max(size // SCALE, 0) for name, size in sizes.items()})


def scaled(name: str, overrides: dict[str, object]) -> Policy:
    """The preset with its absolute sizes divided as the limits are."""
    policy = load(name)
    gain, buffer = policy.prune.minimum_gain, policy.trigger.buffer
    changes = {
        "trigger.buffer": buffer // SCALE,
        "prune.minimum_gain": gain // SCALE if isinstance(gain, int) else gain,
    }
    return policy.override({**changes, **overrides})


def spared(path: list[Message], policy: Policy, limits: Limits) -> tuple[set[int], set[tuple[int, int]]]:
    """Seqs that must stay as they are, and the places of results that must: newest ones, and records of changes."""
    parts = split(path, (), shape(policy, limits, first=True))
    seqs = {m.seq for m in path[parts.tail :]} | newest(path, policy.prune, limits.protected)
    pairs = pair(path)
    places: set[tuple[int, int]] = set()
    for i, message in enumerate(path):
        for part, _ in message.results:
            place = pairs.call_of.get((i, part))
            call = path[place[0]].parts[place[1]] if place else None
            if policy.prune.side_effects and (not isinstance(call, ToolCallPart) or changes_outside(call)):
                places.add((message.seq, part))
    return seqs, places


def check(candidate: Candidate, policy: Policy, limits: Limits) -> None:
    draft, record = candidate.draft, candidate.compaction
    assert violations(Shown(draft.path, record, candidate.rendering, draft.fmt)) == {}
    if accept(candidate, minimum_gain=policy.size.minimum_gain) is None:
        assert record.tokens_after < record.tokens_before
    gone = {(e.seq, e.part) for e in record.edits}
    for edit in record.edits:  # signed reasoning goes with that of its whole turn
        at = next(i for i, m in enumerate(draft.path) if m.seq == edit.seq)
        if edit.part in signed(draft.path[at]):
            turn = [m for m in turn_of(draft.path, at) if not contains(record.covered, m.seq)]
            assert all((m.seq, part) in gone for m in turn for part in signed(m))


def signed(message: Message) -> list[int]:
    return [i for i, p in enumerate(message.parts) if isinstance(p, ThinkingPart) and p.signed]


def turn_of(path: Sequence[Message], at: int) -> Sequence[Message]:
    """The messages from the human one before this index to the next."""
    low = max((i for i in range(at + 1) if path[i].origin == "human"), default=0)
    high = next((i for i in range(at + 1, len(path)) if path[i].origin == "human"), len(path))
    return path[low:high]


def stands_again(path: Sequence[Message], place: tuple[int, int], touched: set[tuple[int, int]]) -> bool:
    """Does a later result, which is shown as it is, say the same?"""
    (text,) = (dict(m.results)[place[1]].text for m in path if m.seq == place[0])
    later = ((m.seq, i, result.text) for m in path for i, result in m.results if m.seq >= place[0])
    return any(said == text and (seq, i) != place and (seq, i) not in touched for seq, i, said in later)


@pytest.mark.parametrize("name", names())
@settings(max_examples=30)
@given(st.data())
def test_every_candidate_of_every_policy_keeps_its_promises(name: str, data: st.DataObject) -> None:
    format_name = data.draw(FORMATS)
    raws: list[Raw] = data.draw(HISTORIES[format_name])
    overrides: dict[str, object] = {"prune.reasoning": data.draw(st.sampled_from(["keep", "drop"]))}
    overrides["prune.images"] = data.draw(st.sampled_from([None, 0, 1]))
    policy = scaled(name, overrides)
    limits = small(policy.name)
    fmt = get(format_name, policy.trigger.estimator)
    path = parse_all(fmt, raws)
    reason = data.draw(st.sampled_from(["threshold", "phase", "manual"]))
    failures = data.draw(st.integers(0, 3))

    found = plan(path, NOTHING, fmt, policy=policy, limits=limits, reason=reason, failures=failures)  # type: ignore[arg-type]
    if isinstance(found, Skip):
        return
    candidate = found.candidate if isinstance(found, PruneOnly) else apply(found, SECTIONS)
    check(candidate, policy, limits)
    if isinstance(found, Summarise) or candidate.compaction.method != "prune":
        return
    assert candidate.compaction.tokens_after <= candidate.compaction.tokens_before
    seqs, places = spared(path, policy, limits)
    touched = {(e.seq, e.part) for e in candidate.compaction.edits}
    twice = {
        (e.seq, e.part) for e in candidate.compaction.edits if e.rule == "duplicate" and policy.prune.deduplicate_tail
    }
    assert not seqs & {seq for seq, _ in touched - twice}
    assert all(stands_again(path, place, touched) for place in twice)
    assert not [seq for seq in seqs if contains(candidate.compaction.covered, seq)]
    if overrides["prune.images"] is None:
        assert not places & touched
    assert not [seq for seq, _ in places if contains(candidate.compaction.covered, seq)]
    assert not [m.seq for m in path if m.origin == "human" and contains(candidate.compaction.covered, m.seq)]


@pytest.mark.parametrize("name", names())
@settings(max_examples=30)
@given(st.data())
def test_a_second_compaction_by_any_other_policy_keeps_them_too(name: str, data: st.DataObject) -> None:
    format_name = data.draw(FORMATS)
    raws: list[Raw] = data.draw(HISTORIES[format_name])
    first = scaled(data.draw(st.sampled_from(names())), {"prune.reasoning": "drop", "prune.images": 1})
    second = scaled(name, {})
    base, end = NOTHING, len(raws) * 2 // 3
    for number, (policy, raws_) in enumerate(((first, raws[:end]), (second, raws)), 1):
        fmt = get(format_name, policy.trigger.estimator)
        path = parse_all(fmt, raws_)
        limits = small(policy.name)
        found = plan(path, base, fmt, policy=policy, limits=limits, reason="manual")
        try:
            made = (
                emergency(path, base, fmt, policy=policy, limits=replace(limits, usable=limits.soft))
                if isinstance(found, Skip) and path
                else found.candidate
                if isinstance(found, PruneOnly)
                else apply(found, SECTIONS)
                if isinstance(found, Summarise)
                else None
            )
        except CannotFit:
            continue
        if made is not None:
            check(made, policy, limits)
            base = made.compaction.model_copy(update={"number": number})
