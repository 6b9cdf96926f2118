"""Statements: the sentences of a text as what can be compared of them: words, names, numbers, and what they forbid.

Words are compared by their stems, Han text by pairs of characters. In a language that the tables do not know, a
statement has words and numbers too, and forbids nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from offturn_engine.amounts import Amount, amounts, counts, spelled_out
from offturn_engine.grounding import anchors
from offturn_engine.sentences import sentences
from offturn_engine.statement_words import (
    ADDRESSED,
    CONDITION,
    COUNTED,
    DONE,
    EMPTY,
    EMPTY_HAN,
    ENDINGS,
    ENSURING,
    FORBIDDING,
    HARDLY,
    LEADS,
    NEGATIVE,
    RESTRICTING,
    TELLING,
    THING,
    THING_AFTER,
    UNABLE,
    UNABLE_UNLESS,
)

LONGEST = 600  # characters of a statement; what is longer is a paste
MOST = 2_000  # statements of one text
REMEMBERED = 4_096  # statements, and as many words: answers and views are compared with what was said before
LONGEST_REMEMBERED = 1_000  # characters of a statement
LONGEST_WORD = 40  # characters of a word whose stem is remembered

_TOKEN = re.compile(r"[^\W\d_\u3400-\u9fff]+(?:['\u2019][^\W\d_]+)?|\d+(?:[.,]\d+)*|[\u3400-\u9fff]")
_RUN = re.compile(r"[^\W\d_\u3400-\u9fff]+(?:['\u2019][^\W\d_]+)?|[\u3400-\u9fff]+")
_DIGIT = re.compile(r"\d")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_BULLET = re.compile(r"^\s{0,40}(?:#{1,6}\s|[-*\u2022+\u2013]\s|\(?\d{1,3}[.):\u3001]\s|>\s)*(?:\[[ xX]\]\s)?")
_MARKS = re.compile(r"[`*\"\u201c\u201d\u300c\u300d]")
_CLAUSE = re.compile(
    r"[,;:\uff0c\uff1b\uff1a](?:\s+|(?<=[\uff0c\uff1b\uff1a]))|\s[-\u2013\u2014]\s"
    r"|(?<=[.!?])\s+|\s(?:but|and|y|pero|sino|because|porque|since|so that)\s"
)
_POINTS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\d.]*\d)")  # 1.200 is 1,200 where a comma starts decimals
_PM = re.compile(r"\b(1[01]|[1-9])(?::\d\d)?\s?p\.?m\b")
_APOSTROPHE = re.compile("['\u2019]")
_ENDING = re.compile(rf"(?<=.{{3}})(?:{'|'.join(ENDINGS)})$")
_VOWELS = re.compile("(?<=[a-z]{2})(?:ie|ue)(?=[a-z])")  # despliegues, desplegar
_LAST = re.compile("(?:gu|qu|z|y)$")  # despliegues, toques, comiences, copy
_SOFT = {"gu": "g", "qu": "c", "z": "c", "y": "i"}
_ACCENTS = str.maketrans("\u00e1\u00e9\u00ed\u00f3\u00fa\u00fc\u00f1", "aeiouun")


class Statement:
    """One sentence. `words`: stems in order, without repeats; `bag`: as a set. What nobody asks for is not looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _words(self._bare)
        self.bag = frozenset(self.words)

    @cached_property
    def names(self) -> frozenset[str]:
        """Paths and identifiers by their last component, lower case."""
        named = (re.split(r"[/\\]", name.rstrip("/\\").lower())[-1] for name in anchors(self._bare) if _is_name(name))
        return frozenset(named)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """As digits, small ones too."""
        return numbers(self._bare)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """The numbers with their units."""
        return tuple(amounts(self._bare))

    @cached_property
    def plain(self) -> bool:
        """Does it restrict nothing?"""
        return RESTRICTING.search(self._bare) is None

    @cached_property
    def negative(self) -> bool:
        """Does it say no in some way?"""
        return NEGATIVE.search(self._bare) is not None

    @property
    def action(self) -> str:
        """The first stem that it forbids, "" where it forbids no action."""
        return self.forbidden.action

    @property
    def objects(self) -> frozenset[str]:
        """The other stems of that clause."""
        return self.forbidden.objects

    @property
    def conditional(self) -> bool:
        """Is it forbidden only until something?"""
        return self.forbidden.conditional

    @property
    def thing(self) -> bool:
        """Is what it forbids no action but the objects, as in "never the full suite"?"""
        return self.forbidden.thing

    @cached_property
    def forbidden(self) -> Forbidden:
        return _forbidden(self._bare)

    @property
    def _bare(self) -> str:
        return _MARKS.sub("", self.text)


class _Clause(Statement):
    """One of several of a sentence: it is no plainer than that, and conditional where that is."""

    def __init__(self, own: Statement, whole: Statement) -> None:
        self.text, self.words, self.bag = own.text, own.words, own.bag
        self._own, self._whole = own, whole

    @property
    def names(self) -> frozenset[str]:
        return self._own.names

    @property
    def numbers(self) -> frozenset[str]:
        return self._own.numbers

    @property
    def amounts(self) -> tuple[Amount, ...]:
        return self._own.amounts

    @property
    def plain(self) -> bool:
        return self._own.plain and self._whole.plain

    @property
    def negative(self) -> bool:
        return self._own.negative

    @property
    def conditional(self) -> bool:
        return self._own.conditional or self._whole.conditional

    @property
    def forbidden(self) -> Forbidden:
        return self._own.forbidden


class Forbidden(NamedTuple):
    """Of the first prohibition of a sentence: see `Statement`."""

    action: str
    objects: frozenset[str]
    conditional: bool
    thing: bool


_NOTHING = Forbidden("", frozenset(), False, False)


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text, at most `MOST`; lines of code and tables are statements like any other."""
    count = 0
    for line in text.split("\n"):
        body = _BULLET.sub("", line, count=1).strip()
        for sentence in sentences(body) if body else ():
            if count >= MOST:
                return
            if 2 <= len(sentence) <= LONGEST:
                count += 1
                yield statement(sentence)


def statement(sentence: str) -> Statement:
    """One sentence as a statement."""
    return _remembered(sentence) if len(sentence) <= LONGEST_REMEMBERED else Statement(sentence)


_remembered = lru_cache(maxsize=REMEMBERED)(Statement)


def words_of(sentence: str) -> tuple[str, ...]:
    """The words of one sentence as a statement, where nothing else is compared."""
    return _words(_MARKS.sub("", sentence))


def _words(bare: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stems(bare)))


def stems(text: str) -> Iterator[str]:
    """The stems of the words that say something, in the order of their first places; of each word once."""
    for token in dict.fromkeys(_RUN.findall(text.lower())):
        if token[0] >= "\u3400" and _HAN.match(token):
            pairs = (token[i : i + 2] for i in range(len(token) - 1))
            yield from (pair for pair in pairs if not EMPTY_HAN.search(pair))
        elif found := _remembered_saying(token) if len(token) <= LONGEST_WORD else _saying(token):
            yield found


def _saying(word: str) -> str:
    """The stem of a word that says something, "" of any other."""
    return stem(word) if len(word) > 2 and word not in EMPTY else ""


_remembered_saying = lru_cache(maxsize=REMEMBERED)(_saying)


def stem(word: str) -> str:
    """A word without accents and its ending, so that `deploy`, `deploys` and `deploying` are one."""
    return _remembered_stem(word) if len(word) <= LONGEST_WORD else _stem(word)


def _stem(word: str) -> str:
    word = _APOSTROPHE.split(word.lower().translate(_ACCENTS), maxsplit=1)[0]
    word = _ENDING.sub("", word, count=1)
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    if "ie" in word or "ue" in word:
        word = _VOWELS.sub(lambda match: "e" if match[0] == "ie" else "o", word)
    return (_LAST.sub(lambda match: _SOFT[match[0]], word) if word[-1:] in "uzy" else word)[:7]


_remembered_stem = lru_cache(maxsize=REMEMBERED)(_stem)


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text as digits: `1,000`, `1.000` and `1k` are `1000`, `three` is `3`."""
    found: set[str] = set()
    if _DIGIT.search(text) is None and not counts(text):
        return frozenset()
    told = _PM.sub(lambda match: str(int(match[1]) + 12), spelled_out(text).lower())
    for token in _TOKEN.findall(_POINTS.sub(lambda match: match[0].replace(".", ""), told)):
        if token[0].isdigit():
            found.add(token.replace(",", "."))
        elif token in COUNTED:
            found.add(COUNTED[token])
    return frozenset(found)


def clauses(whole: Statement) -> Iterator[Statement]:
    """The statement, then its clauses where it has several; a clause is no plainer than its sentence."""
    yield whole
    parts = [part for part in _CLAUSE.split(whole.text) if part]
    if len(parts) > 1:
        yield from (_Clause(part, whole) for part in map(statement, parts) if part.words)


def asks_for(sentence: Statement, action: str) -> bool:
    """Does it say that the action is to be done? Not where it was done, nor where the word is a thing."""
    if sentence.negative or DONE.search(sentence.text):
        return False
    before = ""
    for token in _TOKEN.findall(_MARKS.sub("", sentence.text).lower()):
        if stem(token) == action and not token.endswith("ed") and (not before or before in LEADS):
            return True
        before = token
    return bool(_HAN.match(action)) and action in sentence.text


_ADDRESSED = frozenset(map(stem, ADDRESSED))


def _forbidden(text: str) -> Forbidden:
    match = FORBIDDING.search(text)
    if match is None:
        return _NOTHING
    after = _CLAUSE.split(text[match.end() :].lstrip(" ,"), maxsplit=1)[0]
    opening = _CLAUSE.split(text[: match.start()])[-1]
    unable = UNABLE.search(opening + match[0]) is not None and UNABLE_UNLESS.match(after) is None
    telling = unable or TELLING.search(opening + match[0]) is not None
    wanted = ENSURING.search(opening) is not None
    if HARDLY.match(after) or (telling and not wanted):
        return _NOTHING
    told = CONDITION.split(after, maxsplit=1)
    following = list(stems(told[0]))
    if not following:
        return _NOTHING
    conditional = len(told) > 1 or CONDITION.search(text) is not None
    if THING.match(after) and match[0].lower() in THING_AFTER:
        return Forbidden("", frozenset(following), conditional, thing=True)
    subject = () if telling and wanted else (word for word in stems(opening) if word not in _ADDRESSED)
    objects = frozenset((*subject, *following[1:])) - {following[0]}
    return Forbidden(following[0], objects, conditional, thing=False)


def _is_name(anchor: str) -> bool:
    return any(c.isalpha() for c in anchor) and not anchor[0].isdigit()
