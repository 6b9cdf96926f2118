"""Two summaries as one text with what left and what came marked: lines, and words within a changed line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

Kind = Literal["same", "gone", "new"]

AROUND = 2  # lines of context that stay
LONGEST_LINE = 2_000  # characters of one line that are compared and shown
_WORDS = re.compile(r"\s+|[\w./:@-]+|.", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a line in a row; `marked`: they are what differs."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line. left_out: characters cut off its end."""

    kind: Kind
    spans: tuple[Span, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Lines in a row; `folded`: both texts have them, far from any difference."""

    lines: tuple[Line, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """`gone`, `new`: lines counted."""

    blocks: tuple[Block, ...]
    gone: int
    new: int


def difference(old: str, new: str) -> Difference:
    """From the one to the other."""
    lines = list(_lines(old.splitlines(), new.splitlines()))
    kinds = [line.kind for line in lines]
    return Difference(blocks=tuple(_blocks(lines)), gone=kinds.count("gone"), new=kinds.count("new"))


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (_plain("same", text) for text in old[a:b])
            continue
        changed = min(b - a, d - c) if tag == "replace" else 0
        pairs = [_changed(old[a + i], new[c + i]) for i in range(changed)]
        yield from (left for left, _ in pairs)
        yield from (_plain("gone", text) for text in old[a + changed : b])
        yield from (right for _, right in pairs)
        yield from (_plain("new", text) for text in new[c + changed : d])


def _plain(kind: Kind, text: str) -> Line:
    return Line(kind, (Span(text[:LONGEST_LINE]),), max(0, len(text) - LONGEST_LINE))


def _changed(old: str, new: str) -> tuple[Line, Line]:
    left, right = _WORDS.findall(old[:LONGEST_LINE]), _WORDS.findall(new[:LONGEST_LINE])
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.quick_ratio() < 0.3:  # two lines that only stand in the same place
        return _plain("gone", old), _plain("new", new)
    spans: tuple[list[Span], list[Span]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        for made, words in zip(spans, (left[a:b], right[c:d]), strict=True):
            if words:
                made.append(Span("".join(words), tag != "equal"))
    return (
        Line("gone", tuple(spans[0]), max(0, len(old) - LONGEST_LINE)),
        Line("new", tuple(spans[1]), max(0, len(new) - LONGEST_LINE)),
    )


def _blocks(lines: Sequence[Line]) -> Iterator[Block]:
    near = {n + step for n, line in enumerate(lines) if line.kind != "same" for step in range(-AROUND, AROUND + 1)}
    cuts = [0, *(n for n in range(1, len(lines)) if (n in near) != (n - 1 in near)), len(lines)]
    for start, stop in pairwise(cuts):
        if stop > start:
            folded = start not in near and stop - start > 1
            yield Block(tuple(lines[start:stop]), folded)
