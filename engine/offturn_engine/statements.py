"""Statements: the sentences of a text as what can be compared of them: words, names, numbers, and what they forbid.

Words are compared by their stems, Han text by pairs of characters. In a language that the tables do not know, a
statement has words and numbers too, and forbids nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from offturn_engine.grounding import anchors
from offturn_engine.sentences import sentences
from offturn_engine.statement_words import (
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
)

LONGEST = 600  # characters of a statement; what is longer is a paste
MOST = 2_000  # statements of one text

_TOKEN = re.compile(r"[^\W\d_\u3400-\u9fff]+(?:['\u2019][^\W\d_]+)?|\d+(?:[.,]\d+)*|[\u3400-\u9fff]")
_RUN = re.compile(r"[^\W\d_\u3400-\u9fff]+(?:['\u2019][^\W\d_]+)?|[\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_BULLET = re.compile(r"^\s{0,40}(?:#{1,6}\s|[-*\u2022+\u2013]\s|\(?\d{1,3}[.):\u3001]\s|>\s)*(?:\[[ xX]\]\s)?")
_MARKS = re.compile(r"[`*\"\u201c\u201d\u300c\u300d]")
_CLAUSE = re.compile(
    r"[,;:\uff0c\uff1b\uff1a](?:\s+|(?<=[\uff0c\uff1b\uff1a]))|\s[-\u2013\u2014]\s"
    r"|(?<=[.!?])\s+|\s(?:but|and|y|pero|sino|because|porque|since|so that)\s"
)
_THOUSANDS = re.compile(r"(?<=\d)[,_'\u00a0\u202f](?=\d{3}(?!\d))")
_POINTS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?![\d.]*\d)")  # 1.200 is 1,200 where a comma starts decimals
_KILO = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)k\b")
_PM = re.compile(r"\b(1[01]|[1-9])(?::\d\d)?\s?p\.?m\b")
_VOWELS = re.compile("(?<=[a-z]{2})(?:ie|ue)(?=[a-z])")  # despliegues, desplegar
_LAST = re.compile("(?:gu|qu|z|y)$")  # despliegues, toques, comiences, copy
_SOFT = {"gu": "g", "qu": "c", "z": "c", "y": "i"}
_ACCENTS = str.maketrans("\u00e1\u00e9\u00ed\u00f3\u00fa\u00fc\u00f1", "aeiouun")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence.

    `words`: stems in order, without repeats. `names`: paths and identifiers by their last component, lower case.
    `numbers`: as digits, small ones too. `plain`: it restricts nothing; `negative`: it says no in some way. `action`: the first stem that it forbids, "" where
    it forbids no action; `objects`: the other stems of that clause; `conditional`: forbidden only until something.
    `thing`: what it forbids is no action but the objects, as in "never the full suite".
    """

    text: str
    words: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    plain: bool
    negative: bool
    action: str
    objects: frozenset[str]
    conditional: bool
    thing: bool

    @property
    def bag(self) -> frozenset[str]:
        return frozenset(self.words)


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
    bare = _MARKS.sub("", sentence)
    action, objects, conditional, thing = _forbidden(bare)
    return Statement(
        text=sentence,
        words=tuple(dict.fromkeys(stems(bare))),
        names=frozenset(re.split(r"[/\\]", name.rstrip("/\\").lower())[-1] for name in anchors(bare) if _is_name(name)),
        numbers=numbers(bare),
        plain=RESTRICTING.search(bare) is None,
        negative=NEGATIVE.search(bare) is not None,
        action=action,
        objects=objects,
        conditional=conditional,
        thing=thing,
    )


def stems(text: str) -> Iterator[str]:
    """The stems of the words that say something, in order, repeats included."""
    for token in _RUN.findall(text.lower()):
        if _HAN.match(token):
            pairs = (token[i : i + 2] for i in range(len(token) - 1))
            yield from (pair for pair in pairs if not EMPTY_HAN.search(pair))
        elif len(token) > 2 and token not in EMPTY:
            yield stem(token)


def stem(word: str) -> str:
    """A word without accents and its ending, so that `deploy`, `deploys` and `deploying` are one."""
    word = re.split("['\u2019]", word.lower().translate(_ACCENTS))[0]
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 4 and word[-1] == word[-2]:
        word = word[:-1]
    word = _VOWELS.sub(lambda match: "e" if match[0] == "ie" else "o", word)
    return _LAST.sub(lambda match: _SOFT[match[0]], word)[:7]


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text as digits: `1,000`, `1.000` and `1k` are `1000`, `three` is `3`."""
    found: set[str] = set()
    told = _PM.sub(lambda match: str(int(match[1]) + 12), text.lower())
    plain = _POINTS.sub(lambda match: match[0].replace(".", ""), _THOUSANDS.sub("", told))
    for token in _TOKEN.findall(_KILO.sub(lambda match: f"{float(match[1]) * 1_000:.0f}", plain)):
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
        for part in map(statement, parts):
            if part.words:
                yield replace(part, plain=part.plain and whole.plain, conditional=part.conditional or whole.conditional)


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


def _forbidden(text: str) -> tuple[str, frozenset[str], bool, bool]:
    """Of the first prohibition of a sentence: action, objects, whether it is conditional, whether it is of a thing."""
    match = FORBIDDING.search(text)
    if match is None:
        return "", frozenset(), False, False
    after = _CLAUSE.split(text[match.end() :].lstrip(" ,"), maxsplit=1)[0]
    opening = _CLAUSE.split(text[: match.start()])[-1]
    telling = TELLING.search(opening + match[0])
    wanted = ENSURING.search(opening) is not None
    if HARDLY.match(after) or (telling and not wanted):
        return "", frozenset(), False, False
    told = CONDITION.split(after, maxsplit=1)
    following = list(stems(told[0]))
    if not following:
        return "", frozenset(), False, False
    conditional = len(told) > 1 or CONDITION.search(text) is not None
    if THING.match(after) and match[0].lower() in THING_AFTER:
        return "", frozenset(following), conditional, True
    subject = () if telling and wanted else stems(opening)
    objects = frozenset((*subject, *following[1:])) - {following[0]}
    return following[0], objects, conditional, False


def _is_name(anchor: str) -> bool:
    return any(c.isalpha() for c in anchor) and not anchor[0].isdigit()
