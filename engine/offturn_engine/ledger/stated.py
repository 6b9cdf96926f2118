"""What people and the agent stated: constraints, preferences, decisions with their reasons, next steps, values of things.

Of a human message every sentence is looked at, of an assistant's what it decided, what it leaves open, and the values
it tells. A sentence is kept as it was written; of several cues the first in the order of this module decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias

from offturn_engine.compaction import FactKind
from offturn_engine.constraints import LONGEST, constraints_in
from offturn_engine.cues import Cues, words_in
from offturn_engine.ledger import statement_rules as rules
from offturn_engine.ledger.found import Fact
from offturn_engine.ledger.values import may_be_sure, taken_apart
from offturn_engine.messages import Message
from offturn_engine.sentences import Line, told

MOST = 60  # statements taken from one message, beside its constraints
SHORTEST = 6
LONGEST_TITLE = 60
LONGEST_SETTING = 120
LONGEST_VALUE = 240  # characters of a sentence that is kept for a value in it

Kind: TypeAlias = FactKind | Literal[""]


_NEXT, _DECISION, _LIKES, _LINK = Cues(rules.NEXT), Cues(rules.DECISION), Cues(rules.LIKES), Cues(rules.LINK)
_OF_AGENTS = _NEXT.words | _DECISION.words | _LINK.words
_BECAUSE = re.compile("|".join(cue for cues in rules.BECAUSE.values() for cue in cues), re.IGNORECASE)
_NAMED, _SET, _NARRATED = re.compile(rules.NAMED), re.compile(rules.SET), re.compile(rules.NARRATED)
_SET_HERE = re.compile(r"[ 是为為成]\d")
"""What every match of `_SET` ends with; it is found in a tenth of the time."""

_AT_START, _AT_END = ("_", " ", "["), ("_", " ", "\n")
_MARKS = re.compile(r"\*{1,3}|`{1,3}|^[_ ]+|[_ ]+$|^\[[ xX]\] ")


def statements(message: Message) -> Iterator[Fact]:
    """The facts one message states; none where neither a human nor the agent speaks in it."""
    if message.origin == "human":
        lines = list(told(message.text))
        held = constraints_in(lines)
        for sentence in held:
            yield _item("constraint", sentence, message.seq)
        yield from _others(message, lines, frozenset(held))
    elif message.origin == "assistant" and _may_state(text := message.text):
        yield from _others(message, told(text), frozenset())


def _may_state(text: str) -> bool:
    """Does what an agent says hold a word that some statement of an agent's needs, with marks and without?"""
    if not _OF_AGENTS.isdisjoint(words_in(text)):
        return True
    return ("*" in text or "`" in text) and not _OF_AGENTS.isdisjoint(words_in(text.replace("*", "").replace("`", "")))


def _others(message: Message, lines: Iterable[tuple[Line, Sequence[str]]], known: frozenset[str]) -> Iterator[Fact]:
    found: dict[str, Fact] = {}
    human = message.origin == "human"
    before: Fact | None = None
    for sentence, kind in _stated(lines, human=human):
        if before and _BECAUSE.search(sentence):
            before = found[before.key] = before._replace(text=f"{before.text} {sentence}")
            continue
        before = None
        if kind and sentence not in known:
            item = _item(kind, sentence, message.seq)
            found[item.key] = item
            before = item if kind == "decision" else None
            if len(found) == MOST:
                break
    yield from found.values()


def _stated(lines: Iterable[tuple[Line, Sequence[str]]], *, human: bool) -> Iterator[tuple[str, Kind]]:
    """Each sentence and what it states; what is listed under "next steps" is next."""
    pending = False
    for line, said in lines:
        if pending and line.bullet and len(line.body) <= LONGEST:
            yield line.body, "next"
            continue
        if not human and not _may_state(line.body):
            pending = False
            for sentence in said:
                yield sentence, ""
            continue
        for sentence in said:
            fits = SHORTEST <= len(sentence) <= LONGEST
            yield sentence, kind_of(sentence, human=human) if fits else ""
        title = said[-1].strip("#* _") if said else ""
        heads = len(title) <= LONGEST_TITLE and (title != line.bare or title.endswith((":", "\uff1a")))
        pending = heads and _NEXT.found(title.rstrip(":\uff1a") + ":", words_in(title))


def kind_of(sentence: str, *, human: bool) -> Kind:
    """What a sentence states, constraints apart; "" where nothing that is worth keeping."""
    marked = "*" in sentence or "`" in sentence or sentence.startswith(_AT_START) or sentence.endswith(_AT_END)
    plain = (_MARKS.sub("", sentence) if marked else sentence).strip()
    known = words_in(plain)
    if plain.endswith(("?", "\uff1f")) or (not human and _agents_own(plain, known)):
        return ""
    if _NEXT.found(plain, known):
        return "next"
    if _DECISION.found(plain, known):
        return "decision"
    if human and _LIKES.found(plain, known) and ((said := taken_apart(plain)).values or len(said.words) > 1):
        return "preference"
    return "value" if len(plain) <= LONGEST_VALUE and _tells_a_value(plain, known, human=human) else ""


def _agents_own(plain: str, known: AbstractSet[str]) -> bool:
    """Is it a title, a row of a table, or the announcement of a call? Or has it no cue that counts of an agent?"""
    if plain.startswith(("#", "|")) or plain.endswith((":", "\uff1a")):
        return True
    return _OF_AGENTS.isdisjoint(known) or _NARRATED.match(plain) is not None


def _tells_a_value(plain: str, known: AbstractSet[str], *, human: bool) -> bool:
    if not human:
        return may_be_sure(plain, known) and _LINK.found(plain, known) and taken_apart(plain).sure
    linked = _LINK.found(plain, known)
    if (linked or _NAMED.match(plain)) and taken_apart(plain).strong:
        return True
    if len(plain) > LONGEST_SETTING or not _SET_HERE.search(plain):
        return False
    return _SET.search(plain) is not None and bool(taken_apart(plain).words)


def _item(kind: FactKind, sentence: str, seq: int) -> Fact:
    return Fact(kind, " ".join(sentence.lower().split()), sentence, seq)
