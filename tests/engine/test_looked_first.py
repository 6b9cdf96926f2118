"""What is looked for first changes no answer: the patterns alone say the same."""

from __future__ import annotations

import re
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import grounding, sentences, tallies
from offturn_engine.statements import clauses, numbers, statement, words_of

ANYTHING = re.compile("")
LINES = st.lists(
    st.sampled_from(("e.g. ", "No. ", "ok", ".", "!? ", "\u3002", " ", "a.b", "\u201d", "...", ") ", "\n"))
)
NAMES = st.text(st.sampled_from("aB9_/\\.-:~ErorxcptinW \u4e94\u4e07\uff15'"), max_size=30)
TALLIES = st.lists(
    st.sampled_from(("3 ", "failed", " of ", "40 tests", ", ", "\n", "passed", ": ", "in ", "total", "x"))
)


@given(LINES.map("".join))
def test_sentences_end_where_the_pattern_says(line: str) -> None:
    with patch.object(sentences, "_STOP", ANYTHING):
        plainly = sentences.sentences(line)
    assert sentences.sentences(line) == plainly


@given(NAMES)
def test_a_text_without_a_sign_of_a_name_names_nothing(text: str) -> None:
    with patch.object(grounding, "_NAMING", ANYTHING):
        plainly = grounding.anchors(text)
    assert grounding.anchors(text) == plainly


@given(TALLIES.map("".join))
def test_tallies_are_found_in_every_line_that_has_a_number(text: str) -> None:
    found = [match.span() for match in tallies._parts(text)]
    assert found == [match.span() for match in tallies._PART.finditer(text)]


@given(st.lists(st.sampled_from(("two", "Ten", "dos", " ", "'s", "_", "5", "x", "\u4e09", "k", "p.m."))).map("".join))
def test_numbers_are_those_of_a_text_that_surely_has_one(text: str) -> None:
    assert numbers(f"{text} 7") - {"7"} == numbers(text) - {"7"}


@given(st.lists(st.sampled_from(("do not deploy", "never", ", ", "but ", "until Monday", "run a.py", " at 5", "; "))))
def test_a_clause_says_what_its_text_says_and_is_as_restricted_as_its_sentence(parts: list[str]) -> None:
    whole, *others = clauses(statement("".join(parts)))
    for one in others:
        alone = statement(one.text)
        assert one.words == words_of(one.text) == alone.words
        assert (one.names, one.numbers, one.amounts) == (alone.names, alone.numbers, alone.amounts)
        assert (one.action, one.objects, one.thing) == (alone.action, alone.objects, alone.thing)
        assert one.plain == (alone.plain and whole.plain)
        assert one.conditional == (alone.conditional or whole.conditional)
