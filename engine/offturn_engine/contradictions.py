"""Does a summary contradict what a human said? A dropped or an added negation, another value, amount or path.

Only a statement about the same thing contradicts: most of its words are the other's too. And only where nothing in the
source supports it: a human who changed their mind, or a result that gave the other figure, is no contradiction. A wrong
refusal costs a paid call, so what is not sure is passed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from offturn_engine.constraints import is_constraint
from offturn_engine.recounting import recounted
from offturn_engine.relenting import Relenting
from offturn_engine.statement_words import (
    ALTERNATIVES,
    ASSENT,
    DEMANDING,
    DIRECTIVE,
    DONE,
    NEGATIVE,
    ORDER,
    PERMITTING,
    RELENTING,
    WHEN,
)
from offturn_engine.statements import Statement, asks_for, clauses, statements, stem, stems
from offturn_engine.supporting import Source

Change = Literal["negation", "value", "amount", "name"]

MOST = 50  # contradictions found in one text
LED_TO = 500  # statements that one word leads to, the newest
COMPARED = 100  # of these, those with most words in common
BRIEF = 3  # words of a statement that does no more than agree
DEMAND = 2  # words shared with a sentence up to which that has to be a constraint by its cues
SAID = 5_000  # statements of humans, the newest

_ALTERNATIVES = tuple(
    frozenset(map(stem, group)) if all(w.isascii() or w[0] < "\u3400" for w in group) else group
    for group in (*ALTERNATIVES, *ORDER)
)
_OF = {word: group for group in _ALTERNATIVES for word in group}
_ORDER = frozenset(word for group in _ALTERNATIVES[len(ALTERNATIVES) :] for word in group)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What was changed, and in which of the statements that were said (its index)."""

    change: Change
    said: int


def said(texts: Iterable[str]) -> tuple[Statement, ...]:
    """What humans said, oldest first, as statements and their clauses."""
    return tuple(clause for text in texts for one in statements(text) for clause in clauses(one))[-SAID:]


def contradictions(prose: str, told: Sequence[Statement], source: str) -> list[Contradiction]:
    """What the prose says against what was told, in order, at most `MOST`. `source`: all that the prose was made from."""
    if not told:
        return []
    judge = _Judge(told, Source(source))
    found: dict[Contradiction, None] = {}
    for one, beside in ((clause, whole.bag) for whole in statements(prose) for clause in clauses(whole)):
        found.update(dict.fromkeys(judge.against(one, beside)))
        if len(found) >= MOST:
            break
    return list(found)[:MOST]


class _Judge:
    def __init__(self, told: Sequence[Statement], source: Source) -> None:
        self.told = told
        self.source = source
        self.by_word: dict[str, list[int]] = defaultdict(list)
        for i, one in enumerate(told):
            for word in one.words:
                self.by_word[word].append(i)
        self.binding: dict[int, bool] = {}
        self.assented = max((i for i, one in enumerate(told) if _agrees(one)), default=-1)

    def against(self, one: Statement, beside: frozenset[str]) -> Iterator[Contradiction]:
        """What one statement of the prose contradicts. `beside`: the words of the sentence that it is a clause of."""
        shared = Counter[int]()
        for word in one.words:
            shared.update(self.by_word.get(word, ())[-LED_TO:])
        # As `most_common`, in half of its time: few of so many counts differ.
        near = sorted(shared, key=shared.__getitem__, reverse=True)[:COMPARED]
        same = {other.text for other in self._of(near) if other.text == one.text}
        if same:
            return
        relenting = Relenting(one, self.source)
        valued = [word for word in one.bag if word in _OF]
        for i in near:
            other = self.told[i]
            change = self._change(one, i, near, relenting, valued)
            if change == "value" and any(_OF[w] & other.bag & beside for w in valued):
                continue
            if change is not None and not self._granted(other, i):
                yield Contradiction(change, i)

    def _binds(self, i: int) -> bool:
        """Is it a constraint, by its cues?"""
        if i not in self.binding:
            self.binding[i] = is_constraint(self.told[i].text)
        return self.binding[i]

    def _of(self, indexes: Iterable[int]) -> Iterator[Statement]:
        return (self.told[i] for i in indexes)

    def _after(self, i: int, near: Iterable[int]) -> Iterator[Statement]:
        """Of these what was said later."""
        return self._of(n for n in near if n > i)

    def _change(
        self, one: Statement, i: int, near: Sequence[int], relenting: Relenting, valued: Sequence[str]
    ) -> Change | None:
        other = self.told[i]
        if self._drops(one, i, near, self._after(i, near)) or self._adds(one, other):
            return "negation"
        if relenting.possible and self._relents(relenting, i, near):
            return "negation"
        if valued and self._revalues(one, i, near, valued):
            return "value"
        if recounted(one, other, self._after(i, near), self.source, binds=lambda: self._binds(i)):
            return "amount"
        return "name" if self._renames(one, i) else None

    def _relents(self, relenting: Relenting, i: int, near: Sequence[int]) -> bool:
        other, later = self.told[i], list(self._after(i, near))
        return relenting.of(other, later) and not (other.action and any(_lifts(h, other) for h in later))

    def _drops(self, one: Statement, i: int, near: Iterable[int], later: Iterable[Statement]) -> bool:
        """It says to do what the other forbids, and no human ever said so, nor said it of "it" later."""
        other = self.told[i]
        action, objects = other.action, other.objects
        if other.text.endswith(("?", "\uff1f")) and not self._binds(i):
            return False
        if other.thing:
            return self._takes(one, other, near)
        if not action or action not in one.bag or not one.plain or not asks_for(one, action):
            return False
        if (other.names and not other.names & one.names) or (other.conditional and WHEN.search(one.text)):
            return False
        if objects:
            about = _covers(objects, one.bag) and len(one.bag & other.bag) * 2 >= len(one.bag)
        else:
            about = not other.conditional and one.words[0] == action and len(one.words) <= 3
        if about and any(_lifts(h, other) for h in later):
            return False
        return about and not any(
            h.plain and action in h.bag and _covers(objects, h.bag) for h in self._of(near) if h is not other
        )

    def _takes(self, one: Statement, other: Statement, near: Iterable[int]) -> bool:
        """It says to do something with the thing that the other forbids, and no human ever said so."""
        objects = other.objects
        if other.conditional or not one.plain or DONE.search(one.text) or not objects <= one.bag:
            return False
        if not one.words or one.words[0] in objects or len(one.words) > len(objects) + 2:
            return False
        return not any(not h.negative and objects <= h.bag for h in self._of(near))

    def _adds(self, one: Statement, other: Statement) -> bool:
        """It forbids what the other asks for, and nothing in the source ever did."""
        if (
            not one.action
            or (one.conditional and not one.bag <= other.bag)
            or DIRECTIVE.search(one.text) is None
            or not asks_for(other, one.action)
        ):
            return False
        if not one.objects or not _covers(one.objects, other.bag) or (one.names and not one.names & other.names):
            return False
        return not self.source.supports(one.action[:4], one.objects, restricting=True)

    def _granted(self, other: Statement, i: int) -> bool:
        """Did a human agree later to what the other forbids? Where they had to be asked, or were."""
        if i >= self.assented or not (other.action or other.thing):
            return False
        about = other.objects or frozenset((other.action,))
        return other.conditional or self.source.supports(other.action[:4], about, asking=True)

    def _revalues(self, one: Statement, i: int, near: Iterable[int], valued: Sequence[str]) -> bool:
        """It has another one of several values that exclude each other, in what is a constraint otherwise the same.

        `valued`: its words that are such values.
        """
        other = self.told[i]
        if one.action or other.action:
            return False
        for word in valued:
            group = _OF[word]
            if not group & other.bag or group & other.bag & one.bag:
                continue
            frame, mine, theirs = (one.bag & other.bag) - group, one.bag - group, other.bag - group
            if not frame or len(frame) * 5 < 3 * max(len(mine), len(theirs)):
                continue
            if word in _ORDER and _after(one, group) != _after(other, group):
                continue
            if len(frame) < DEMAND and not self._binds(i) and DEMANDING.search(other.text) is None:
                continue
            if not any(word in h.bag and len(frame & h.bag) * 2 >= len(frame) for h in self._of(near)):
                return True
        return False

    def _renames(self, one: Statement, i: int) -> bool:
        """It names other files or identifiers than a constraint that is otherwise the same."""
        other = self.told[i]
        if not one.names or not other.names or one.names & other.names or bool(one.action) != bool(other.action):
            return False
        own, others = _words(one.names), _words(other.names)
        frame = (one.bag & other.bag) - own - others
        mine, theirs = one.bag - own, other.bag - others
        if not frame or len(frame) * 5 < 3 * max(len(mine), len(theirs)) or not self._binds(i):
            return False
        return not any(self.source.supports(name, frame, restricting=bool(other.action)) for name in one.names)


def _agrees(one: Statement) -> bool:
    if len(one.words) > BRIEF or (match := ASSENT.search(one.text)) is None:
        return False
    return NEGATIVE.search(one.text[: match.start()] + one.text[match.end() :]) is None


def _covers(objects: frozenset[str], bag: frozenset[str]) -> bool:
    return len(objects & bag) * 5 >= len(objects) * 3


@lru_cache(maxsize=1_024)
def _words(names: frozenset[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in stems(name.replace("_", " ").replace(".", " ")))


def _lifts(later: Statement, other: Statement) -> bool:
    """Does a human ask for what they forbade before, or let it be done?"""
    if later.negative or later.text.endswith(("?", "\uff1f")):
        return False
    if asks_for(later, other.action) and (later.words == (other.action,) or _covers(other.objects, later.bag)):
        return True
    named = other.action in later.bag or (other.action[0] >= "\u3400" and other.action[0] in later.text)
    if not other.objects or not _covers(other.objects, later.bag):
        return False
    return RELENTING.search(later.text) is not None or (named and PERMITTING.search(later.text) is not None)


def _after(one: Statement, group: frozenset[str]) -> tuple[str, ...]:
    """The word that follows the first of a group."""
    at = next(i for i, word in enumerate(one.words) if word in group)
    return one.words[at + 1 : at + 2]
