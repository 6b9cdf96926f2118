"""Does a source support a sentence? A word of it is looked up, and what stands on the same line is compared.

Every line is taken apart once, however often words lead to it: a summary of hundreds of sentences asks of the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from offturn_engine.amounts import THOUSANDS, Amount, amounts, written
from offturn_engine.statement_words import NEGATIVE
from offturn_engine.statements import numbers, stems

LOOKED_UP = 200  # places in the source at which one word is looked up; where there are more, it is taken as supported
AROUND = 160  # characters on each side of such a place

_ENDS = re.compile(r"\n|(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])")


class Line:
    """What stands around a place, as far as it is one sentence."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stems(self.text))

    @cached_property
    def numbers(self) -> frozenset[str]:
        return numbers(self.text)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        return tuple(amounts(self.text))

    @cached_property
    def restricts(self) -> bool:
        return NEGATIVE.search(self.text) is not None

    @cached_property
    def asks(self) -> bool:
        return self.text.rstrip().endswith(("?", "\uff1f"))


class Source:
    """All that a summary was made from, in lower case; lines with `12,500` a second time, with the digits together."""

    def __init__(self, text: str) -> None:
        self._given = text
        self._lines: dict[str, Line] = {}
        self._places: dict[str, tuple[Line, ...] | None] = {}

    @cached_property
    def _text(self) -> str:
        plain = self._given.lower()
        lines = plain.split("\n") if THOUSANDS.search(plain) else ()
        joined = (THOUSANDS.sub("", line) for line in lines if THOUSANDS.search(line))
        return "\n".join((plain, *joined))

    def supports(
        self, text: str, frame: frozenset[str], *, restricting: bool = False, number: bool = False, asking: bool = False
    ) -> bool:
        """Does the text stand somewhere beside half of these stems (in what restricts, as a number, in a question)?

        Yes also where it stands at more than `LOOKED_UP` places.
        """
        lines = self._lines_of(text)
        return lines is None or any(
            len(frame & line.stems) * 2 >= len(frame)
            and (not number or text in line.numbers)
            and (not restricting or line.restricts)
            and (not asking or line.asks)
            for line in lines
        )

    def says(self, text: str, frame: frozenset[str], pattern: re.Pattern[str], *, negative: bool | None) -> bool:
        """Does a line with this text and half of these stems match? `negative`: None where it may say no or not."""
        lines = self._lines_of(text[:4] if text.isalpha() else text)
        return lines is None or any(
            len(frame & line.stems) * 2 >= len(frame)
            and pattern.search(line.text) is not None
            and negative in (None, line.restricts)
            for line in lines
        )

    def gives(self, amount: Amount, frame: frozenset[str]) -> bool:
        """Does the amount stand somewhere beside half of these stems, in whatever unit?"""
        texts = {amount.digits, *map(written, amount.counts), *(written(n) for _, n in amount.readings)}
        return any(
            lines is None or any(len(frame & line.stems) * 2 >= len(frame) and _has(line, amount) for line in lines)
            for lines in map(self._lines_of, sorted(texts))
        )

    def _lines_of(self, text: str) -> tuple[Line, ...] | None:
        if text not in self._places:
            self._places[text] = self._at(text)
        return self._places[text]

    def _at(self, text: str) -> tuple[Line, ...] | None:
        """The lines that hold it, each once; None where there are too many places."""
        found: dict[str, Line] = {}
        for looked, place in enumerate(self._occurrences(text)):
            if looked == LOOKED_UP:
                return None
            start, end = max(0, place - AROUND), place + len(text) + AROUND
            before = _ENDS.split(self._text[start:place])[-1]
            line = before + text + _ENDS.split(self._text[place + len(text) : end], maxsplit=1)[0]
            found[line] = self._lines.setdefault(line, Line(line))
        return tuple(found.values())

    def _occurrences(self, text: str) -> Iterator[int]:
        place = self._text.find(text)
        while place >= 0:
            yield place
            place = self._text.find(text, place + 1)


def _has(line: Line, amount: Amount) -> bool:
    return any(amount.same(there) for there in line.amounts)
