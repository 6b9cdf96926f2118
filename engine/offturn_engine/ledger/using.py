"""Using: which facts the messages that stay visible speak of, and will therefore be wanted first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from offturn_engine.compaction import LedgerItem
from offturn_engine.ledger.ranking import Name, name_of
from offturn_engine.ledger.values import taken_apart
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart

LOOKED = 4_000  # characters of each part
KINDS = frozenset({"file", "identifier", "preference", "value", "next", "decision"})

_NAME = re.compile(r"[\w./@:#$-]{2,200}")


def in_use(facts: Sequence[LedgerItem], messages: Sequence[Message]) -> frozenset[Name]:
    """The facts that these messages name: a file by its path or its name, an identifier, a statement by a value in it."""
    named = {word.strip(".:-/") for message in messages for text in _texts(message) for word in _NAME.findall(text)}
    named |= {word.rsplit("/", 1)[-1] for word in named}
    return frozenset(name_of(fact) for fact in facts if fact.kind in KINDS and _named(fact, named))


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case TextPart(text=text) | ToolResultPart(text=text) | ToolCallPart(source=text):
                yield text[:LOOKED]


def _named(fact: LedgerItem, named: set[str]) -> bool:
    if fact.kind == "file":
        return fact.key in named or fact.key.rsplit("/", 1)[-1] in named
    if fact.kind == "identifier":
        return fact.key in named
    return any(value in named for shape, value in taken_apart(fact.text).values if shape != "number")
