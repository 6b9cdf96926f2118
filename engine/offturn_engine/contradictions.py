"""Does a summary contradict what a human said? A dropped or an added negation, another value, amount or path.

Only a statement about the same thing contradicts: most of its words are the other's too. And only where nothing in the
source supports it: a human who changed their mind, or a result that gave the other figure, is no contradiction. A wrong
refusal costs a paid call, so what is not sure is passed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from offturn_engine.constraints import is_constraint
from offturn_engine.statement_words import (
    ALTERNATIVES,
    ASSENT,
    AT_LEAST,
    AT_MOST,
    DEMANDING,
    DIRECTIVE,
    DONE,
    FACTORS,
    HAS,
    NEGATIVE,
    ORDER,
    PERMITTING,
    RELENTING,
    UNITS,
)
from offturn_engine.statements import Statement, asks_for, clauses, numbers, statements, stem, stems

Change = Literal["negation", "value", "amount", "name"]

MOST = 50  # contradictions found in one text
LED_TO = 500  # statements that one word leads to, the newest
COMPARED = 100  # of these, those with most words in common
LOOKED_UP = 200  # places in the source at which one word is looked up; where there are more, it is taken as supported
AROUND = 160  # characters on each side of such a place
BRIEF = 3  # words of a statement that does no more than agree
DEMAND = 2  # words shared with a sentence up to which that has to be a constraint by its cues
SAID = 5_000  # statements of humans, the newest

_ALTERNATIVES = tuple(
    frozenset(map(stem, group)) if all(w.isascii() or w[0] < "\u3400" for w in group) else group
    for group in (*ALTERNATIVES, *ORDER)
)
_ENDS = re.compile(r"\n|(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])")
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
    judge = _Judge(told, source.lower())
    found: dict[Contradiction, None] = {}
    for one, beside in ((clause, whole.bag) for whole in statements(prose) for clause in clauses(whole)):
        found.update(dict.fromkeys(judge.against(one, beside)))
        if len(found) >= MOST:
            break
    return list(found)[:MOST]


class _Judge:
    def __init__(self, told: Sequence[Statement], source: str) -> None:
        self.told = told
        self.source = source
        self.by_word: dict[str, list[int]] = defaultdict(list)
        for i, one in enumerate(told):
            for word in one.words:
                self.by_word[word].append(i)
        self.assented = max((i for i, one in enumerate(told) if _agrees(one)), default=-1)

    def against(self, one: Statement, beside: frozenset[str]) -> Iterator[Contradiction]:
        """What one statement of the prose contradicts. `beside`: the words of the sentence that it is a clause of."""
        shared = Counter[int]()
        for word in one.words:
            shared.update(self.by_word.get(word, ())[-LED_TO:])
        near = [i for i, _ in shared.most_common(COMPARED)]
        same = {other.text for other in self._of(near) if other.text == one.text}
        if same:
            return
        for i in near:
            other = self.told[i]
            change = self._change(one, i, near)
            if change == "value" and any(_OF[w] & other.bag & beside for w in one.bag if w in _OF):
                continue
            if change is not None and not self._granted(other, i):
                yield Contradiction(change, i)

    def _of(self, indexes: Iterable[int]) -> Iterator[Statement]:
        return (self.told[i] for i in indexes)

    def _change(self, one: Statement, i: int, near: Sequence[int]) -> Change | None:
        other = self.told[i]
        if self._drops(one, other, near, self._of(n for n in near if n > i)) or self._adds(one, other):
            return "negation"
        if self._revalues(one, other, near):
            return "value"
        if self._recounts(one, other, self._of(n for n in near if n > i)):
            return "amount"
        return "name" if self._renames(one, other) else None

    def _drops(self, one: Statement, other: Statement, near: Iterable[int], later: Iterable[Statement]) -> bool:
        """It says to do what the other forbids, and no human ever said so, nor said it of "it" later."""
        action, objects = other.action, other.objects
        if other.text.endswith(("?", "\uff1f")) and not is_constraint(other.text):
            return False
        if other.thing:
            return self._takes(one, other, near)
        if not action or action not in one.bag or not one.plain or not asks_for(one, action):
            return False
        if other.names and not other.names & one.names:
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
        if not one.action or one.conditional or DIRECTIVE.search(one.text) is None or not asks_for(other, one.action):
            return False
        if not one.objects or not _covers(one.objects, other.bag) or (one.names and not one.names & other.names):
            return False
        return not self._supported(one.action[:4], one.objects, restricting=True)

    def _granted(self, other: Statement, i: int) -> bool:
        """Did a human agree later to what the other forbids? Where they had to be asked, or were."""
        if i >= self.assented or not (other.action or other.thing):
            return False
        about = other.objects or frozenset((other.action,))
        return other.conditional or self._supported(other.action[:4], about, asking=True)

    def _revalues(self, one: Statement, other: Statement, near: Iterable[int]) -> bool:
        """It has another one of several values that exclude each other, in what is a constraint otherwise the same."""
        if one.action or other.action:
            return False
        for word in one.bag:
            group = _OF.get(word)
            if group is None or not group & other.bag or group & other.bag & one.bag:
                continue
            frame, mine, theirs = (one.bag & other.bag) - group, one.bag - group, other.bag - group
            if not frame or len(frame) * 5 < 3 * max(len(mine), len(theirs)):
                continue
            if word in _ORDER and _after(one, group) != _after(other, group):
                continue
            if len(frame) < DEMAND and not is_constraint(other.text):
                continue
            if not any(word in h.bag and len(frame & h.bag) * 2 >= len(frame) for h in self._of(near)):
                return True
        return False

    def _recounts(self, one: Statement, other: Statement, later: Iterable[Statement]) -> bool:
        """It has other amounts than a constraint that is otherwise the same, and no human gave these of it later."""
        if not one.numbers or not other.numbers or one.numbers & other.numbers or one.names != other.names & one.names:
            return False
        frame = one.bag & other.bag
        if not _alike(one, other, frame):
            return False
        nearly = len(frame) > DEMAND and len(frame) * 5 >= 3 * max(len(one.bag), len(other.bag))
        if not nearly and not is_constraint(other.text) and DEMANDING.search(other.text) is None:
            return False
        if _within(one, other):
            return False
        if not frame & UNITS and any(_converted(a, b) for a in one.numbers for b in other.numbers):
            return False
        if any(self._supported(number, frame, number=True) for number in one.numbers):
            return False
        return not any(h.bag & frame and (h.numbers & one.numbers or _same(h, one)) for h in later)

    def _renames(self, one: Statement, other: Statement) -> bool:
        """It names other files or identifiers than a constraint that is otherwise the same."""
        if not one.names or not other.names or one.names & other.names or bool(one.action) != bool(other.action):
            return False
        frame = (one.bag & other.bag) - _words(one.names | other.names)
        mine, theirs = one.bag - _words(one.names), other.bag - _words(other.names)
        if not frame or len(frame) * 5 < 3 * max(len(mine), len(theirs)) or not is_constraint(other.text):
            return False
        return not any(self._supported(name, frame, restricting=bool(other.action)) for name in one.names)

    def _supported(
        self,
        text: str,
        frame: frozenset[str],
        *,
        restricting: bool = False,
        number: bool = False,
        asking: bool = False,
    ) -> bool:
        """Does it stand somewhere in the source beside half of these words (and something that restricts, in a question)?"""
        place, looked = self.source.find(text), 0
        while place >= 0:
            looked += 1
            if looked > LOOKED_UP:
                return True
            start, end = max(0, place - AROUND), place + len(text) + AROUND
            before = _ENDS.split(self.source[start:place])[-1]
            line = before + text + _ENDS.split(self.source[place + len(text) : end], maxsplit=1)[0]
            beside = len(frame.intersection(stems(line))) * 2 >= len(frame)
            if asking and not line.rstrip().endswith(("?", "\uff1f")):
                beside = False
            if beside and (not number or text in numbers(line)) and (not restricting or NEGATIVE.search(line)):
                return True
            place = self.source.find(text, place + 1)
        return False


def _agrees(one: Statement) -> bool:
    match = ASSENT.search(one.text)
    if match is None or len(one.words) > BRIEF:
        return False
    return NEGATIVE.search(one.text[: match.start()] + one.text[match.end() :]) is None


def _covers(objects: frozenset[str], bag: frozenset[str]) -> bool:
    return len(objects & bag) * 5 >= len(objects) * 3


def _alike(one: Statement, other: Statement, frame: frozenset[str]) -> bool:
    same = len(frame) == len(one.bag) == len(other.bag)
    return same or (len(frame) >= 2 and len(frame) * 2 >= max(len(one.bag), len(other.bag)))


def _words(names: Iterable[str]) -> frozenset[str]:
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


def _within(one: Statement, other: Statement) -> bool:
    """Does it tell of an amount that keeps the limit which the other sets?"""
    if HAS.search(one.text) is None or AT_MOST.search(one.text) or AT_LEAST.search(one.text):
        return False
    try:
        mine, theirs = [float(n) for n in one.numbers], [float(n) for n in other.numbers]
    except ValueError:
        return False
    if AT_MOST.search(other.text):
        return max(mine) <= max(theirs)
    return AT_LEAST.search(other.text) is not None and min(mine) >= min(theirs)


def _same(one: Statement, other: Statement) -> bool:
    return any(_converted(a, b) for a in one.numbers for b in other.numbers)


def _after(one: Statement, group: frozenset[str]) -> tuple[str, ...]:
    """The word that follows the first of a group."""
    at = next(i for i, word in enumerate(one.words) if word in group)
    return one.words[at + 1 : at + 2]


def _converted(a: str, b: str) -> bool:
    try:
        low, high = sorted((float(a), float(b)))
    except ValueError:
        return True
    return low > 0 and round(high / low, 6) in FACTORS
