"""The promises about views over transcripts that no host should send, generation after generation."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from offturn_config.limits import Limits
from offturn_config.presets import load
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate
from offturn_engine.errors import CannotFit
from offturn_engine.formats.base import Format
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, Summarise, apply, emergency, plan, widen
from offturn_engine.ranges import inside
from offturn_engine.render import render
from offturn_engine.turns import last_unanswered
from tests.engine.raws import FORMATS, odd, placed

POLICY = load()
WORDS = st.sampled_from([Sections(), Sections(titles=("Goal",), bodies=("- repair it",))])
PATHS = st.sampled_from(FORMATS).flatmap(lambda fmt: odd(fmt).map(lambda raws: (fmt, placed(raws, fmt))))
SHARES = st.sampled_from([0.3, 0.6, 0.9])


def limits_for(tokens: int, share: float) -> Limits:
    made = POLICY.limits(max(400, int(tokens / share)))
    return replace(made, tail=max(1, made.target // 4), human=max(20, made.window // 10))


def checked(path: list[Message], record: Compaction, fmt: Format) -> int:
    """The view's size, once its promises hold."""
    view = render(path, record, fmt)
    assert violations(Shown(path, record, view, fmt)) == {}
    return view.tokens


def next_of(path: list[Message], base: Compaction, fmt: Format, limits: Limits, words: Sections) -> Candidate | None:
    planned = plan(path, base, fmt, policy=POLICY, limits=limits, reason="manual")
    if isinstance(planned, Skip):
        return None
    made = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, words)
    refused = accept(made, minimum_gain=POLICY.size.minimum_gain)
    assert refused is None or not refused.broken
    return None if refused else made


@given(PATHS, st.lists(st.integers(1, 40), min_size=1, max_size=4), SHARES, WORDS)
@settings(max_examples=200, deadline=None)
def test_generation_after_generation(
    session: tuple[Format, list[Message]], ends: list[int], share: float, words: Sections
) -> None:
    fmt, path = session
    base = NOTHING
    for end in sorted({min(end, len(path)) for end in ends}):
        now = path[:end]
        before = checked(now, base, fmt)
        made = next_of(now, base, fmt, limits_for(before, share), words)
        event(made.compaction.method if made else "nothing")
        if made is None:
            continue
        record = made.compaction
        assert checked(now, record, fmt) <= before * (1 - POLICY.size.minimum_gain)
        assert inside(base.covered, record.covered)
        asked = last_unanswered(now)
        assert record.replay is None or (asked is not None and now[asked].seq == record.replay)
        assert {i.key for i in base.ledger if i.kind == "constraint"} <= {i.key for i in record.ledger}
        assert Compaction.model_validate_json(record.model_dump_json()) == record
        for later in range(end, min(end + 5, len(path)) + 1):
            checked(path[:later], record, fmt)
        base = record.model_copy(update={"number": base.number + 1})


@given(PATHS, SHARES)
@settings(max_examples=200, deadline=None)
def test_an_emergency_fits_or_says_what_it_needs(session: tuple[Format, list[Message]], share: float) -> None:
    fmt, path = session
    usable = int(render(path, NOTHING, fmt).tokens * share)
    needs = 0
    try:
        made = emergency(path, NOTHING, fmt, policy=POLICY, limits=replace(limits_for(usable, 0.9), usable=usable))
    except CannotFit as problem:
        needs = problem.tokens
    if needs:
        assert needs > usable
    else:
        assert checked(path, made.compaction, fmt) == made.rendering.tokens <= usable


@given(PATHS, st.integers(1, 40), WORDS)
@settings(max_examples=100, deadline=None)
def test_a_paid_summary_goes_over_any_emergency(
    session: tuple[Format, list[Message]], end: int, words: Sections
) -> None:
    fmt, path = session
    limits = limits_for(render(path, NOTHING, fmt).tokens, 0.6)
    paid = plan(path[:end], NOTHING, fmt, policy=POLICY, limits=limits, reason="manual")
    try:
        urgent = emergency(path, NOTHING, fmt, policy=POLICY, limits=limits)
    except CannotFit:
        return
    if not isinstance(paid, Summarise):
        return
    wide = widen(apply(paid, words), path, urgent.compaction.covered)
    assert inside(urgent.compaction.covered, wide.compaction.covered)
    checked(path, wide.compaction, fmt)
