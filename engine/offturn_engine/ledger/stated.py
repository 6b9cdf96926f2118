"""What people and the agent stated: constraints, preferences, decisions with their reasons, next steps, values of things.

Of a human message every sentence is looked at, of an assistant's what it decided, what it leaves open, and the values
it tells. A sentence is kept as it was written; of several cues the first in the order of this module decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from offturn_engine.compaction import FactKind, LedgerItem
from offturn_engine.constraints import LONGEST, constraints
from offturn_engine.ledger import statement_rules as rules
from offturn_engine.ledger.values import Said, taken_apart
from offturn_engine.messages import Message
from offturn_engine.sentences import sentences, spoken

MOST = 60  # statements taken from one message, beside its constraints
SHORTEST = 6
LONGEST_TITLE = 60
LONGEST_SETTING = 120
LONGEST_VALUE = 240  # characters of a sentence that is kept for a value in it

Kind: TypeAlias = FactKind | Literal[""]


def _compiled(table: Mapping[str, tuple[str, ...]]) -> re.Pattern[str]:
    return re.compile("|".join(cue for cues in table.values() for cue in cues), re.IGNORECASE)


_DECISION, _BECAUSE, _NEXT = _compiled(rules.DECISION), _compiled(rules.BECAUSE), _compiled(rules.NEXT)
_LIKES, _LINK = _compiled(rules.LIKES), _compiled(rules.LINK)
_NAMED, _SET, _NARRATED = re.compile(rules.NAMED), re.compile(rules.SET), re.compile(rules.NARRATED)
_MARKS = re.compile(r"\*{1,3}|`{1,3}|^[_ ]+|[_ ]+$|^\[[ xX]\] ")


def statements(message: Message) -> Iterator[LedgerItem]:
    """The facts one message states; none where neither a human nor the agent speaks in it."""
    if message.origin == "human":
        held = constraints(message.text)
        for sentence in held:
            yield _item("constraint", sentence, message.seq)
        yield from _others(message, frozenset(held))
    elif message.origin == "assistant":
        yield from _others(message, frozenset())


def _others(message: Message, known: frozenset[str]) -> Iterator[LedgerItem]:
    found: dict[str, LedgerItem] = {}
    human = message.origin == "human"
    before: LedgerItem | None = None
    for sentence, kind in _told(message.text, human=human):
        if before and _BECAUSE.search(sentence):
            before = found[before.key] = before.model_copy(update={"text": f"{before.text} {sentence}"})
            continue
        before = None
        if kind and sentence not in known:
            item = _item(kind, sentence, message.seq)
            found[item.key] = item
            before = item if kind == "decision" else None
            if len(found) == MOST:
                break
    yield from found.values()


def _told(text: str, *, human: bool) -> Iterator[tuple[str, Kind]]:
    """Each sentence and what it states; what is listed under "next steps" is next."""
    pending = False
    for line in spoken(text):
        if pending and line.bullet and len(line.body) <= LONGEST:
            yield line.body, "next"
            continue
        said = sentences(line.body)
        for sentence in said:
            fits = SHORTEST <= len(sentence) <= LONGEST
            yield sentence, kind_of(sentence, human=human) if fits else ""
        title = said[-1].strip("#* _") if said else ""
        heads = len(title) <= LONGEST_TITLE and (title != line.bare or title.endswith((":", "\uff1a")))
        pending = heads and _NEXT.search(title.rstrip(":\uff1a") + ":") is not None


def kind_of(sentence: str, *, human: bool) -> Kind:
    """What a sentence states, constraints apart; "" where nothing that is worth keeping."""
    plain = _MARKS.sub("", sentence).strip()
    if plain.endswith(("?", "\uff1f")) or (not human and _agents_own(plain)):
        return ""
    if _NEXT.search(plain):
        return "next"
    if _DECISION.search(plain):
        return "decision"
    liked = human and _LIKES.search(plain) is not None
    said = taken_apart(plain)
    if liked and (said.values or len(said.words) > 1):
        return "preference"
    return "value" if len(plain) <= LONGEST_VALUE and _tells_a_value(plain, said, human=human) else ""


def _agents_own(plain: str) -> bool:
    """Is it a title, a row of a table, or the announcement of a call?"""
    return plain.startswith(("#", "|")) or plain.endswith((":", "\uff1a")) or _NARRATED.match(plain) is not None


def _tells_a_value(plain: str, said: Said, *, human: bool) -> bool:
    if not human:
        return said.sure and _LINK.search(plain) is not None
    if said.strong and (_LINK.search(plain) or _NAMED.match(plain)):
        return True
    return len(plain) <= LONGEST_SETTING and _SET.search(plain) is not None and bool(said.words)


def _item(kind: FactKind, sentence: str, seq: int) -> LedgerItem:
    return LedgerItem(kind=kind, key=" ".join(sentence.lower().split()), text=sentence, seq=seq)
