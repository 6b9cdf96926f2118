"""A replayed 20-turn session: what cache breakpoints are worth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.cache_share import TURNS, measure


def test_breakpoints_raise_the_cached_share_and_lower_the_input_cost() -> None:
    without, marked = measure(breakpoints=False), measure(breakpoints=True)
    assert (without.requests, marked.requests) == (4 * TURNS, 4 * TURNS)
    assert without.tokens == marked.tokens, "marks change no message"
    assert without.compactions == marked.compactions >= 1
    assert without.read == 0
    assert marked.cached > 0.8
    assert marked.dollars < without.dollars / 3
    page = (Path(__file__).parents[2] / "docs" / "economics.md").read_text(encoding="utf-8")
    for name, share in (("none", without), ("`system_and_3`", marked)):
        found = re.search(rf"\| {name} \| (\d+)% \| \$([\d.]+) \|", page)
        assert found is not None
        assert 100 * share.cached == pytest.approx(int(found[1]), abs=2)
        assert share.dollars == pytest.approx(float(found[2]), rel=0.1), "the page was written for other views"
