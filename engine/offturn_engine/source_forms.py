"""What a source holds, by the forms in which a summary may name it. Nothing is looked for before it is asked for.

Most of what a summary names stands in its source as it is: then the rest of a megabyte's numbers is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property

from offturn_engine.amounts import THOUSANDS, Amount, Kind, quantities, written
from offturn_engine.caseless import lowered
from offturn_engine.runs import Runs, apart, encoded, letters
from offturn_engine.tallies import derived

_NAMES = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
_PIECES, _PATHS = Runs(_NAMES), Runs(f"{_NAMES}/")
_SEPARATOR = re.compile(r"[._-]")
_ATOMS = Runs("abcdefghijklmnopqrstuvwxyz0123456789")
_DIGITS, _DOTTED = Runs("0123456789"), Runs("0123456789.")

_ESCAPES = re.compile(r"\\[nrt\"]")
_NUMBER, _DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)*"), re.compile(r"[0-9]+(?:\.[0-9]+)+")
_HEX = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_HEX_START = re.compile(r"[0-9a-f]{7,15}")
_WORD_NUMBER = re.compile(r"([a-z]+)(\d+)")
_PM = re.compile(r"(?<![\w.])(1[01]|[1-9])(?::\d\d)?[^\S\n]?p\.?m\b")
_APART = re.compile(r"\([$\u20ac\u00a3\u00a5]?(k|mm?|bn?)\)")
_IN_THOUSANDS = re.compile(r"\bin[^\S\n](thousand|million|billion)s\b")
_POWERS = {"k": 3, "thousand": 3, "m": 6, "mm": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
_ONES = "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d"
_SPELLED = re.compile(rf"[a-z\u00e0-\u017f]{{3,}}|\u4e00[\u767e\u5343]|[{_ONES}]?\u5341[{_ONES}]?")
_IN_WORDS = {
    word: str(value)
    for value, words in (
        (10, "ten diez zehn \u5341"),
        (11, "eleven elf \u5341\u4e00"),
        (12, "twelve dozen doce docena zw\u00f6lf dutzend \u5341\u4e8c"),
        (13, "thirteen trece dreizehn"),
        (14, "fourteen catorce vierzehn"),
        (15, "fifteen quince f\u00fcnfzehn \u5341\u4e94"),
        (16, "sixteen diecis\u00e9is sechzehn"),
        (17, "seventeen diecisiete siebzehn"),
        (18, "eighteen dieciocho achtzehn"),
        (19, "nineteen diecinueve neunzehn"),
        (20, "twenty veinte zwanzig \u4e8c\u5341"),
        (30, "thirty treinta drei\u00dfig \u4e09\u5341"),
        (40, "forty cuarenta vierzig \u56db\u5341"),
        (50, "fifty cincuenta f\u00fcnfzig \u4e94\u5341"),
        (60, "sixty sesenta sechzig \u516d\u5341"),
        (70, "seventy setenta siebzig"),
        (80, "eighty ochenta achtzig \u516b\u5341"),
        (90, "ninety noventa neunzig"),
        (100, "hundred cien hundert \u4e00\u767e"),
        (1_000, "thousand tausend \u4e00\u5343"),
    )
    for word in words.split()
}
_FIELDS = 8  # of a dotted name or number


class Known:
    """Every form of a source that a summary's anchor is compared with; what is asked for is in lower case."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._plain = source.lower()
        self._rounded: dict[tuple[int, int], set[str]] = {}

    def piece(self, name: str) -> bool:
        """Does a name stand between slashes, colons and the like, with its marks or without, or as a dotted part of one?"""
        return name in self._pieces[0] or name in self._pieces[1]

    def hash(self, start: str) -> bool:
        """Does a hash start so?"""
        return _HEX_START.fullmatch(start) is not None and start in self._hashes

    def atom(self, atom: str) -> bool:
        """Does a run of letters and digits stand there? `step3` also where its word and its number do."""
        if atom in self._atoms or self.number(atom):
            return True
        split = _WORD_NUMBER.fullmatch(atom)
        return split is not None and split[1] in self._atoms and self.number(split[2])

    def number(self, digits: str) -> bool:
        """Does a number stand there, in digits, in words, in another unit, or as what follows from a tally?"""
        if not _NUMBER.fullmatch(digits):
            return False
        if digits in self._digits or digits in self._told:
            return True
        return digits in self._measured or digits in self._derived

    def scaled(self, power: int, digits: str) -> bool:
        """Does a large number stand there that is this one rounded, divided by that power of ten?"""
        places = len(digits.partition(".")[2])
        if places > 2:
            return False
        if (power, places) not in self._rounded:
            self._rounded[power, places] = {f"{n / 10**power:.{places}f}" for n in self._large}
        return digits in self._rounded[power, places]

    def gives(self, readings: frozenset[tuple[Kind, Decimal]]) -> bool:
        """Does an amount with a magnitude or a unit say one of these?"""
        return not self._readings.isdisjoint(readings)

    @cached_property
    def apart(self) -> set[int]:
        """Powers of ten that a heading gives for the numbers under it."""
        folded = lowered(self._source)
        said = _APART.findall(folded)
        if any(f"{word}s" in folded for word in ("thousand", "million", "billion")):
            said += _IN_THOUSANDS.findall(folded)
        return {_POWERS[word] for word in said}

    def placed(self, folder: str, name: str) -> bool:
        """Does the name stand in this folder?"""
        return f"{folder}/{name}" in self._places[0]

    def bare(self, name: str) -> bool:
        """Does it stand in no folder, as a listing shows it?"""
        return name in self._places[1]

    @cached_property
    def _text(self) -> bytes:
        """The text, and the lines that are to be read in another way too.

        `[10,200]` is two numbers, `10,200` one; a line break escaped inside JSON glues its letter to the next word.
        """
        lines = self._plain.split("\n")
        separated = THOUSANDS.search(self._plain) is not None
        joined = (THOUSANDS.sub("", line) for line in lines if THOUSANDS.search(line)) if separated else ()
        escaped = (_ESCAPES.sub(" ", line) for line in lines if "\\" in line)
        return encoded("\n".join((self._plain, *joined, *escaped)))

    @cached_property
    def _pieces(self) -> tuple[dict[str, None], set[str]]:
        """The pieces that are read, and other forms of them. A form that is a piece too is read as well: `1500` behind `1.500`."""
        read: dict[str, None] = {}
        forms: set[str] = set()
        for run in _PIECES.of(self._text):
            piece = run.strip(".-")
            if piece not in read:
                read[piece] = None
                if not piece.isalnum():
                    fields = piece.split(".")[:_FIELDS]
                    forms.update((_SEPARATOR.sub("", piece), *fields))
                    forms.update(".".join(fields[start:]) for start in range(1, len(fields)))
        return read, forms

    @cached_property
    def _read(self) -> bytes:
        return encoded(" ".join(self._pieces[0]))

    @cached_property
    def _atoms(self) -> frozenset[str]:
        return frozenset(_ATOMS.of(self._read))

    @cached_property
    def _hashes(self) -> set[str]:
        """The starts of all."""
        whole = (piece for piece in self._pieces[0] if _HEX.fullmatch(piece))
        return {piece[:end] for piece in whole for end in range(7, min(len(piece), 16))}

    @cached_property
    def _runs_of_digits(self) -> list[str]:
        return _DIGITS.of(self._read)

    @cached_property
    def _digits(self) -> set[str]:
        found = {*self._runs_of_digits, *(run.lstrip("0") or "0" for run in self._runs_of_digits)}
        for run in _DOTTED.of(self._read):
            for decimal in _DECIMAL.findall(run):
                found.update(_decimal(decimal))
        return found

    @cached_property
    def _large(self) -> list[int]:
        return [int(run) for run in self._runs_of_digits if 4 <= len(run) <= 12]

    @cached_property
    def _told(self) -> set[str]:
        plain, other = apart(self._plain)
        words = letters(plain).union(_SPELLED.findall(other))
        evening = (line for line in self._plain.split("\n") if "pm" in line or "p.m" in line)
        hours = {str(int(hour) + 12) for line in evening for hour in _PM.findall(line)}
        return hours.union(_IN_WORDS[word] for word in words & _IN_WORDS.keys())

    @cached_property
    def _amounts(self) -> list[Amount]:
        return list(quantities(self._source))

    @cached_property
    def _readings(self) -> set[tuple[Kind, Decimal]]:
        return {reading for amount in self._amounts for reading in amount.readings}

    @cached_property
    def _measured(self) -> set[str]:
        return {written(n) for amount in self._amounts for n in (*amount.counts, *amount.counted)}

    @cached_property
    def _derived(self) -> set[str]:
        return set(map(str, derived(self._source)))

    @cached_property
    def _places(self) -> tuple[set[str], set[str]]:
        """A name with the folder it stands in, as in `src/app.py`; and names that stand in none."""
        pairs: set[str] = set()
        bare: set[str] = set()
        for run in _PATHS.of(self._text.replace(b"\\", b"/")):
            before = ""
            for part in run.split("/"):
                if part and before:
                    pairs.add(f"{before.strip('.-')}/{part.strip('.-')}")
                elif part:
                    bare.add(part.strip(".-"))
                before = part
        return pairs, bare


def _decimal(text: str) -> Iterator[str]:
    """A dotted number with its starts (`3.11` of `3.11.4`), and a decimal's roundings."""
    fields = text.split(".")[:_FIELDS]
    yield from (".".join(fields[:end]) for end in range(1, len(fields) + 1))
    if len(fields) == 2 and len(text) <= 16:
        value = float(text)
        yield from (f"{value:.{places}f}" for places in (0, 1, 2))
        if value <= 1:
            yield f"{value * 100:.0f}"
