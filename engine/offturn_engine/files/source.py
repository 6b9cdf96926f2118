"""Bytes to records: one JSON value, or JSON lines with their numbers, read as a stream and as often as wanted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import NamedTuple, NoReturn, TypeAlias

from offturn_engine.files.conversation import Notes, TooLarge, UnreadableFile
from offturn_engine.messages import Json

Lines: TypeAlias = Callable[[], Iterable[bytes | str]]
"""Begins to read the file at its first line, each time it is called. A line longer than LONGEST may come in pieces."""
Data: TypeAlias = bytes | str | Iterable[str] | Lines
"""A whole file, its lines, or what reads them."""

LONGEST = 48 * 2**20
"""Bytes of a line, or of a file that is one JSON value: its records would not fit into the memory promised."""
LARGEST_CONVERSATION = 16 * 2**20
"""Bytes of what a reader keeps of a file: what more messages are made of would not fit into the memory promised."""
MOST_RECORDS = 200_000  # of one file: a reader remembers a little of each
HEAD = 200  # records a format is recognised by
MOST_BROKEN = 20  # lines that a host broke off while it wrote; a file with more of them is something else
MOST_VALUES = 1_000_000  # of one line or file that is one JSON value: a small one takes many times its bytes
COMMENTS = ("#", "//")
DEEP = "nested too deeply"
TOO_MANY_DIGITS = "a number has more digits than Python reads"
CUT_SHORT = "last line cut short, skipped"
UTF_16 = "the file is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
PACKED = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "packed by gzip", b"\x28\xb5\x2f\xfd": "packed by zstd"}
"""What files begin with that hold others."""
_STRING_OR_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{,]', re.DOTALL)
_BLANK = re.compile(r"\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(NamedTuple):
    """A value of the file and its place there, `line 12` or `record 3`, for errors."""

    value: Json
    place: str


class Source:
    """The records of a file. One JSON value that is not a list is one record.

    Comment and blank lines between JSON lines are skipped, and so is a last line that was cut while it was written.
    """

    def __init__(self, data: Data) -> None:
        """Raises UnreadableFile where the file is neither JSON nor JSON lines."""
        self.notes = Notes()
        self._lines = _again(data)
        self._told = False
        self._document = _document(self._lines)
        self._kept = 0
        self._foreign: Callable[[Json], str] | None = None

    def records(self, *, skip_broken: bool = False, kept: bool = True) -> Iterator[Record]:
        """From the first one, each time. skip_broken: of a log whose host may have died while it wrote a line. kept: the
        reader keeps all that it is given; one that does not calls `keep` for what it does.

        Raises UnreadableFile with the line that is no JSON, or from which on it is too much.
        """
        if self._document is not None:
            for i, value in enumerate(self._document):
                _refuse_more(i + 1, f"record {i}")
                yield Record(value, f"record {i}")
            return
        notes = Notes() if self._told else self.notes
        bad: list[int] = []
        size = count = 0
        for number, line in _numbered(self._lines):
            if bad and (not skip_broken or len(bad) > MOST_BROKEN):
                raise UnreadableFile(f"line {bad[0]} is not JSON: repair or remove it")
            if line.startswith(COMMENTS):
                notes.count("comment lines skipped")
                continue
            try:
                value = _parsed(line, f"line {number}")
            except ValueError:
                bad.append(number)
                continue
            size, count = size + len(line), count + 1
            if kept:
                refuse_larger(size, f"line {number}")
            _refuse_more(count, f"line {number}")
            if self._foreign and not self._told and (why := self._foreign(value)):
                raise UnreadableFile(f"line {number}: {why}")
            yield Record(value, f"line {number}")
            for broken in bad:
                notes.count(f"broken line skipped, line {broken}")
            bad.clear()
        notes.count(CUT_SHORT, len(bad))
        self._told = True

    def keep(self, value: Json, place: str) -> None:
        """Count what a reader keeps. Raises UnreadableFile, with the place, from which on it is too much."""
        self._kept += size_of(value)
        refuse_larger(self._kept, place)

    @property
    def is_lines(self) -> bool:
        """Is it JSON lines, and not one JSON value?"""
        return self._document is None

    def refuse(self, foreign: Callable[[Json], str]) -> None:
        """From now on lines of which this says why they belong to something else are refused; "": they do not."""
        self._foreign = foreign

    def values(self) -> list[Json]:
        """All records without their places."""
        return [record.value for record in self.records()]

    def head(self) -> list[Json]:
        """The first records: enough to recognise a format."""
        told, self._told = self._told, True
        found = [record.value for record in islice(self.records(skip_broken=True, kept=False), HEAD)]
        self._told = told
        return found


def refuse_larger(size: int, place: str) -> None:
    """Raises TooLarge where what is kept of a file, in bytes up to this place, would not fit."""
    if size > LARGEST_CONVERSATION:
        raise TooLarge(f"{place}: up to here there are more than {LARGEST_CONVERSATION // 2**20} MB of messages")


def _refuse_more(count: int, place: str) -> None:
    if count > MOST_RECORDS:
        raise TooLarge(f"{place}: there are more than {MOST_RECORDS:,} records")


def size_of(value: Json) -> int:
    """About the bytes of its texts, and a little for each value."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode(errors="replace"))
    if isinstance(value, list):
        return 8 + sum(map(size_of, value))
    return 8 + sum(len(key) + size_of(item) for key, item in value.items()) if isinstance(value, dict) else 8


def _again(data: Data) -> Lines:
    if callable(data):
        return data
    if isinstance(data, bytes | bytearray):
        return lambda: BytesIO(data)
    if isinstance(data, str):
        return lambda: iter(data.split("\n"))
    kept = list(data)
    return lambda: iter(kept)


def _numbered(lines: Lines) -> Iterator[tuple[int, str]]:
    """(line, counted from 1; its text) without blank ones."""
    for number, line in enumerate(lines(), 1):
        if len(line) > LONGEST:
            raise UnreadableFile(f"line {number} is longer than {LONGEST // 2**20} MB: no host writes such a message")
        if text := _text(line, number).strip():
            yield number, text


def _text(line: bytes | str, number: int) -> str:
    if isinstance(line, str):
        return line
    if number == 1:
        _refuse_binary(line)
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise UnreadableFile(f"line {number} is not UTF-8: convert the file to UTF-8") from None


def _refuse_binary(first: bytes) -> None:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or (
        len(first) > 1 and first[0] * first[1] == 0 != first[0] + first[1]
    ):
        raise UnreadableFile(UTF_16)
    for magic, told in PACKED.items():
        if first.startswith(magic):
            raise UnreadableFile(f"the file is {told}: unpack it, and give the transcript in it")


def _document(lines: Lines) -> list[Json] | None:
    """The records of a file that is one JSON value, or several that follow each other; None for JSON lines."""
    said = (text for _, text in _numbered(lines) if not text.startswith(COMMENTS))
    first = next(said, None)
    if first is None:
        return []
    try:
        value = _parsed(first, "line 1")
    except ValueError:
        return _whole(lines)
    if next(said, None) is not None:
        return None
    return value if isinstance(value, list) else [value]


def _whole(lines: Lines) -> list[Json] | None:
    size, kept = 0, []
    for number, line in enumerate(lines(), 1):
        size += len(line)
        if size > LONGEST:
            raise UnreadableFile(
                f"line {number}: the file is no JSON lines, and more than {LONGEST // 2**20} MB: write it as JSON lines"
            )
        kept.append(_text(line, number).rstrip("\r\n"))
    text = "\n".join(kept)
    try:
        value = _parsed(text, "the file")
    except ValueError as error:
        return _following(kept, text, error)
    return value if isinstance(value, list) else [value]


def _following(lines: Sequence[str], text: str, error: ValueError) -> list[Json] | None:
    """Values written over several lines each, one after the other; None for JSON lines of which the first is broken."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    found: list[Json] = []
    at, end = 0, len(text.rstrip())
    try:
        while at < end:
            value, at = decoder.raw_decode(text, _past_blank(text, at))
            found += value if isinstance(value, list) else [value]
    except (ValueError, RecursionError):
        if any(_is_object(line) for line in lines[1:]):
            return None
        raise UnreadableFile(_problem(error, text)) from None
    return [_encodable(value) for value in found]


def _past_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _is_object(line: str) -> bool:
    try:
        return line.startswith("{") and isinstance(_parsed(line, "a line"), dict)
    except ValueError:
        return False


def _parsed(text: str, place: str) -> Json:
    """A JSON value without lone surrogates. Raises ValueError; TooLarge, with the place, for too many values in it."""
    if len(text) > MOST_VALUES and sum(found[0][0] != '"' for found in _STRING_OR_VALUE.finditer(text)) > MOST_VALUES:
        raise TooLarge(f"{place} holds more than {MOST_VALUES:,} values")
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError(DEEP) from None
    return _encodable(value) if "\\ud" in text or "\\uD" in text else value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _encodable(value: Json) -> Json:
    """Lone surrogates become the replacement character: no provider takes them."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


def _problem(error: ValueError, text: str) -> str:
    """Where JSON breaks off, and what helps; the parser's own words hold no content."""
    if not isinstance(error, json.JSONDecodeError):
        told = TOO_MANY_DIGITS if "digits" in str(error) else str(error)
        return f"the file is not JSON ({told}): correct that, or give the file as the host wrote it"
    at = f"line {error.lineno}, column {error.colno}"
    if not text.lstrip().startswith(("{", "[")):
        return (
            f"{at} is not JSON ({error.msg}), and the file is not JSON lines: give the session file that the host wrote"
        )
    is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    remedy = (
        "it was cut short, give the whole file" if is_cut else "repair it there, or give the file as the host wrote it"
    )
    return f"{at} is not JSON ({error.msg}), and the file is not JSON lines: {remedy}"
