"""Prose in lines and sentences: what of a message is spoken, as opposed to code blocks and quoted log lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LOOKED = 100_000  # characters of a message that are looked at from its start, and as many from its end

_BULLET = re.compile(r"\s{0,40}(?:[-*•+\u2013]|\(?\d{1,3}[.):、]|\(?[a-z][.)])\s{1,8}(?:\[[ x]\]\s{1,4})?")
_END = re.compile(r"(?<![.!?])[.!?]+[\"'”\u2019)\]]{0,3}(?=\s)|[。\uff01\uff1f\uff1b]+[”\u2019」\uff09]?")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|dr|mr|mrs|ms|st|p|ej|sr|sra)|\b[a-z])\.$", re.IGNORECASE
)
_LOG = re.compile(
    r"^(?:(?:[A-Za-z_]\w{0,60}\.){0,6}\w{0,60}(?:Error|Exception|Warning)\b.{0,3}:|[\[{][\"{]|File \"|at (?:async )?\S+ ?\(|=>|\$ |> \[|npm (?:ERR|error|warn)|\d{1,6}\.\d{1,6} \S|#\d{1,4} (?:\[|\d)|\w{1,20}: '[^']{0,60}',?$|\d{4}-\d\d-\d\d[T ]\d\d:)"
)
_FENCE = ("```", "~~~")


class Line(NamedTuple):
    """One line of prose without its bullet. `bullet`: did it have one? `bare`: the line as it stands, stripped."""

    body: str
    bullet: bool
    bare: str


def spoken(text: str) -> Iterator[Line]:
    """The lines of prose of a text, of a very long one those of its start and its end; whatever ends a line for anybody."""
    fenced = False
    for line in (text if len(text) <= 2 * LOOKED else f"{text[:LOOKED]}\n{text[-LOOKED:]}").splitlines():
        bare = line.strip()
        if bare.startswith(_FENCE):
            fenced = not fenced
        if fenced or not bare or bare.startswith(_FENCE) or _LOG.match(bare):
            continue
        bullet = _BULLET.match(line)
        yield Line(line[bullet.end() :].strip() if bullet else bare, bullet is not None, bare)


def sentences(line: str) -> list[str]:
    """The sentences of one line, each a substring of it; no break after an abbreviation."""
    found, start = [], 0
    for end in _END.finditer(line):
        if not _ABBREVIATION.search(line[max(start, end.end() - 12) : end.end()]):
            found.append(line[start : end.end()].strip())
            start = end.end()
    rest = line[start:].strip()
    return [*found, rest] if rest else found
