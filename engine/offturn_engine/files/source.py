"""Bytes to records: one JSON value, or JSON lines with their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from offturn_engine.files.conversation import Notes, UnreadableFile
from offturn_engine.messages import Json

Data: TypeAlias = bytes | str | Iterable[str]
"""A whole file, or its lines."""

COMMENTS = ("#", "//")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """The records of a file. `lines` holds each record's line, counted from 1; empty for a single JSON value."""

    records: list[Json]
    lines: tuple[int, ...] = ()
    notes: Notes = field(default_factory=Notes)

    def place(self, index: int) -> str:
        """Where a record stands, for errors."""
        return f"line {self.lines[index]}" if self.lines else f"record {index}"


def load(data: Data) -> Source:
    """Parse a file. One JSON value that is not a list is one record. Raises UnreadableFile with the line.

    Comment and blank lines between JSON lines are skipped, and so is a last line that was cut while it was written.
    """
    text = _text(data)
    if not text.strip():
        return Source([])
    try:
        value = _parsed(text)
    except ValueError as error:
        return _lines(text, error)
    return Source(value if isinstance(value, list) else [value])


def _text(data: Data) -> str:
    if isinstance(data, str):
        return data
    if not isinstance(data, bytes | bytearray):
        return "\n".join(line.rstrip("\r\n") for line in data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    raise UnreadableFile(f"line {line} is not UTF-8: convert the file to UTF-8")


def _parsed(text: str) -> Json:
    """A JSON value without lone surrogates. Raises ValueError."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
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


def _lines(text: str, whole: ValueError) -> Source:
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    records = [(n, line) for n, line in numbered if not line.lstrip().startswith(COMMENTS)]
    source = Source([], tuple(n for n, _ in records))
    source.notes.count("comment lines skipped", len(numbered) - len(records))
    for n, line in records:
        try:
            source.records.append(_parsed(line))
        except ValueError:
            if not source.records:
                raise UnreadableFile(_problem(whole)) from None
            if n != records[-1][0]:
                raise UnreadableFile(f"line {n} is not JSON: repair or remove it") from None
            source.notes.count("last line cut short, skipped")
    return source


def _problem(error: ValueError) -> str:
    """Where JSON breaks off; the parser's own words hold no content."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno} is not JSON ({error.msg}), and the file is not JSON lines"
    return f"the file is not JSON ({error})"
