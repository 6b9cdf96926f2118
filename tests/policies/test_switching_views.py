"""A session whose policy changes between compactions keeps every promise, whichever policies came before."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_config.presets import load, names
from offturn_engine.compaction import NO_SECTIONS, NOTHING, Compaction
from offturn_engine.errors import CannotFit
from offturn_engine.formats import get
from offturn_engine.formats import names as names_of_formats
from offturn_engine.invariants import Shown, extends, violations
from offturn_engine.plan import PruneOnly, Skip, apply, emergency, plan
from offturn_engine.ranges import inside
from offturn_engine.render import is_system, render
from tests.engine.dialects import said_in
from tests.policies.agents import path_of, reading

WINDOW = 150_000


@st.composite
def growth(draw: st.DrawFn, fmt: str) -> list[Any]:
    """Turns of several sizes; the last one may still wait for its answer."""
    size = draw(st.sampled_from([400, 24_000, 60_000]))
    raws = reading("openai-chat", draw(st.integers(1, 8)), size=size)
    return said_in(fmt, raws[: len(raws) - draw(st.sampled_from([0, 1, 3]))])


@settings(max_examples=60)
@given(data=st.data(), fmt=st.sampled_from(names_of_formats()))
def test_every_sequence_of_policies_keeps_the_promises(data: st.DataObject, fmt: str) -> None:
    with_system = fmt not in ("anthropic", "gemini")
    raws: list[Any] = [{"role": "system", "content": "Be brief."}] if with_system else []
    record = NOTHING
    form = get(fmt)
    for step in range(1, data.draw(st.integers(2, 5)) + 1):
        raws += data.draw(growth(fmt))
        path, base = path_of(fmt, raws), record
        name = data.draw(st.sampled_from(names()))
        policy = load(name)
        limits = policy.limits(WINDOW, 8_000)
        if data.draw(st.booleans()):
            planned = plan(path, base, form, policy=policy, limits=limits, reason="manual")
            if isinstance(planned, Skip):
                continue
            made = planned.candidate if isinstance(planned, PruneOnly) else apply(planned, NO_SECTIONS)
        else:
            try:
                made = emergency(path, base, form, policy=policy, limits=limits)
            except CannotFit:
                continue
            assert made.rendering.tokens <= limits.usable
        record = made.compaction.model_copy(update={"number": step})
        assert violations(Shown(path, record, made.rendering, form)) == {}, name
        assert inside(base.covered, record.covered)
        assert (
            made.rendering.items == render(path, Compaction.model_validate_json(record.model_dump_json()), form).items
        )
        notes = str([item.raw for item in made.rendering.items if is_system(item.raw)])
        assert notes.count("[Note:") == (1 if record.system_note and with_system else 0)
        more = path_of(fmt, [*raws, form.assistant("Done."), form.user("Next?")])
        if record.replay is None and not made.rendering.pending and path[-1].role != "assistant":
            later = render(more, record, form)
            assert extends(made.rendering.messages, later.messages)
