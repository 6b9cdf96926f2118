"""Amounts in other units and with other magnitudes, and what follows from a tally."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import amounts as module
from offturn_engine.amounts import Amount, amounts, any_of, counts, in_latin, quantities, spelled_out
from offturn_engine.tallies import derived

SAME = [
    ("$1.5M", "$1,500,000"),
    ("$1.5M", "1.5 million dollars"),
    ("1.5k rows", "1,500 rows"),
    ("2 billion", "2,000,000,000"),
    ("$2bn", "$2 billion"),
    ("150\u4e07\u5143", "1,500,000\u5143"),
    ("1,5 millones de euros", "1.500.000 euros"),
    ("2 GB", "2048 MB"),
    ("2 GB", "2,000 MB"),
    ("512M", "512 MB"),
    ("90 s", "1.5 min"),
    ("90 seconds", "90,000 ms"),
    ("1.5\u5206\u949f", "90\u79d2"),
    ("2 weeks", "14 days"),
    ("24 months", "2 years"),
    ("80%", "0.8"),
    ("timeout = 30000", "30 s"),
    ("5m", "5 minutes"),
]
OTHERS = [
    ("$1.5M", "$1.5B"),
    ("$1.5M", "$1,500"),
    ("1.5k rows", "1.5M rows"),
    ("150\u4e07\u5143", "150\u4ebf\u5143"),
    ("2 GB", "2 TB"),
    ("2 GB", "2058 MB"),
    ("90 s", "90 min"),
    ("90 s", "1.5 h"),
    ("2 weeks", "2 days"),
    ("80%", "0.08"),
]


def first(text: str) -> Amount:
    return next(amounts(text))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_amount_in_other_words_is_the_same(one: str, other: str) -> None:
    assert first(one).same(first(other))
    assert first(other).same(first(one))


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_amount_is_not(one: str, other: str) -> None:
    assert not first(one).same(first(other))
    assert not first(other).same(first(one))


@given(st.integers(1, 10**9), st.sampled_from(["", "k", "M", " million", " s", " min", " GB", "%"]))
def test_an_amount_is_its_own_and_not_another_number_of_the_unit(number: int, unit: str) -> None:
    one = first(f"{number}{unit}")
    assert one.same(first(f"about {number}{unit}, no more"))
    assert not one.same(first(f"{number * 10}{unit}"))


def test_only_numbers_with_a_unit_are_asked_for() -> None:
    assert [one.digits for one in amounts("port 6380, 3.11.4, 12 files in 40 s and $7", bare=False)] == ["40", "7"]


def test_magnitudes_become_digits() -> None:
    assert spelled_out("$1.5M of 2k").split() == ["$1500000", "of", "2000"]
    assert in_latin("150\u4e07\u5143, 1.5\u5206\u949f").split() == ["1500000", ",", "1.5min"]


@pytest.mark.parametrize(
    ("tally", "follows"),
    [
        ("There are 40 tests, 3 failed.", [37]),
        ("37 passed, 3 failed in 2.31s", [40]),
        ("Tests: 3 failed, 2 skipped, 40 total", [35]),
        ("3 of 40 tests failed", [37]),
        ("40 tests\n3 of them are failing", [37]),
        ("Hay 40 pruebas y fallan 3.", [37]),
        ("Von 40 Tests sind 3 fehlgeschlagen", [37]),
        ("\u5171\u670940\u4e2a\u6d4b\u8bd5\uff0c3\u4e2a\u5931\u8d25\u3002", [37]),
        ("failed: 3, passed: 37", [40]),
        ("There are 40 tests in 12 files, 3 failed.", []),
        ("17 passed in 2.31s", []),
        ("port 8443 open, 2026-11-29 failed, v1.40 done, build-40 failed", []),
        ("40 users.\n\nOn the other hand, as was said at length before, 3 failed.", []),
    ],
)
def test_what_follows_from_a_tally(tally: str, follows: list[int]) -> None:
    assert list(derived(tally)) == follows


@pytest.mark.parametrize("unit", ["1 failed, ", "1 of ", "12", "3 k", "fail ", "1.5M ", "9,", "$", "1 1 "])
def test_a_hostile_text_ends(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    assert sum(1 for _ in amounts(text)) >= 0
    assert sum(1 for _ in derived(text)) >= 0


WORDS = ("minutes", "minute", "min", "m", "mes", "d\u00eda", "%", "\u20ac", "\u5206\u949f", "\u5206", "k")
PLAIN = re.compile(
    "|".join(
        re.escape(word) if word in "%\u20ac\u5206\u949f" else rf"{word}(?![^\W\d_\u3400-\u9fff])"
        for word in sorted(WORDS, key=len, reverse=True)
    ),
    re.IGNORECASE,
)


@given(st.lists(st.sampled_from([*WORDS, " ", "x", "S", "\u5929", "\u00e9", "5", "K", "_"]), max_size=12).map("".join))
def test_that_a_word_ends_is_asked_once_for_all(text: str) -> None:
    together = re.compile(any_of(WORDS), re.IGNORECASE)
    assert [match.span() for match in together.finditer(text)] == [match.span() for match in PLAIN.finditer(text)]


WRITTEN = (
    *(
        "5",
        "12",
        "1,200",
        "1.5",
        "007",
        "$ ",
        "\u20ac",
        "k",
        "M",
        "bn",
        "min",
        "\u20acx",
        "a",
        ".",
        ",",
        "-",
        "s",
        "two",
    ),
    *("ten ", "Three", "million", "\u5206\u949f", "\u4e94", "\u4e07", "%", " of ", " and ", " ", "  ", "\n", "\u00a0"),
)
TEXTS = st.lists(st.sampled_from(WRITTEN), max_size=24).map("".join)


@given(TEXTS)
def test_amounts_are_where_the_pattern_for_one_is(text: str) -> None:
    found = [match.span() for match in module._places(text)]
    assert found == [match.span() for match in module._AMOUNT.finditer(text)]


@given(TEXTS)
def test_the_quantities_of_a_text_are_its_amounts_with_a_unit(text: str) -> None:
    assert set(quantities(text)) == set(amounts(text, bare=False))


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        ("5 m\u0130n", "5 min"),
        ("\u017feven minutes", "seven minutes"),
        ("5 \u017fec", "5 sec"),
        ("10 mill\u0131on", "10 million"),
        ("2 MILL\u00d3N", "2 mill\u00f3n"),
    ],
)
def test_letters_that_a_search_without_case_takes_for_others_are_these(odd: str, plain: str) -> None:
    assert [one.readings for one in amounts(odd)] == [one.readings for one in amounts(plain)]
    assert in_latin(odd).strip()
    assert spelled_out(odd).strip()


@given(st.text(st.sampled_from("5k tenw0.,'-\n\u5341\u00e9\u017f"), max_size=40))
def test_a_text_that_counts_nothing_has_no_amounts(text: str) -> None:
    if not counts(text) and not any(sign.isdigit() for sign in text):
        assert module._COUNTED.search(text) is None
        assert list(amounts(text)) == []
