"""Switching policy in mid-session, after each other policy has compacted, keeps all invariants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn import Compacted, CompactionClient, Failed, Outcome, Pruned, Skipped
from offturn.testing import FakeSummarizer
from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_config.presets import load, names
from offturn_engine import formats
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction, Sections
from offturn_engine.draft import Candidate
from offturn_engine.fallback import fall_back
from offturn_engine.formats import get, parse_all
from offturn_engine.invariants import Shown, violations
from offturn_engine.messages import Message
from offturn_engine.plan import PruneOnly, Skip, Summarise, apply, plan
from offturn_engine.ranges import inside
from offturn_engine.templates import TEMPLATES
from tests.engine.raws import OPENAI, Raw, human, odd, says
from tests.engine.strategies import transcripts
from tests.policies.histories import filler, reads

SCALE = 200  # the limits of a large window, divided: histories here are short
PIECES = {name: st.one_of(transcripts(name, turns=4, big=True), odd(get(name), 20)) for name in formats.names()}
HOW = st.sampled_from(["model", "fails"])


def small(policy: Policy) -> Limits:
    limits = policy.limits(200_000, 8_192)
    sizes = {f.name: getattr(limits, f.name) for f in fields(limits)}
    return replace(limits, **{name: size if size > 10**8 else size // SCALE for name, size in sizes.items()})


def written(asks: Summarise) -> Sections:
    """What a model wrote under the headings it was asked for."""
    template = TEMPLATES[asks.policy.summary.template]
    return Sections(
        titles=template.asked,
        bodies=tuple(f"- {title.lower()} <kept> & known" for title in template.asked),
        template=template.name,
    )


def step(path: Sequence[Message], base: Compaction, fmt_name: str, policy: Policy, how: str) -> Compaction:
    """The generation in force after one job of this policy."""
    fmt = get(fmt_name, policy.trigger.estimator)
    measured = [fmt.parse(m.raw, index=i, origin=m.origin).placed(m.seq) for i, m in enumerate(path)]
    found = plan(measured, base, fmt, policy=policy, limits=small(policy), reason="manual")
    if isinstance(found, Skip):
        return base
    made: Candidate | None
    if isinstance(found, PruneOnly):
        made = found.candidate
    else:
        made = apply(found, written(found)) if how == "model" else fall_back(found)
    if made is None:
        return base
    if (refused := accept(made, minimum_gain=policy.size.minimum_gain)) is not None:
        assert refused.reason in ("no_gain", "too_dense"), refused.broken
        return base
    record = made.compaction
    assert violations(Shown(measured, record, made.rendering, fmt)) == {}
    assert inside(base.covered, record.covered)
    return record.model_copy(update={"number": base.number + 1})


@pytest.mark.parametrize("fmt_name", formats.names())
@given(data=st.data())
def test_any_sequence_of_policies_keeps_all_invariants(fmt_name: str, data: st.DataObject) -> None:
    fmt = get(fmt_name)
    path: list[Message] = []
    base = NOTHING
    for name in data.draw(st.lists(st.sampled_from(names()), min_size=2, max_size=6), label="policies"):
        raws: list[Raw] = data.draw(PIECES[fmt_name])
        path = parse_all(fmt, [*(m.raw for m in path), *raws])
        base = step(path, base, fmt_name, load(name), data.draw(HOW, label="summary"))


@pytest.mark.parametrize("first", names())
def test_after_each_policy_every_other_one_can_go_on(first: str) -> None:
    """With histories that each policy has something to do with: tool results, talk, long pastes, an open request."""
    start = [human("Port it. Never touch src/api.py."), *reads(10, 60), says("ported"), *_talk(8), human("go on")]
    fmt = get("openai-chat")
    for second in names():
        path = [fmt.parse(raw, index=i).placed(i) for i, raw in enumerate(start)]
        base = step(path, NOTHING, "openai-chat", load(first), "model")
        assert base.covered or base.edits, f"{first} did nothing"
        more = [*reads(8, 60, first=20), says("done"), *_talk(6), human(filler(200, "paste")), says("read"), human("?")]
        grown = [*path, *(fmt.parse(raw, index=i).placed(len(path) + i) for i, raw in enumerate(more))]
        step(grown, base, "openai-chat", load(second), "model")


def _talk(count: int) -> list[Raw]:
    return [raw for i in range(count) for raw in (human(f"question {i}"), says(filler(50, f"answer {i}")))]


async def test_a_session_changes_its_policy_again_and_again(client: CompactionClient) -> None:
    session = client.session("switching", format="openai-chat", window=64_000)
    said: list[str] = []
    outcomes: list[Outcome] = []
    for number, name in enumerate(("hermes", "opencode-1.17", "claude-code", "balanced", "hermes-lean", "opencode")):
        said.append(f"Task {number}: never use port {9000 + number}.")
        messages: list[dict[str, Any]] = [{"role": "user", "content": said[-1]}]
        for i in range(12):
            words = f"part {i} of the answer tells more about colours and numbers. " * 40
            messages += [says(words), human(f"and then {i}")]
        await session.record([*messages, says("Done.")])
        await session.configure(policy=name)
        await session.request()
        outcomes += await client.run_due(summarizer=FakeSummarizer())
        view = await session.view()
        assert all(text in str(view.messages) for text in said), name
        assert OPENAI.problems(view.messages) == []
    assert [o for o in outcomes if not isinstance(o, Compacted | Pruned | Skipped)] == []
    assert sum(isinstance(o, Compacted | Pruned) for o in outcomes) >= 4
    assert not any(isinstance(o, Failed) for o in outcomes)
