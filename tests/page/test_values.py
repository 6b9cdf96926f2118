"""What the page is drawn from, as values: curves, charts, differences, two generations, pieces of a long text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn.store.state import Event
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.formats import get
from offturn_engine.messages import Edit, Message
from offturn_engine.report import Report, report
from offturn_http.page.bars import WIDE, before_after, shares_of, two
from offturn_http.page.beside import CHANGED, PAGE, beside, paged, piece
from offturn_http.page.charts import LEFT, RIGHT, chart, short, sparkline
from offturn_http.page.differing import LONGEST_LINE, difference
from offturn_http.page.over_time import Curve, Step, drawn
from tests.engine.raws import calls, human, placed, result, says

FMT = get("openai-chat")
PATH: list[Message] = placed(
    [
        human("one " * 50),
        calls("c1"),
        result("c1", "two " * 200),
        says("three"),
        human("four"),
        says("five " * 20),
    ]
)
EDITED = Compaction(
    number=1,
    nonce="a",
    covered=(),
    edits=(Edit(seq=2, part=0, rule="stub", text="[cleared]"),),
    seen=4,
    tokens_after=100,
)
COVERED = Compaction(
    number=2,
    nonce="b",
    base=1,
    replaces=1,
    covered=((1, 4),),
    summary="S",
    method="extractive",
    seen=6,
    tokens_after=60,
)


def happened(kind: str, at: int = 0, **fields: Any) -> Event:
    return Event(id=f"{at}-0", at=at, kind=kind, fields=fields)


def told(*line: Compaction) -> Report:
    return report(PATH, line, FMT)


def test_a_curve_grows_with_each_message_and_steps_where_a_generation_comes_in_force() -> None:
    sizes = [message.tokens for message in PATH]
    events = [happened("adopted", generation=1, seq=3), happened("adopted", generation=2, seq=5)]

    curve = drawn(PATH, {1: EDITED, 2: COVERED}, events, 2, lambda n: n)

    assert [(step.messages, step.generation, step.after) for step in curve.steps] == [(4, 1, 100), (6, 2, 60)]
    assert curve.steps[0].before == sum(sizes[:4])
    assert curve.steps[1].before == 100 + sum(sizes[4:])
    assert curve.points[0] == (0, 0)
    assert curve.points[-1] == (6, 60)
    assert curve.raw[-1] == (6, sum(sizes))
    doubled = drawn(PATH, {1: EDITED, 2: COVERED}, events, 2, lambda n: 2 * n)
    assert doubled.points[-1] == (6, 120)


@pytest.mark.parametrize(
    ("events", "adopted", "steps"),
    [
        ([], 0, []),
        ([], 2, [(6, 2)]),  # events are gone
        ([happened("committed", generation=1, by="worker")], 0, []),
        ([happened("committed", generation=1, by="host", at=2)], 1, [(3, 1)]),
        ([happened("adopted", generation=1, seq=3), happened("rolled-back", generation=0, at=9)], 0, [(4, 1), (6, 0)]),
        ([happened("adopted", generation=7, seq=3)], 1, [(6, 1)]),  # of a generation that is not kept
        ([happened("adopted", generation=1, seq=3), happened("adopted", generation=1, seq=4)], 1, [(4, 1)]),
    ],
)
def test_steps_are_told_as_far_as_they_are_known(
    events: list[Event], adopted: int, steps: list[tuple[int, int]]
) -> None:
    path = [message.placed(seq, at=seq) for seq, message in enumerate(PATH)]

    curve = drawn(path, {1: EDITED, 2: COVERED}, events, adopted, lambda n: n)

    assert [(step.messages, step.generation) for step in curve.steps] == steps
    assert [x for x, _ in curve.points] == sorted(x for x, _ in curve.points)


points = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), min_size=1, max_size=50).map(
    lambda found: tuple(sorted(found))
)


@given(points, st.lists(st.tuples(st.sampled_from(["soft", "hard"]), st.integers(0, 10**8)), max_size=3))
def test_a_chart_stays_within_its_frame(found: tuple[tuple[int, int], ...], levels: list[tuple[str, int]]) -> None:
    curve = Curve(points=found, raw=found, steps=())
    for made, left, right in ((chart(curve, levels), LEFT, RIGHT), (sparkline(curve), 0, 0)):
        numbers = [float(n) for n in re.findall(r"[\d.]+(?:e[+-]\d+)?", made.line)]
        assert all(left <= x <= made.width - right for x in numbers[::2])
        assert all(0 <= y <= made.height for y in (*numbers[1::2], *(level.y for level in made.levels)))
        assert len(made.rows) <= 10
        assert len(made.columns) <= 12


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1_000, "1k"), (36_000, "36k"), (999_600, "1M"), (1_250_000, "1.25M")]
)
def test_numbers_of_axes_are_short(number: int, text: str) -> None:
    assert short(number) == text


lines = st.lists(st.sampled_from(["a", "b", "c d", "c e", "x" * 3_000, ""]), max_size=12).map("\n".join)


@given(lines, lines)
def test_a_difference_holds_all_of_both_texts(old: str, new: str) -> None:
    made = difference(old, new)
    shown = [line for block in made.blocks for line in block.lines]
    text = ["".join(span.text for span in line.spans) for line in shown]

    for gone, whole in (("new", old), ("gone", new)):
        kept = [words for line, words in zip(shown, text, strict=True) if line.kind != gone]
        assert kept == [line[:LONGEST_LINE] for line in whole.splitlines()]
    assert (made.gone, made.new) == tuple(sum(line.kind == kind for line in shown) for kind in ("gone", "new"))
    assert all(line.left_out == 1_000 for line, words in zip(shown, text, strict=True) if words.startswith("xxx"))
    assert all({line.kind for line in block.lines} == {"same"} for block in made.blocks if block.folded)


def test_words_that_differ_within_a_line_are_marked() -> None:
    made = difference("same\nread m88 a.py\nfar\nfar\nfar\nfar", "same\nread m6 a.py\nfar\nfar\nfar\nfar")
    shown = [line for block in made.blocks for line in block.lines]

    assert [[span.text for span in line.spans if span.marked] for line in shown[1:3]] == [["m88"], ["m6"]]
    assert [block.folded for block in made.blocks] == [False, True]


def test_two_generations_show_each_message_with_both_fates() -> None:
    old, new = told(EDITED, NOTHING), told(COVERED, EDITED, NOTHING)

    found = beside(old, new)

    assert [(pair.left.fate, pair.right.fate) for pair in found.pairs] == [
        ("verbatim", "verbatim"),
        ("verbatim", "summarised"),
        ("cleared", "summarised"),
        ("verbatim", "summarised"),
        ("verbatim", "verbatim"),
        ("verbatim", "verbatim"),
    ]
    assert found.counts == {CHANGED: 3, "verbatim": 3, "summarised": 3}
    assert [pair.right.handle for pair in beside(old, new, only=CHANGED).pairs] == ["m1", "m2", "m3"]
    assert [pair.right.handle for pair in beside(old, new, only="verbatim", page=9).pairs] == ["m0", "m4", "m5"]
    assert beside(old, new, only="nothing such").pairs == ()


@pytest.mark.parametrize(
    ("total", "page", "shown"), [(0, 1, (1, 1)), (PAGE, 2, (1, 1)), (PAGE + 1, 2, (2, 2)), (5 * PAGE, -3, (1, 5))]
)
def test_a_page_that_is_not_there_is_the_nearest_one(total: int, page: int, shown: tuple[int, int]) -> None:
    assert paged(total, page) == shown


@given(st.text(max_size=40), st.integers(-5, 60), st.integers(1, 10))
def test_pieces_lead_through_the_whole_text(text: str, start: int, size: int) -> None:
    shown, before, after = piece(text, 0, size)
    while after is not None:
        more, _, after = piece(text, after, size)
        shown += more
    assert shown == text
    part, before, after = piece(text, start, size)
    assert part in text
    assert len(part) <= size
    assert before is None or before >= 0
    assert after is None or after < len(text)


def test_bars_hold_every_author_within_the_wider_one() -> None:
    old, new = told(NOTHING), told(COVERED, EDITED, NOTHING)

    for pair in (before_after(new), two((NOTHING, old), (COVERED, new), lambda n: n)):
        for bar in pair:
            assert sum(tokens for _, tokens, _, _ in bar.shares) == bar.tokens
            assert all(x >= 0 and x + width <= WIDE + 1 for _, _, x, width in bar.shares)
    assert [bar.tokens for bar in before_after(new)] == [new.tokens_before, new.tokens_after]
    assert {name for name, *_ in shares_of(old, new, lambda n: n)} == {"human", "assistant", "tool", "summary"}


def test_a_step_ends_where_the_next_view_begins() -> None:
    steps = (
        Step(messages=1, generation=1, before=100, after=10),
        Step(messages=2, generation=0, before=20, after=120),
    )
    points = ((0, 0), (1, 100), (1, 10), (2, 20), (2, 120))
    for made in (
        chart(Curve(points=points, raw=(), steps=steps), []),
        sparkline(Curve(points=points, raw=(), steps=steps)),
    ):
        down, up = made.marks
        assert (down.end, up.end) == (down.bottom, up.top)
        assert down.top < down.bottom
        assert [(mark.before, mark.after) for mark in made.marks] == [(100, 10), (20, 120)]
