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

SHORTEST_NAME, LONGEST_NAME = 2, 200

_NAME = re.compile(rf"[\w./@:#$-]{{{SHORTEST_NAME},{LONGEST_NAME}}}")
_SIGNS = bytes(code if chr(code).isalnum() or chr(code) in "_./@:#$-" else ord(" ") for code in range(128)) + bytes(128)


def in_use(facts: Sequence[LedgerItem], messages: Sequence[Message]) -> frozenset[Name]:
    """The facts that these messages name: a file by its path or its name, an identifier, a statement by a value in it."""
    texts = [text for message in messages for text in _texts(message)]
    found = _words("\n".join([text for text in texts if text.isascii()]))
    found.update(_NAME.findall("\n".join([text for text in texts if not text.isascii()])))
    named = {word.strip(".:-/") for word in found}
    named |= {word.rsplit("/", 1)[-1] for word in named if "/" in word}
    return frozenset(name_of(fact) for fact in facts if fact.kind in KINDS and _named(fact, named))


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, TextPart | ToolResultPart):
            yield part.text[:LOOKED]
        elif isinstance(part, ToolCallPart):
            yield part.source[:LOOKED]


def _words(text: str) -> set[str]:
    """What `_NAME` finds in ASCII, in a fraction of the time."""
    words = set(text.encode().translate(_SIGNS).decode().split())
    for word in [word for word in words if not SHORTEST_NAME <= len(word) <= LONGEST_NAME]:
        words.remove(word)
        words.update(_NAME.findall(word))
    return words


def _named(fact: LedgerItem, named: set[str]) -> bool:
    if fact.kind == "file":
        return fact.key in named or fact.key.rsplit("/", 1)[-1] in named
    if fact.kind == "identifier":
        return fact.key in named
    return any(value in named for shape, value in taken_apart(fact.text).values if shape != "number")
