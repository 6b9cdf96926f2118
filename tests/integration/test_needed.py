"""What a view is made of is enough: it is the same as one made of the whole path, whatever was cut and however it goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn.needed import Needed
from offturn_engine.compaction import Compaction, Restore
from offturn_engine.formats.base import Format
from offturn_engine.groups import group_is_open, pair
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.pins import marked, missing
from offturn_engine.ranges import Ranges, in_order, minus, normalise
from offturn_engine.render import render
from tests.engine.raws import FORMATS, OPENAI, calls, human, odd, placed, result, says
from tests.engine.strategies import transcripts


def open_calls(path: Sequence[Message]) -> dict[str, int]:
    """As the store has them."""
    parts = [path[i].parts[part] for i, part in pair(path).open_calls]
    return Counter(part.id for part in parts if isinstance(part, ToolCallPart))


def record_of(draw: st.DrawFn, covered: Ranges, log: Sequence[Message]) -> Compaction:
    """Any record that covers this, whether or not the engine would make it."""
    inside = [m for m in log if not minus(((m.seq, m.seq + 1),), covered)]
    some = [m for m in inside if draw(st.integers(0, 5)) == 0]
    replays = [m.seq for m in inside if m.role == "user" and not m.results]
    shown = [m for m in some if m.parts]
    return Compaction(
        covered=covered,
        summary="What was said before.",
        placement=draw(st.sampled_from(["first", "last"])),
        role=draw(st.sampled_from(["user", "alternating"])),
        pinned=tuple(m.seq for m in some if draw(st.booleans())),
        replay=draw(st.sampled_from([None, *replays[-1:]])),
        restores=tuple(
            Restore(seq=m.seq, part=0, kind="host", name="a.py", characters=3, tokens=1) for m in shown[:2] if m.text
        ),
    )


@st.composite
def cut(draw: st.DrawFn) -> tuple[Format, list[Message], int, Ranges, Compaction, tuple[int, ...]]:
    """(format, log, its length when it was looked at, path then, a record of a part of it, pins)."""
    fmt = draw(st.sampled_from(FORMATS))
    log = placed(draw(odd(fmt) if draw(st.integers(0, 2)) == 0 else transcripts(fmt.name)), fmt)
    known = draw(st.integers((len(log) + 1) // 2, len(log)))
    seqs = [*range(known)]
    if draw(st.integers(0, 3)) == 0:  # a message was taken back, and one was replaced by the newest
        seqs.pop(draw(st.integers(0, known - 1)))
        place = draw(st.integers(0, len(seqs)))
        seqs = [*seqs[:place], *seqs[-1:], *seqs[place:-1]]
    path = in_order(seqs)
    low = draw(st.integers(0, known - 1))
    covered = normalise([(low, draw(st.integers(low + 1, known)))])
    record = record_of(draw, covered, log[:known])
    pins = tuple(seq for seq in seqs if draw(st.integers(0, 9)) == 0)
    return fmt, log, known, path, record, pins


def of(path: Ranges, log: Sequence[Message]) -> list[Message]:
    return [message for low, high in path for message in log[low:high]]


@settings(max_examples=400)
@given(case=cut())
def test_a_view_of_what_is_needed_is_the_view_of_all(
    case: tuple[Format, list[Message], int, Ranges, Compaction, tuple[int, ...]],
) -> None:
    fmt, log, known, path, record, pins = case
    needed = Needed.of(path, record, pins)
    if needed is None or not needed.is_enough(only(log, needed), open_calls(of(path, log[:known]))):
        return
    for length in {known, (known + len(log)) // 2, len(log)}:
        longer = (*path, (known, length))
        later = Needed.of(longer, record, pins)
        assert later
        assert (later.before, later.gap) == (needed.before, needed.gap)
        part, whole = marked(later.path(only(log, later)), pins), marked(of(longer, log), pins)
        assert render(part, record, fmt) == render(whole, record, fmt)
        assert missing(part, record) == missing(whole, record)
        assert group_is_open(part) == group_is_open(whole)


def only(log: Sequence[Message], needed: Needed) -> list[Any]:
    """The log as far as it was read."""
    return [m if not minus(((m.seq, m.seq + 1),), needed.ranges) else None for m in log]


def seqs(low: int, high: int) -> Compaction:
    return Compaction(covered=((low, high),), summary="Before.")


@pytest.mark.parametrize(
    ("raws", "low", "high", "enough"),
    [
        pytest.param([human("a"), calls("c"), result("c"), human("b")], 1, 3, True, id="groups-inside"),
        pytest.param([human("a"), calls("c"), result("c"), says("b")], 2, 3, False, id="answer-covered"),
        pytest.param([human("a"), calls("c"), result("c"), says("b")], 1, 2, False, id="call-covered"),
        pytest.param([human("a"), calls("c"), human("b"), calls("d")], 1, 3, False, id="given-up"),
        pytest.param([human("a"), says("x"), human("b"), calls("d")], 1, 3, True, id="pending-at-the-end"),
        pytest.param([calls("c"), human("a"), result("c"), human("b")], 1, 2, False, id="around"),
    ],
)
def test_a_call_or_result_that_is_left_over_needs_all(raws: list[Any], low: int, high: int, enough: bool) -> None:
    log = placed(raws, OPENAI)
    needed = Needed.of(((0, len(log)),), seqs(low, high), ())
    assert needed
    assert needed.is_enough(only(log, needed), open_calls(log)) is enough


def test_what_is_covered_in_two_pieces_needs_all() -> None:
    record = replace_covered(seqs(1, 2), ((1, 2), (3, 4)))
    assert Needed.of(((0, 5),), record, ()) is None
    assert Needed.of(((0, 2), (3, 5)), record, ()) is not None
    assert Needed.of(((0, 5),), Compaction(), ()) is None


def replace_covered(record: Compaction, covered: Ranges) -> Compaction:
    return record.model_copy(update={"covered": covered})
