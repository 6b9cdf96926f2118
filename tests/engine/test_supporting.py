"""The index over a source answers as a walk through all of its places does."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.statement_words import NEGATIVE
from offturn_engine.statements import numbers, stems
from offturn_engine.supporting import AROUND, LOOKED_UP, Source

ENDS = re.compile(r"\n|(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])")
WORDS = ("deploy", "the", "archive", "never", "12", "3 rows", "1,200", "tables", "not", "b\u00f6se", "\u90e8\u7f72")
STOPS = (" ", " ", ". ", "? ", "\n", "\u3002", ", ")
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(STOPS)), max_size=60).map(
    lambda pairs: "".join(word + stop for word, stop in pairs)
)


def naive(source: str, text: str, frame: frozenset[str], *, restricting: bool, number: bool, asking: bool) -> bool:
    place, looked = source.find(text), 0
    while place >= 0:
        looked += 1
        if looked > LOOKED_UP:
            return True
        before = ENDS.split(source[max(0, place - AROUND) : place])[-1]
        end = place + len(text)
        line = before + text + ENDS.split(source[end : end + AROUND], maxsplit=1)[0]
        beside = len(frame.intersection(stems(line))) * 2 >= len(frame)
        if asking and not line.rstrip().endswith(("?", "\uff1f")):
            beside = False
        if beside and (not number or text in numbers(line)) and (not restricting or NEGATIVE.search(line)):
            return True
        place = source.find(text, place + 1)
    return False


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_the_index_answers_as_a_walk_does(text: str, data: st.DataObject) -> None:
    source = Source(text)
    for _ in range(4):
        word = data.draw(st.sampled_from(("deploy", "12", "3", "1", "archiv", "\u90e8\u7f72", "e")))
        frame = frozenset(data.draw(st.lists(st.sampled_from([*stems(" ".join(WORDS))]), max_size=3)))
        flags = {name: data.draw(st.booleans()) for name in ("restricting", "number", "asking")}
        flags["number"] |= word.isdecimal()  # a number is never looked for as the beginning of a word
        assert source.supports(word, frame, **flags) == naive(text.lower(), word, frame, **flags)


def test_a_word_that_stands_everywhere_is_supported() -> None:
    assert Source("deploy it\n" * (LOOKED_UP + 1)).supports("deploy", frozenset(("archiv",)))
    assert not Source("deploy it\n" * LOOKED_UP).supports("deploy", frozenset(("archiv",)))
