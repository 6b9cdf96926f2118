"""docs/benchmarks.md is what the recorded figures say. No figure is asserted."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed import page as pages
from benchmarks.speed.chart import chart, factor
from benchmarks.speed.figures import Figure, amount, held, table, verdict
from benchmarks.speed.page import CAUSES, PAGE, PICTURE, RESULTS, demanded, merged, page
from benchmarks.speed.rounds import p99, turned
from benchmarks.speed.stage import Run

HELD = Figure(part="turn", name="record", ours=2.0, other=1.0, unit="ms", against="RPUSH", target=3.0)
MISSED = Figure(part="turn", name="view", ours=4.0, other=1.0, unit="ms", against="EVALSHA", target=1.5)
LEAST = Figure(part="worker", name="jobs", ours=9.0, other=10.0, unit="s", against="ideal", target=0.95, least=True)
TOLD = Figure(part="worker", name="CPU", ours=9.0, other=10.0, unit="s", against="the provider")


def test_the_page_is_made_of_the_recorded_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m benchmarks.speed --only '' --page"


def test_every_missed_figure_has_its_cause() -> None:
    assert "not looked into yet" not in page()
    recorded = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    assert recorded, CAUSES


@pytest.mark.parametrize(
    ("figure", "ratio", "result"),
    [(HELD, 2.0, "ok"), (MISSED, 4.0, "MISSED"), (LEAST, 0.9, "MISSED"), (TOLD, 0.9, "told")],
)
def test_a_figure_says_whether_it_holds(figure: Figure, ratio: float, result: str) -> None:
    assert (figure.ratio, figure.result) == (ratio, result)
    assert Figure.from_json(figure.to_json()) == figure


@pytest.mark.parametrize(
    ("value", "told"),
    [(1234.6, "1,235"), (15, "15"), (15.04, "15.0"), (0.01234, "0.0123"), (3.0, "3"), (float("inf"), "inf")],
)
def test_three_digits_count(value: float, told: str) -> None:
    assert amount(value) == told


def test_the_table_has_a_row_for_each() -> None:
    lines = list(table([HELD, MISSED]))
    assert len(lines) == 3
    assert lines[2].endswith("MISSED")


def test_nothing_beside_nothing_is_even() -> None:
    none = Figure(part="peers", name="promises broken", ours=0, other=0, unit="", against="a peer")
    some = Figure(part="peers", name="promises broken", ours=2, other=0, unit="", against="a peer")
    assert (none.ratio, some.ratio) == (1.0, float("inf"))


def test_the_last_line_counts_what_is_demanded() -> None:
    assert verdict([HELD, MISSED, TOLD], []) == "1 of 2 ok"
    assert verdict([HELD, TOLD], ["worker"]) == "1 of 1 ok; failed: worker"
    assert held([HELD, TOLD], [])
    assert not held([HELD, MISSED], [])
    assert not held([HELD], ["worker"])


def test_a_part_that_fails_leaves_the_others() -> None:
    run = Run()
    for figure in (HELD, LEAST):
        run.add(figure)
    run.fail("worker", RuntimeError("content"))
    assert run.figures == [HELD]
    assert (run.failed, run.skipped) == (["worker"], {"worker": "it failed: RuntimeError"})


def test_what_is_recorded_stays_where_a_part_was_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results.json")
    found: dict[str, Any] = {
        "machine": {},
        "parts": ["turn", "worker"],
        "seconds": {"turn": 1.0, "worker": 2.0},
        "skipped": {},
    }
    found["figures"] = [HELD.to_json(), LEAST.to_json()]
    pages.RESULTS.write_text(json.dumps(merged(found)), encoding="utf-8")
    later = {**found, "skipped": {"worker": "why", "turn, a peer": "reason"}, "figures": [MISSED.to_json()]}
    parts = merged(later)["parts"]
    assert parts["turn"]["left_out"] == {"a peer": "reason"}
    assert [one["name"] for one in parts["turn"]["figures"]] == ["view"]
    assert [one["name"] for one in parts["worker"]["figures"]] == ["jobs"]


def test_the_picture_leaves_out_what_has_no_target() -> None:
    panels = chart([HELD, LEAST, TOLD])["vconcat"]
    drawn = {panel["title"]["text"]: [value["factor"] for value in panel["data"]["values"]] for panel in panels}
    assert drawn == {"turn": [pytest.approx(2 / 3)], "worker": [pytest.approx(0.95 / 0.9)]}
    assert factor(MISSED) > 1


def test_the_picture_is_of_the_recorded_figures() -> None:
    text = html.unescape(PICTURE.read_text(encoding="utf-8"))
    missing = [one.name for one in demanded() if f">{one.name}<" not in text or f">{amount(one.ratio)} x<" not in text]
    assert not missing, "draw it anew: python -m benchmarks.speed --only '' --page"


def test_each_round_begins_with_another_way() -> None:
    assert [turned(["a", "b"], number) for number in range(3)] == [["a", "b"], ["b", "a"], ["a", "b"]]


def test_p99_is_the_second_of_a_hundred() -> None:
    assert p99([float(n) for n in range(100)]) == 98
    assert p99([1.0, 3.0, 2.0]) == 3
