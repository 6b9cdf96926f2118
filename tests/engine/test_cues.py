"""What is searched only where it may stand: a cue beside the words it needs, a name beside its signs. Nothing is missed for that."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offturn_engine.compaction import LedgerItem
from offturn_engine.constraints import CUES, HEADING
from offturn_engine.cues import HAN, Cues, words_in
from offturn_engine.ledger import in_use, statement_rules, values
from offturn_engine.ledger.identifiers import SHAPES, Shape, possible
from offturn_engine.operations import operations, tokens_of
from offturn_engine.sentences import sentences
from tests.engine.talk import call, log, says

TABLES = {
    "constraint": CUES,
    "heading": {"all": (HEADING,)},
    "next": statement_rules.NEXT,
    "decision": statement_rules.DECISION,
    "likes": statement_rules.LIKES,
    "link": statement_rules.LINK,
}


def rows() -> Iterator[object]:
    for table, languages in TABLES.items():
        for language, cues in languages.items():
            for number, (words, pattern) in enumerate(cues):
                yield pytest.param(words, pattern, id=f"{table} {language} {number}")


@pytest.mark.parametrize(("words", "pattern"), list(rows()))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_what_a_cue_matches_holds_one_of_its_words(words: str, pattern: str, data: st.DataObject) -> None:
    sentence = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE)))
    assert words_in(sentence) & set(words.split())
    assert Cues([((words, pattern),)]).found(sentence, words_in(sentence))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop_now, PLEASE", {"don", "t", "stop", "now", "please"}),
        ("\u201cNever\u201d \u2014 jam\u00c1s", {"never", "jam\u00e1s"}),
        ("\u0130S \u017fo \u212aEPT", {"is", "so", "kept"}),
        ("\u4e0d\u8981 push", {"\u4e0d\u8981", "push", HAN}),
        ("rule\u0345: it", {"rule", "it"}),
        ("", set()),
    ],
)
def test_words_are_those_that_a_pattern_without_case_sees(text: str, words: set[str]) -> None:
    assert words_in(text) == words


@pytest.mark.parametrize("shape", [pytest.param(shape, id=f"{i} {shape.family}") for i, shape in enumerate(SHAPES)])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data(), around=st.sampled_from(["", " ", "x", "\n", "é", "(", "\u3002"]))
def test_a_text_is_searched_for_each_shape_that_it_holds(shape: Shape, data: st.DataObject, around: str) -> None:
    text = around + data.draw(st.from_regex(shape.pattern)) + around
    searched = {(family, pattern.pattern) for family, pattern in possible(text)}
    for other in SHAPES:
        if re.search(other.pattern, text):
            assert (other.family, other.pattern) in searched


@settings(deadline=None)
@given(st.text("ab1-_/.=$*#é\u00a0 \t\n;&|<>()'\"\\", max_size=24))
def test_a_command_has_the_words_that_shlex_tells(line: str) -> None:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        told = list(lexer)
    except ValueError:
        with pytest.raises(ValueError, match="quote"):
            tokens_of(line)
    else:
        assert tokens_of(line) == told


@given(st.text("ab_/@:#$-.\u00e9 ,\n\x1c", max_size=40), st.sampled_from([0, 1, 199, 200, 201, 401]))
def test_in_use_is_what_a_visible_message_names(text: str, many: int) -> None:
    said = f"{text} {'c' * many}"
    named = {name.strip(".:-/") for name in re.findall(r"[\w./@:#$-]{2,200}", said)}
    named |= {name.rsplit("/", 1)[-1] for name in named}
    keys = {*re.split(r"[ ,\n]", said), "c" * 200, "c" * (many % 200), *named} - {""}
    facts = [LedgerItem(kind="identifier", key=key, text="issue", seq=1) for key in keys]
    assert {key for _, key in in_use(facts, log(says(said)))} == keys & named


PIECES = st.sampled_from(
    (
        *(
            "code ABCDE1",
            "ID: X1Y2Z3",
            "12 May",
            "mayo 3",
            "3 de Enero",
            "Mondays",
            "S\u00c1BADO",
            "mi\u00e9rcoles",
            "\u661f\u671f\u4e00",
        ),
        *(
            "a@b.com",
            "https://x.io/a",
            "api.test.io.",
            "$5k",
            "5 usd",
            "2026-01-02",
            "v1.2",
            "#12",
            "a1b2c3d",
            "port 80",
        ),
        *(
            "foo_bar",
            "fooBar",
            "ABC",
            "src/a.py",
            "`x y`",
            "\u201cq\u201d",
            "Ana Bel",
            "7%",
            "3 of 4",
            "\u7b2c3",
            "5\u5143",
        ),
        *("next", "is", "the", "x", "_", "\u00e9", ".", ",", ":", " ", " ", " ", "\n"),
    )
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_sentence_has_the_values_that_all_shapes_find_at_every_place(sentence: str) -> None:
    every = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in values.SHAPES.items()))
    found = [(match.lastgroup, match[0].strip(' .,;:`"\u201c\u201d\u300c\u300d')) for match in every.finditer(sentence)]
    said = values.taken_apart(sentence)
    assert list(said.values) == found
    assert values.may_be_sure(sentence, words_in(sentence)) or not said.sure


SPOKEN = st.lists(
    st.one_of(
        st.sampled_from(["see", "No", "Ana", "is", "ok", "usd", "com", "py", "'s", "-"]),
        st.text("aB ,;:!?()'-.", max_size=3),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(SPOKEN.map(" ".join), SPOKEN.map("".join))
def test_a_sentence_of_words_alone_has_the_values_that_all_shapes_find(apart: str, glued: str) -> None:
    every = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in values.SHAPES.items()))
    for sentence in (apart, glued):
        assert [shape for shape, _ in values.taken_apart(sentence).values] == [
            m.lastgroup for m in every.finditer(sentence)
        ]


@given(st.text("aB.!?\"') ", max_size=16))
def test_a_line_of_ascii_has_the_sentences_it_has_beside_other_text(line: str) -> None:
    beside = [sentence.replace("xy\u00e9", "xyz") for sentence in sentences(f"{line} xy\u00e9")]
    assert sentences(f"{line} xyz") == beside


@given(
    st.lists(st.sampled_from([*"ab|&;\n()", "cat", "sed", "mv", "tee", ">", "<", " ", " "]), max_size=9).map("".join)
)
def test_a_command_that_touches_no_file_is_not_read_for_nothing(line: str) -> None:
    quoted = operations(call("bash", {"command": f"{line}\n: ''"}))  # a quoted word, so that all of it is read
    assert operations(call("bash", {"command": line})) == quoted
