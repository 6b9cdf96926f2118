"""Does a sentence let off what a human demanded? It permits, excuses, or turns a limit round, and nobody ever did.

Only in so many words: `is allowed` of what was forbidden, `need not` of what was required, `at least` for `at most`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from offturn_engine.statement_words import (
    EXCUSING,
    GRANTING,
    INSERTING,
    KEEPING_OUT,
    OMITTING,
    REQUIRING,
    STRICTLY_LEAST,
    STRICTLY_MOST,
    UNASKED,
)
from offturn_engine.statements import Statement, asks_for, statement, stem, stems
from offturn_engine.supporting import Source

_SAYING = frozenset(
    map(
        stem,
        (
            "need",
            "required",
            "necessary",
            "optional",
            "allowed",
            "permitted",
            "mandatory",
            "unnecessary",
            "without",
            "skip",
            "omit",
        ),
    )
)
_ASKING = frozenset(
    map(stem, ("ask", "approval", "permission", "confirmation", "preguntar", "permiso", "aprobaci\u00f3n"))
)
_WITHOUT = re.compile(r"(?i)\b(?:without|sin)\b")
_LIMITS = ((STRICTLY_MOST, STRICTLY_LEAST), (STRICTLY_LEAST, STRICTLY_MOST))


class Relenting:
    """One sentence, and what is left of it without the words that let something off."""

    def __init__(self, one: Statement, source: Source) -> None:
        self.one = one
        self.source = source

    @cached_property
    def possible(self) -> bool:
        """Has it any words for that?"""
        if self.one.text.endswith(("?", "\uff1f")):
            return False
        found = (self._granting, self._excusing, self._unasked, self._omitting, *self._limits)
        return any(found) or INSERTING.search(self.one.text) is not None

    def of(self, other: Statement, later: Sequence[Statement]) -> bool:
        """Does it permit, excuse or turn round what the other says, while no human did `later`, nor anything in the source?"""
        if other.text.endswith(("?", "\uff1f")):
            return False
        if self._permits(other) or self._excuses(other, later) or self._unasks(other):
            return True
        return self._turns(other) or self._lets_in(other)

    @cached_property
    def _granting(self) -> Statement | None:
        return _rest(self.one.text, GRANTING)

    @cached_property
    def _excusing(self) -> Statement | None:
        return _rest(self.one.text, EXCUSING)

    @cached_property
    def _unasked(self) -> Statement | None:
        return _rest(self.one.text, UNASKED)

    @cached_property
    def _omitting(self) -> Statement | None:
        return _rest(self.one.text, OMITTING)

    @cached_property
    def _limits(self) -> tuple[Statement | None, ...]:
        """Without `at least` where it has no `at most`, and the other way round."""
        text = self.one.text
        return tuple(None if theirs.search(text) else _rest(text, mine) for theirs, mine in _LIMITS)

    def _permits(self, other: Statement) -> bool:
        one, rest = self.one, self._granting
        if rest is None or not other.objects or not other.objects <= one.bag or not rest.plain or rest.negative:
            return False
        circumstances = other.bag - other.objects - {other.action} if other.conditional else frozenset[str]()
        if (circumstances and not circumstances & one.bag) or (other.names and not other.names & one.names):
            return False
        if other.action not in one.bag and len(one.bag - other.objects - _SAYING) > 1:
            return False
        words = filter(None, (*other.objects, other.action))
        return not any(self.source.says(word, other.objects, GRANTING, negative=False) for word in words)

    def _excuses(self, other: Statement, later: Sequence[Statement]) -> bool:
        one = self.one
        if other.negative or other.action or other.numbers != one.numbers or not one.names <= other.names:
            return False
        kinds = ((self._excusing, EXCUSING), (self._unasked, UNASKED), (self._omitting, OMITTING))
        rest, words = next(((left, words) for left, words in kinds if left is not None), (None, EXCUSING))
        if rest is None or rest.negative or REQUIRING.search(other.text) is None or EXCUSING.search(other.text):
            return False
        mine, theirs = one.bag - _SAYING, other.bag - _SAYING
        frame = mine & theirs
        if not _close(mine, theirs) or any(_excused(h, one, frame) for h in later):
            return False
        if words is UNASKED and not other.bag & _ASKING:
            return False
        told_to = words is EXCUSING or not _WITHOUT.search(one.text) or any(asks_for(rest, word) for word in frame)
        if not told_to:
            return False
        return not any(self.source.says(word, frame, words, negative=None) for word in frame)

    def _unasks(self, other: Statement) -> bool:
        """It says to do without asking what must not be done so."""
        rest = self._unasked
        if rest is None or not other.action or not other.objects <= rest.bag or UNASKED.search(other.text) is None:
            return False
        return rest.plain and asks_for(rest, other.action)

    def _turns(self, other: Statement) -> bool:
        for (theirs, mine), rest in zip(_LIMITS, self._limits, strict=True):
            if rest is None or rest.negative or mine.search(other.text):
                continue
            limited = _rest(other.text, theirs)
            if limited is None or limited.negative or not _close(rest.bag, limited.bag):
                continue
            if any(a.same(b) for a, b in product(self.one.amounts, other.amounts)):
                frame = rest.bag & limited.bag
                return not any(self.source.says(a.digits, frame, mine, negative=None) for a in self.one.amounts)
        return False

    def _lets_in(self, other: Statement) -> bool:
        """It puts somewhere what is to be kept out of there."""
        kept = KEEPING_OUT.search(other.text)
        if kept is None or other.negative or not self.one.plain or INSERTING.search(self.one.text) is None:
            return False
        objects = frozenset((*stems(kept[1]), *stems(kept[2])))
        if not objects <= self.one.bag or len(self.one.bag - objects) > 1:
            return False
        return not any(self.source.says(word, objects, INSERTING, negative=None) for word in objects)


def _rest(text: str, words: re.Pattern[str]) -> Statement | None:
    """The sentence without these words; None where it has none of them."""
    match = words.search(text)
    return None if match is None else statement(text[: match.start()] + text[match.end() :])


def _excused(human: Statement, one: Statement, frame: frozenset[str]) -> bool:
    return EXCUSING.search(human.text) is not None and bool(human.numbers & one.numbers or human.bag & frame)


def _close(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return bool(mine & theirs) and len(mine & theirs) * 5 >= 3 * max(len(mine), len(theirs))
