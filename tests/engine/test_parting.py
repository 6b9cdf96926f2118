"""Parting a path by what pruning leaves of it: the tail reaches further back, and the current turn stays raw."""

from __future__ import annotations

from offturn_config.presets import load
from offturn_engine.compaction import NO_SECTIONS
from offturn_engine.messages import Message
from offturn_engine.plan import Summarise, apply
from tests.engine.raws import Raw, human, says, system
from tests.policies.histories import path_of, planned, reads, turns
from tests.policies.scripted import generation, wanted

PRUNED = load("hermes-0.19")
RAW = load("hermes-0.19", {"boundary.tail_measured": "raw"})
WINDOW = 200_000


def path(*more: Raw, count: int = 60) -> list[Message]:
    work = [raw for i in range(count) for raw in turns(1, each=reads(1, 2_000, first=i))]
    return path_of([system("s"), *work, *more], PRUNED)


def test_the_tail_is_filled_with_what_pruning_leaves() -> None:
    messages = path(human("on"), count=400)
    raw, pruned = wanted(messages, RAW, WINDOW), wanted(messages, PRUNED, WINDOW)
    assert raw.draft.split is not None
    assert pruned.draft.split is not None
    assert pruned.draft.split.tail < raw.draft.split.tail
    tail = {m.seq for m in messages[pruned.draft.split.tail :]}
    assert {e.seq for e in pruned.draft.edits} & tail, "older results of the tail are lines"
    assert not {e.seq for e in raw.draft.edits} & {m.seq for m in messages[raw.draft.split.tail :]}


def test_no_more_than_the_tail_by_its_raw_size_stays_unpruned() -> None:
    messages = path(human("on"))
    edits = {e.seq for e in wanted(messages, PRUNED, WINDOW).draft.edits}
    unpruned = [m for m in messages if m.results and m.seq not in edits]
    assert len(unpruned) == 15  # 2,010 tokens each, and what is said beside them, in 30,000


def test_the_current_turn_stays_as_it_is_while_half_the_target_holds_it() -> None:
    turn = [human("on"), *reads(20, 2_000, first=100)]
    messages = path(*turn)
    edits = {e.seq for e in wanted(messages, PRUNED, WINDOW).draft.edits}
    assert not edits & {m.seq for m in messages[-len(turn) :]}
    longer = path(human("on"), *reads(40, 2_000, first=100))
    assert {e.seq for e in wanted(longer, PRUNED, WINDOW).draft.edits} & {m.seq for m in longer[-81:]}


def test_a_second_compaction_measures_what_the_first_one_shows() -> None:
    """By their raw sizes the edited messages of the tail would no longer fit into it."""
    base = generation(apply(wanted(path(human("on"), count=400), PRUNED, WINDOW), NO_SECTIONS))
    grown = path(human("on"), says("done"), human("go on"), count=400)
    found = planned(grown, PRUNED, PRUNED.limits(WINDOW), base=base, reason="manual")
    assert isinstance(found, Summarise)
    assert found.draft.split is not None
    assert found.draft.split.cover == ((1, 4), (834, 838)), "the head, which decays, and the oldest turn of the tail"
