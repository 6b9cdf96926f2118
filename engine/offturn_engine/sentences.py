"""Prose in lines and sentences: what of a message is spoken, as opposed to code blocks and quoted log lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LOOKED = 100_000  # characters of a message that are looked at from its start, and as many from its end

_BULLET = re.compile(r"\s{0,40}(?:[-*•+\u2013]|\(?\d{1,3}[.):、]|\(?[a-z][.)])\s{1,8}(?:\[[ x]\]\s{1,4})?")
_END = re.compile(r"(?<![.!?])[.!?]+[\"'”\u2019)\]]{0,3}(?=\s)|[。\uff01\uff1f\uff1b]+[”\u2019」\uff09]?")
_PLAIN_END = re.compile(r"[.!?](?<![.!?].)[.!?]*[\"')\]]{0,3}(?=\s)")
"""The same in a line of ASCII; it starts with characters, which `re` finds fast."""

_STOP = re.compile("[.!?。\uff01\uff1f\uff1b]")
"""Before the first of these no sentence ends."""

_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|dr|mr|mrs|ms|st|p|ej|sr|sra)|\b[a-z])\.$", re.IGNORECASE
)
_RAISED = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,6}\w{0,60}(?:Error|Exception|Warning)\b.{0,3}:")
_LOG = re.compile(
    r"^(?:[\[{][\"{]|File \"|at (?:async )?\S+ ?\(|=>|\$ |> \[|npm (?:ERR|error|warn)|\d{1,6}\.\d{1,6} \S|#\d{1,4} (?:\[|\d)|\w{1,20}: '[^']{0,60}',?$|\d{4}-\d\d-\d\d[T ]\d\d:)"
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
        if not bare:
            continue
        if bare.startswith(_FENCE):
            fenced = not fenced
        elif not fenced and not _logged(bare):
            bullet = _BULLET.match(line)
            yield Line(line[bullet.end() :].strip() if bullet else bare, bullet is not None, bare)


def _logged(bare: str) -> bool:
    """Is it the line of a log?"""
    raised = "Error" in bare or "Exception" in bare or "Warning" in bare
    return _LOG.match(bare) is not None or (raised and _RAISED.match(bare) is not None)


def sentences(line: str) -> list[str]:
    """The sentences of one line, each a substring of it; no break after an abbreviation."""
    stop = _STOP.search(line)
    if stop is None:
        rest = line.strip()
        return [rest] if rest else []
    found, start = [], 0
    for end in (_PLAIN_END if line.isascii() else _END).finditer(line, stop.start()):
        if not _ABBREVIATION.search(line[max(start, end.end() - 12) : end.end()]):
            found.append(line[start : end.end()].strip())
            start = end.end()
    rest = line[start:].strip()
    return [*found, rest] if rest else found


def told(text: str) -> Iterator[tuple[Line, list[str]]]:
    """The lines of prose of a text with their sentences."""
    return ((line, sentences(line.body)) for line in spoken(text))
