"""Runs of a text are those that a pattern finds."""

from __future__ import annotations

import re
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import runs
from offturn_engine.runs import Runs, Words, apart, encoded, letters

TEXTS = st.text(st.sampled_from("ab1_.-/ \n\t,\\\u00e9\u0130\u6211\ud800\u00a0"), max_size=60)


@given(TEXTS)
def test_runs_of_signs_are_each_there_once_in_their_order(text: str) -> None:
    found = re.findall(r"[ab1_.-]+", text)
    assert Runs("ab1_.-").of(encoded(text)) == list(dict.fromkeys(found))


@given(TEXTS)
def test_runs_of_letters_are_found_in_every_script(text: str) -> None:
    plain, _ = apart(text)
    assert letters(plain) == set(re.findall(r"[^\W\d_]+", plain))
    assert Words(text).all == set(re.findall(r"[^\W\d_]+", text.lower()))


@given(TEXTS, st.integers(1, 9))
def test_a_long_text_is_split_in_pages_between_its_runs(text: str, page: int) -> None:
    with mock.patch.object(runs, "PAGE", page):
        assert Runs("ab1_.-").of(encoded(text)) == list(dict.fromkeys(re.findall(r"[ab1_.-]+", text)))
