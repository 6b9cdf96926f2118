"""Amounts: numbers with their magnitude and unit, so that `$1.5M` is `$1,500,000` and no `$1.5B`, and 90 s are 1.5 min.

The same is what is exactly so by the usual meaning: a GB is 1,000 MB or 1,024. A number without a unit may have any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from offturn_engine.caseless import lowered
from offturn_engine.cues import words_in
from offturn_engine.statement_words import COUNTED

Kind = Literal["count", "time", "months", "size", "money", "share"]

THOUSANDS = re.compile(r"[,_'\u00a0\u202f](?<=\d[,_'\u00a0\u202f])(?=\d{3}(?!\d))")
"""A separator of thousands. It is what a search starts with: a look behind it first took ten times as long."""


_MAGNITUDES = {
    10**3: "thousand mil tausend \u5343",
    10**4: "\u4e07 \u842c",
    10**6: "million millions mio mill\u00f3n millon millones millionen \u767e\u4e07",
    10**8: "\u4ebf \u5104",
    10**9: "billion billions milliarde milliarden \u5341\u4ebf",
}
_UNITS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "time": (
        ("0.001", "ms millisecond milliseconds milisegundo milisegundos millisekunden \u6beb\u79d2"),
        ("1", "s sec secs second seconds segundo segundos sekunde sekunden \u79d2 \u79d2\u949f"),
        ("60", "min mins minute minutes minuto minutos minuten \u5206\u949f \u5206\u9418"),
        ("3600", "h hr hrs hour hours hora horas stunde stunden \u5c0f\u65f6 \u5c0f\u6642"),
        ("86400", "day days d\u00eda d\u00edas dia dias tag tage tagen \u5929"),
        ("604800", "week weeks semana semanas woche wochen \u5468"),
    ),
    "months": (
        ("1", "month months mes meses monat monate monaten \u4e2a\u6708"),
        ("12", "year years a\u00f1o a\u00f1os jahr jahre jahren"),
    ),
    "size": (("1", "byte bytes"), ("1e3", "kb kib"), ("1e6", "mb mib"), ("1e9", "gb gib"), ("1e12", "tb tib")),
    "money": (
        ("0.01", "cent cents"),
        (
            "1",
            "usd eur gbp cny rmb jpy chf dollar dollars d\u00f3lares euro euros \u20ac \u7f8e\u5143 \u6b27\u5143 \u5143 \u5757",
        ),
    ),
    "share": (("0.01", "% percent prozent"),),
}
"""Of each kind the units, the smallest first."""

_CURRENCIES = {
    word: words[0]
    for words in (
        ("usd", "$", "dollar", "dollars", "d\u00f3lares", "\u7f8e\u5143"),
        ("eur", "\u20ac", "euro", "euros", "\u6b27\u5143"),
        ("gbp", "\u00a3"),
        ("chf",),
        ("cny", "rmb"),
        ("jpy",),
    )
    for word in words
}
"""What names one currency; a yen's sign and a yuan's are the same, and every country says `\u5143`."""

_BINARY = {Decimal(1_000) ** power: Decimal(1_024) ** power for power in range(1, 5)}
_THOUSAND, _MILLION, _BILLION = (Decimal(10) ** power for power in (3, 6, 9))
_GLUED: dict[str, tuple[tuple[Kind, Decimal], ...]] = {
    "k": (("count", _THOUSAND), ("size", _THOUSAND)),
    "K": (("count", _THOUSAND), ("size", _THOUSAND)),
    "m": (("count", _MILLION), ("time", Decimal(60))),
    "M": (("count", _MILLION), ("size", _MILLION)),
    "G": (("size", _BILLION),),
    "b": (("count", _BILLION), ("size", Decimal(1))),
    "B": (("count", _BILLION), ("size", Decimal(1))),
    "bn": (("count", _BILLION),),
}
"""What letters directly behind a number may mean; `5 m` may be metres."""

_MAGNITUDE = {word: Decimal(value) for value, words in _MAGNITUDES.items() for word in words.split()}
_UNIT = {
    word: (kind, Decimal(size)) for kind, units in _UNITS.items() for size, words in units for word in words.split()
}


def any_of(words: Iterable[str]) -> str:
    """Any of them, a word of letters not in the middle of one. That is asked once for all: compiling it took a second."""
    longest = sorted(words, key=len, reverse=True)
    letters = [word for word in longest if word[0] < "\u2000" and word.isalpha()]
    others = [re.escape(word) for word in longest if word not in letters]
    return "|".join([rf"(?:{'|'.join(letters)})(?![^\W\d_\u3400-\u9fff])", *others])


_AMOUNT = re.compile(
    r"(?P<sign>[$\u20ac\u00a3\u00a5][^\S\n]?)?(?<![A-Za-z0-9_.,])(?P<digits>\d{1,15}(?:[.,]\d{1,9})*)"
    rf"(?:(?P<glued>(?-i:bn|[kmb])|[^\S\n]?(?-i:[KMGB]))(?![^\W_])|[^\S\n]?-?(?P<word>{any_of(_MAGNITUDE)}))?"
    rf"(?:(?:[^\S\n]d?[eo]f?[^\S\n]|[^\S\n]?-?)(?P<unit>{any_of(_UNIT)}))?",
    re.IGNORECASE,
)
JOINED = re.compile(rf"(?<=\d)[^\S\n](?=(?:{any_of((*_MAGNITUDE, *_UNIT, 'k'))}))", re.IGNORECASE)
"""The blank between a number and what belongs to it."""

DECIMAL_COMMA = re.compile(rf"(?<=\d),(?=\d{{1,2}}[^\S\n]?(?:{any_of((*_MAGNITUDE, *_UNIT))}))", re.IGNORECASE)

_COUNTED = re.compile(
    rf"\b(?:{'|'.join(word for word in COUNTED if word.isascii())})\b|[{''.join(w for w in COUNTED if not w.isascii())}](?=[\u5206\u79d2\u5929\u5468\u5c0f\u4e2a\u5e74\u5143])",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_FIRST_DIGIT = re.compile(r"\d(?<![A-Za-z0-9_.,]\d)")
_SIGN = re.compile(r"[$\u20ac\u00a3\u00a5][^\S\n]?\Z")
_LARGEST = Decimal(1_000)
_AND = re.compile(r"[^\S\n]?(?:,|and|y|und)?[^\S\n]?")
_POINTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


@dataclass(frozen=True, slots=True)
class Amount:
    """`digits` as written, without separators. `readings`: what it may say, by kind; a number without a unit is a count.

    `counts`: the numbers it is written as in a smaller unit, or without any. `scaled`: a word or letter multiplies it.
    `currency`: in which it is money, "" where that is not said.
    """

    digits: str
    readings: frozenset[tuple[Kind, Decimal]]
    counts: frozenset[Decimal]
    scaled: bool = False
    currency: str = ""

    @property
    def bare(self) -> bool:
        """Has it nothing but digits?"""
        return not self.scaled and all(kind == "count" for kind, _ in self.readings)

    @property
    def counted(self) -> Iterator[Decimal]:
        """The numbers that it may be of something."""
        return (n for kind, n in self.readings if kind == "count")

    @property
    def kinds(self) -> frozenset[Kind]:
        return frozenset(kind for kind, _ in self.readings)

    def rounds(self, other: Amount) -> bool:
        """Is it the other, rounded to the places it has, of which two at least say something?"""
        digits = Decimal(self.digits.replace(",", ".")) if self.digits.replace(",", ".").count(".") < 2 else Decimal(0)
        if len(digits.as_tuple().digits) < 2 or not digits:
            return False
        step = Decimal((0, (1,), int(digits.as_tuple().exponent)))
        return any(
            kind in (there, "count") and (exact / (value / digits)).quantize(step) == digits
            for kind, value in self.readings
            for there, exact in other.readings
            if value != digits and exact < _LARGEST * value
        )

    def same(self, other: Amount) -> bool:
        """Does it say what the other says?"""
        if self.currency and other.currency and self.currency != other.currency:
            return False
        if self.readings & other.readings:
            return True
        return any(
            ("count", n) in there.readings for here, there in ((self, other), (other, self)) for n in here.counts
        )


def amounts(text: str, *, bare: bool = True) -> Iterator[Amount]:
    """The amounts of a text in its order, `five minutes` too. `bare`: also numbers that nothing follows."""
    plain = THOUSANDS.sub("", text)
    if counts(text):
        plain = _COUNTED.sub(lambda match: COUNTED[lowered(match[0])], plain)
    span, end = Decimal(0), -1
    for match in _places(plain):
        whole = bare or match["sign"] or match["glued"] or match["word"] or match["unit"]
        if not whole or (found := _amount(match)) is None:
            continue
        yield found
        seconds = next((value for kind, value in found.readings if kind == "time"), Decimal(0))
        before = span if _AND.fullmatch(plain[end : match.start()]) else Decimal(0)
        if before and seconds:
            yield _spanning(before + seconds, found.digits)
        span, end = before + seconds if seconds else Decimal(0), match.end()


def counts(text: str) -> bool:
    """May a number stand there as a word? Asked of every sentence, and few have one."""
    return not text.isascii() or not COUNTED.keys().isdisjoint(words_in(text))


def quantities(text: str) -> Iterator[Amount]:
    """The amounts of a long text that have a unit or a magnitude, those of lines that come again once."""
    folded = lowered(text)
    counted = [word for word in COUNTED if word in folded]
    for line, plain in dict(zip(text.split("\n"), folded.split("\n"), strict=True)).items():
        if _DIGIT.search(line) or any(word in plain for word in counted):
            yield from amounts(line, bare=False)


def _places(text: str) -> Iterator[re.Match[str]]:
    """Where `_AMOUNT` stands. Looked for are digits: a pattern that starts with a sign which may be missing is slow."""
    end = 0
    for digit in _FIRST_DIGIT.finditer(text):
        if (at := digit.start()) < end:
            continue
        sign = _SIGN.search(text, max(end, at - 2), at)
        match = _AMOUNT.match(text, sign.start() if sign else at)
        if match:
            end = match.end()
            yield match


def _spanning(seconds: Decimal, digits: str) -> Amount:
    """Hours and minutes that stand in a row."""
    counts = frozenset(seconds / Decimal(size) for size, _ in _UNITS["time"])
    return Amount(digits, frozenset([("time", seconds)]), counts)


def written(number: Decimal) -> str:
    """A number as digits."""
    return f"{number:.0f}" if number == number.to_integral_value() else f"{number.normalize():f}"


def spelled_out(text: str) -> str:
    """The text with its magnitudes as digits: `1.5M` is `1500000`."""
    return _AMOUNT.sub(_spelled, THOUSANDS.sub("", text)) if _DIGIT.search(text) else text


def in_latin(text: str) -> str:
    """The text with Han magnitudes as digits and Han units in Latin letters."""
    return _AMOUNT.sub(_latin, text) if _DIGIT.search(text) else text


def _latin(match: re.Match[str]) -> str:
    word, unit, values = match["word"] or "", match["unit"] or "", _values(match["digits"])
    if (word + unit).isascii() or not values:
        return match[0]
    digits = match["digits"] if word.isascii() else written(values[0] * _MAGNITUDE[lowered(word)])
    kind, size = _UNIT.get(lowered(unit), ("money", Decimal(1)))
    latin = unit if unit.isascii() else next((words.split()[0] for n, words in _UNITS[kind] if Decimal(n) == size), "")
    return f"{digits}{word if word.isascii() else ''}{latin if kind == 'time' or unit.isascii() else ''} "


def _spelled(match: re.Match[str]) -> str:
    factor = _factor(match)
    values = _values(match["digits"])
    if factor is None or not values:
        return match[0]
    return f"{match['sign'] or ''}{written(values[0] * factor)} {match['unit'] or ''}"


def _factor(match: re.Match[str]) -> Decimal | None:
    """By what a word or letter multiplies a number."""
    if match["word"]:
        return _MAGNITUDE[lowered(match["word"])]
    meant = dict(_GLUED.get((match["glued"] or "").strip(), ()))
    return meant["count"] if "count" in meant and (match["glued"] not in ("m", "b") or match["sign"]) else None


def _amount(match: re.Match[str]) -> Amount | None:
    values = _values(match["digits"])
    if not values:
        return None
    readings: set[tuple[Kind, Decimal]] = set()
    counts: set[Decimal] = set()
    for value in values:
        if match["glued"] and not match["sign"]:
            readings.update(
                (kind, value * n) for kind, size in _GLUED[match["glued"].strip()] for n in _sizes(kind, size)
            )
        scaled = value * (_factor(match) or 1)
        kind, size = (
            _UNIT[lowered(match["unit"])] if match["unit"] else ("money" if match["sign"] else "count", Decimal(1))
        )
        if match["unit"] or match["sign"] or not match["glued"]:
            _read(kind, scaled, size, readings, counts)
    named = lowered((match["unit"] or match["sign"] or "").strip())
    return Amount(
        match["digits"],
        frozenset(readings),
        frozenset(counts),
        scaled=_factor(match) is not None,
        currency=_CURRENCIES.get(named, ""),
    )


def _read(kind: Kind, value: Decimal, size: Decimal, readings: set[tuple[Kind, Decimal]], counts: set[Decimal]) -> None:
    """One meaning of a number, and the numbers that it is in the smaller units of its kind."""
    readings.update((kind, value * one) for one in _sizes(kind, size))
    if kind == "count":
        return
    counts.update((value, value * size) if size < 1 and kind != "time" else (value,))
    for text, _ in _UNITS[kind] if kind != "money" else ():
        smaller = Decimal(text)
        if smaller < size:
            counts.add(value * size / smaller)
            if kind == "size":
                counts.add(value * _BINARY[size] / _BINARY.get(smaller, Decimal(1)))


def _sizes(kind: Kind, size: Decimal) -> set[Decimal]:
    return {size, _BINARY[size]} if kind == "size" and size in _BINARY else {size}


def _values(digits: str) -> list[Decimal]:
    """What digits may say: a point or a comma before three is one of thousands in some languages."""
    if _POINTS.fullmatch(digits):
        whole = [Decimal(digits.replace(".", ""))]
        return [*whole, Decimal(digits)] if digits.count(".") == 1 else whole
    decimal = digits.replace(",", ".")
    return [Decimal(decimal)] if decimal.count(".") < 2 else []
