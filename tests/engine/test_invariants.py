"""The promises about views (docs/design.md), as properties over generated transcripts in both formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_config.presets import load
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate
from offturn_engine.errors import CannotFit
from offturn_engine.fit import concede
from offturn_engine.formats import get, names, parse_all
from offturn_engine.formats.base import Format
from offturn_engine.invariants import ALL, Shown, extends, legal_cut_points, violations
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, apply, emergency, plan, widen
from offturn_engine.ranges import contains, inside, ranges_of
from offturn_engine.render import render
from tests.engine.dialects import said_in
from tests.engine.makers import Raw
from tests.engine.strategies import transcripts

FORMATS = names()
POLICY = load()
SECTIONS = Sections(titles=("Goal", "Next Steps"), bodies=("- repair it", "- run the tests"))


def parsed(raws: Sequence[Raw], fmt: Format) -> list[Message]:
    return parse_all(fmt, raws)


def limits_for(path: Sequence[Message], share: float = 0.6) -> Limits:
    """Limits under which this path has just reached the soft level; tails small enough to leave a middle."""
    window = max(400, int(sum(m.tokens for m in path) / share))
    made = POLICY.limits(window)
    return replace(made, tail=max(1, made.target // 4), human=max(40, window // 10), ledger=max(20, window // 20))


def candidate_of(path: list[Message], base: Compaction, fmt: Format, sections: Sections) -> Candidate | None:
    planned = plan(path, base, fmt, policy=POLICY, limits=limits_for(path), reason="manual")
    if isinstance(planned, Skip):
        return None
    return planned.candidate if isinstance(planned, PruneOnly) else apply(planned, sections)


def shown(path: Sequence[Message], record: Compaction, fmt: Format) -> Shown:
    return Shown(path, record, render(path, record, fmt), fmt)


@st.composite
def sessions(draw: st.DrawFn, *, orphans: bool = False) -> tuple[str, list[Raw]]:
    name = draw(st.sampled_from(FORMATS))
    first = draw(transcripts(name, big=True, orphans=orphans))
    return name, first + draw(transcripts(name, big=True, system=False))


@given(sessions())
@settings(max_examples=150, deadline=None)
def test_append_only(session: tuple[str, list[Raw]]) -> None:
    """Generation 0 shows every message as the host recorded it, as JSON values."""
    name, raws = session
    fmt = get(name)
    view = render(parsed(raws, fmt), NOTHING, fmt)
    assert sorted(map(repr, (i.raw for i in view.items if i.kind == "message"))) == sorted(map(repr, raws))
    assert [i.seq for i in view.items if i.kind == "message" and raws[i.seq].get("role") != "tool"] or not raws


@given(sessions(orphans=True))
@settings(max_examples=150, deadline=None)
def test_every_generation_keeps_every_promise(session: tuple[str, list[Raw]]) -> None:
    """A generation, one more on top of it, and one without the model's words: nothing is violated."""
    name, raws = session
    fmt = get(name)
    path = parsed(raws, fmt)
    base = NOTHING
    for end, sections in ((max(1, len(path) // 2), SECTIONS), (len(path), SECTIONS), (len(path), Sections())):
        made = candidate_of(path[:end], base, fmt, sections)
        event(f"{made.compaction.method if made else None} on {base.method if base.number else None}")
        if made is None:
            continue
        assert violations(Shown(path[:end], made.compaction, made.rendering, fmt)) == {}
        assert inside(base.covered, made.compaction.covered)
        base = made.compaction.model_copy(update={"number": base.number + 1})


@given(sessions())
@settings(max_examples=150, deadline=None)
def test_cache_stable(session: tuple[str, list[Raw]]) -> None:
    """Within a generation a view only grows at its end, but where a synthetic result gives way to the real one."""
    name, raws = session
    fmt = get(name)
    path = parsed(raws, fmt)
    half = max(1, len(path) // 2)
    made = candidate_of(path[:half], NOTHING, fmt, SECTIONS)
    event(f"cache: {made.compaction.method if made else None}")
    record = made.compaction if made else NOTHING
    before = render(path[:half], record, fmt)
    for end in range(half, len(path) + 1):
        after = render(path[:end], record, fmt)
        stable = before.items[: next((i for i, item in enumerate(before.items) if item.kind == "synthetic"), None)]
        if not before.pending:
            assert extends([i.raw for i in stable], after.messages)
        assert violations(Shown(path[:end], record, after, fmt)) == {}
        before = after


@given(sessions())
@settings(max_examples=100, deadline=None)
def test_human_words_are_sacred(session: tuple[str, list[Raw]]) -> None:
    """Every covered human message is in the view verbatim while the budget holds them all, and counted if not."""
    name, raws = session
    fmt = get(name)
    path = parsed(raws, fmt)
    made = candidate_of(path, NOTHING, fmt, SECTIONS)
    if made is None:
        return
    record = made.compaction
    humans = [m for m in path if m.origin == "human" and contains(record.covered, m.seq) and m.seq != record.replay]
    counted = record.audit.human_verbatim + record.audit.human_cut + record.audit.human_by_handle
    assert counted == len(humans)
    if record.audit.human_verbatim == len(humans):
        assert all(m.text in record.summary for m in humans)


@given(sessions(), st.floats(0.05, 0.9))
@settings(max_examples=150, deadline=None)
def test_it_fits(session: tuple[str, list[Raw]], share: float) -> None:
    """An emergency view fits the limit and keeps the promises, or CannotFit says what is needed."""
    name, raws = session
    fmt = get(name)
    path = parsed(raws, fmt)
    limits = replace(limits_for(path), usable=int(sum(m.tokens for m in path) * share))
    try:
        made = emergency(path, NOTHING, fmt, policy=POLICY, limits=limits)
    except CannotFit as problem:
        too_large, limit = problem.tokens, problem.limit
    else:
        too_large, limit = 0, limits.usable
    assert limit == limits.usable
    if too_large:
        assert too_large > limit
        return
    assert made.rendering.tokens <= limits.usable
    assert made.compaction.provisional
    assert violations(Shown(path, made.compaction, made.rendering, fmt)) == {}


@given(sessions())
@settings(max_examples=60, deadline=None)
def test_progress_or_nothing(session: tuple[str, list[Raw]]) -> None:
    """What is accepted saves at least the minimum gain."""
    name, raws = session
    fmt = get(name)
    made = candidate_of(parsed(raws, fmt), NOTHING, fmt, Sections())
    if made is not None and accept(made, minimum_gain=0.2) is None:
        assert made.compaction.tokens_after <= made.compaction.tokens_before * 0.8


@given(sessions())
@settings(max_examples=60, deadline=None)
def test_a_paid_summary_can_be_put_over_an_emergency(session: tuple[str, list[Raw]]) -> None:
    name, raws = session
    fmt = get(name)
    path = parsed(raws, fmt)
    half = max(1, len(path) // 2)
    paid = candidate_of(path[:half], NOTHING, fmt, SECTIONS)
    limits = limits_for(path)
    try:
        made = emergency(path, NOTHING, fmt, policy=POLICY, limits=limits)
    except CannotFit:
        return
    if paid is None or not made.compaction.covered or paid.draft.split is None:
        return
    wide = widen(paid, path, made.compaction.covered)
    assert inside(made.compaction.covered, wide.compaction.covered)
    assert wide.compaction.sections == SECTIONS
    assert violations(Shown(path, wide.compaction, wide.rendering, fmt)) == {}


@given(sessions())
@settings(max_examples=60, deadline=None)
def test_cut_points_never_part_a_group(session: tuple[str, list[Raw]]) -> None:
    name, raws = session
    path = parsed(raws, get(name))
    from offturn_engine.groups import pair

    pairs = pair(path)
    for cut in legal_cut_points(path):
        for (call, _), (result, _) in pairs.result_of.items():
            assert not call < cut <= result


def talk(*texts: str) -> list[Raw]:
    return [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(texts)]


def with_calls() -> list[Raw]:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "and hurry"},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]


def test_a_message_inside_a_group_is_shown_after_it() -> None:
    fmt = get("openai-chat")
    view = render(parsed(with_calls(), fmt), NOTHING, fmt)
    assert [m["role"] for m in view.messages] == ["user", "assistant", "tool", "user"]


def test_a_call_that_something_follows_is_closed_until_its_result_comes() -> None:
    fmt = get("openai-chat")
    view = render(parsed(with_calls()[:3], fmt), NOTHING, fmt)
    assert [i.kind for i in view.items] == ["message", "message", "synthetic", "message"]
    assert view.closed == 1
    assert view.pending == 0


def test_a_call_at_the_end_stays_pending() -> None:
    fmt = get("openai-chat")
    view = render(parsed(with_calls()[:2], fmt), NOTHING, fmt)
    assert view.pending == 1
    assert len(view.items) == 2


def test_the_unanswered_request_of_a_long_turn_is_replayed() -> None:
    """One human message, then tool groups only: the request is shown right after the summary."""
    fmt = get("openai-chat")
    raws: list[Raw] = [{"role": "user", "content": "port the parser; never touch the public API"}]
    for i in range(40):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": f'{{"command": "t{i}"}}'}}
        raws.append(
            {"role": "assistant", "content": f"step {i}: " + "some reasoning in words. " * 30, "tool_calls": [call]}
        )
        raws.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"line {i} of the output"})
    path = parsed(raws, fmt)
    planned = plan(path, NOTHING, fmt, policy=POLICY, limits=POLICY.limits(int(sum(m.tokens for m in path) / 0.6)))
    assert not isinstance(planned, Skip | PruneOnly)
    made = apply(planned, SECTIONS)
    kinds = [item.kind for item in made.rendering.items]
    assert kinds[:2] == ["summary", "replay"]
    assert made.rendering.messages[1] == raws[0]
    assert made.rendering.messages[-1] == raws[-1]
    assert made.compaction.replay == 0


def test_each_invariant_finds_its_breach() -> None:
    """A check that cannot fail is no check: each invariant is broken once, and only it or its kin complain."""
    fmt = get("openai-chat")
    path = parsed([*talk("first", "answer", "second", "done", "third"), *with_calls()[1:2]], fmt)
    record = Compaction(covered=((0, 2),), summary="[m0] first", human=())
    broken = {
        "nothing-lost": replace(shown(path, NOTHING, fmt), rendering=render(path[1:], NOTHING, fmt)),
        "human-words": shown(path, record, fmt),
        "never-last": replace(shown(path[:5], NOTHING, fmt), rendering=render(path[:4], NOTHING, fmt)),
        "tool-pairs": replace(shown(path, NOTHING, fmt), rendering=replace(render(path, NOTHING, fmt), pending=0)),
        "valid-for-provider": Shown(path, NOTHING, render(parsed(with_calls(), fmt)[3:], NOTHING, fmt), fmt),
    }
    assert set(broken) == {i.name for i in ALL}
    for name, value in broken.items():
        if name == "valid-for-provider":
            bad = replace(value.rendering, items=(value.rendering.items[0]._replace(raw=with_calls()[3]),))
            value = replace(value, rendering=bad)
        assert name in violations(value), name


@pytest.mark.parametrize("name", FORMATS)
def test_conceding_stops_as_soon_as_it_fits(name: str) -> None:
    fmt = get(name)
    path = parsed(said_in(name, talk(*(f"message {i} " * 40 for i in range(21)))), fmt)
    policy: Policy = POLICY
    made = emergency(path, NOTHING, fmt, policy=policy, limits=limits_for(path))
    assert made.compaction.concessions == {}
    tight = concede(replace(made.draft), made.rendering.tokens - 1, policy.prune)
    assert tight.compaction.concessions
    assert ranges_of([0])
