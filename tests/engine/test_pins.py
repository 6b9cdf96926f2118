"""Pinned messages stay word for word, in place or behind the summary, until nothing else could give way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_config.limits import Limits
from offturn_config.presets import load, names
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.errors import CannotFit
from offturn_engine.fates import fates
from offturn_engine.formats import get
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.pins import GAVE_WAY, marked, missing, size
from offturn_engine.plan import PruneOnly, Skip, Summarise, apply, emergency, plan
from offturn_engine.render import render
from tests.integration.host import human, says, turns

FMT = get("openai-chat")
POLICY = load("balanced")


def session(count: int = 24, size: int = 2_000) -> list[Message]:
    return [FMT.parse(raw, index=i).placed(i) for i, raw in enumerate(turns("openai-chat", count, size=size))]


def limits(window: int) -> Limits:
    return POLICY.limits(window, 1_000)


def compacted(
    path: Sequence[Message], base: Compaction = NOTHING, *, window: int = 16_000, reason: str = "manual"
) -> Candidate:
    planned = plan(path, base, FMT, policy=POLICY, limits=limits(window), reason=reason)  # type: ignore[arg-type]
    assert not isinstance(planned, Skip), planned
    made = apply(planned, planned.draft.base.sections) if isinstance(planned, Summarise) else planned.candidate
    assert accept(made, minimum_gain=float("-inf")) is None
    return replace(made, compaction=made.compaction.model_copy(update={"number": base.number + 1}))


def raws(path: Sequence[Message], record: Compaction) -> list[object]:
    return list(render(path, record, FMT).messages)


@pytest.mark.parametrize("seq", [4, 5, 6, 7])  # a question, a call, its result, an answer
def test_a_pinned_message_stays_in_place_with_its_group(seq: int) -> None:
    path = marked(session(), {seq})
    made = compacted(path)
    shown = raws(path, made.compaction)
    group = (5, 6) if seq in (5, 6) else (seq,)
    for one in group:
        assert path[one].raw in shown
    assert [m.raw for m in path[1:4]] != shown[1:4]
    assert made.compaction.covered[0] == (0, group[0])
    assert missing(path, made.compaction) == ()


def test_generations_later_it_is_still_there_and_what_is_unpinned_goes() -> None:
    path, base = marked(session(24), {6, 7}), NOTHING
    for more in range(4):
        base = compacted(path, base).compaction
        assert {6, 7} <= {item.seq for item in render(path, base, FMT).items if item.kind == "message"}
        fresh = turns("openai-chat", 24, start=24 * (more + 1))
        path = path + [FMT.parse(raw).placed(len(path) + i) for i, raw in enumerate(fresh)]
    last = compacted(marked(path, set()), base).compaction
    assert not {6, 7} & {item.seq for item in render(path, last, FMT).items}


@pytest.mark.parametrize("seq", [4, 6, 7])
def test_what_was_summarised_before_comes_back_behind_the_summary_when_asked(seq: int) -> None:
    path = session()
    base = compacted(path).compaction
    pinned = marked(path, {seq})
    assert missing(pinned, base) == (seq,)
    assert isinstance(plan(pinned, base, FMT, policy=POLICY, limits=limits(16_000), reason="threshold"), Skip)

    planned = plan(pinned, base, FMT, policy=POLICY, limits=limits(16_000), reason="manual")
    assert isinstance(planned, PruneOnly)
    assert planned.grows
    made = planned.candidate
    assert accept(made, minimum_gain=float("-inf")) is None
    kinds = [item.kind for item in made.rendering.items]
    place = kinds.index("pinned")
    assert kinds[place - 1] == "summary"
    item = made.rendering.items[place]
    if seq == 4:
        assert item.raw == path[4].raw
        assert made.compaction.summary.count("look into module 1.") == 0  # not twice
    else:
        assert str(item.raw["content"]).startswith(f"[m{seq}, pinned, {path[seq].origin}]\n")
        assert str(item.raw["content"]).endswith(str(path[seq].raw["content"]))
    assert {fate.rule for fate in fates(pinned, (made.compaction, base)) if fate.seq == seq} == {"pinned"}
    record = made.compaction.model_copy(update={"number": 2})
    assert isinstance(plan(pinned, record, FMT, policy=POLICY, limits=limits(16_000), reason="manual"), Skip)


def test_an_edit_made_before_is_taken_back() -> None:
    path = [FMT.parse(raw, index=i).placed(i) for i, raw in enumerate(turns("openai-chat", 30, size=300))]
    long = {**path[2].raw, "content": "a line of output\n" * 400}
    path[2] = FMT.parse(long).placed(2)
    edited = compacted(path, window=12_000).compaction
    assert 2 in {edit.seq for edit in edited.edits} or missing(marked(path, {2}), edited)
    again = compacted(marked(path, {2}), edited, window=12_000)
    assert missing(marked(path, {2}), again.compaction) == ()


def test_all_else_gives_way_before_pins_and_pins_before_there_is_no_view() -> None:
    path = session(size=4_000)
    pinned = marked(path, {3, 7})
    need = size(pinned, {3, 7})
    roomy = replace(limits(16_000), usable=need + 4_000)
    made = emergency(pinned, NOTHING, FMT, policy=POLICY, limits=roomy)
    assert GAVE_WAY not in made.compaction.concessions
    assert missing(pinned, made.compaction) == ()
    tight = replace(limits(16_000), usable=need + 300)
    made = emergency(pinned, NOTHING, FMT, policy=POLICY, limits=tight)
    assert made.compaction.concessions[GAVE_WAY] >= 1
    assert accept(made, minimum_gain=float("-inf")) is None
    assert missing(pinned, made.compaction)[0] == 3  # the oldest first
    later = compacted(pinned, made.compaction.model_copy(update={"number": 1}))
    assert missing(pinned, later.compaction) == ()


def test_a_pinned_result_in_the_tail_gives_way_at_last() -> None:
    raws_ = [human("Look."), *turns("openai-chat", 1)[1:3], says("Done."), human("And now?")]
    raws_[2] = {**raws_[2], "content": "a line of output\n" * 2_000}
    path = marked([FMT.parse(raw, index=i).placed(i) for i, raw in enumerate(raws_)], {2})
    made = emergency(path, NOTHING, FMT, policy=POLICY, limits=replace(limits(16_000), usable=1_000))
    assert made.rendering.tokens <= 1_000
    with pytest.raises(CannotFit):
        emergency(path, NOTHING, FMT, policy=POLICY, limits=replace(limits(16_000), usable=1))


@pytest.mark.parametrize("name", names())
@given(pins=st.sets(st.integers(0, 95), max_size=4), window=st.sampled_from([14_000, 20_000, 40_000]))
def test_every_policy_keeps_pins_and_every_promise(name: str, pins: set[int], window: int) -> None:
    policy = load(name).override({"failure.attempts": 3})
    try:
        sizes = policy.limits(window, 1_000)
    except Exception:  # noqa: BLE001 -- a policy that a small window refuses
        return
    path = marked(session(), pins)
    planned = plan(path, NOTHING, FMT, policy=policy, limits=sizes, reason="manual")
    if isinstance(planned, Skip):
        return
    made = apply(planned, NOTHING.sections) if isinstance(planned, Summarise) else planned.candidate
    assert violations(Shown(path, made.compaction, made.rendering, FMT)) == {}
    if GAVE_WAY not in made.compaction.concessions:
        assert missing(path, made.compaction) == ()
