"""What a view shows, as an index: does it hold these words in a row, or a passage that tells the same?

A text is looked up by its words in order, whatever stands between them, so that line breaks, markup and case make no
difference. Passages are sentences of what was said and summarised; results of tools are quoted, not told.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from offturn_engine.messages import Message
from offturn_engine.search import searchable
from offturn_engine.sentences import sentences
from offturn_engine.statements import Statement, statement, stems

LONGEST = 1_000  # characters of a passage; a longer one is a paste
COMPARED = 64  # passages that one word leads to
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+|\d+|[\u3400-\u9fff]")
_DIGIT = re.compile(r"[0-9]")
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalpha() else ord(" ") for code in range(128)) + bytes(128)
_HANDLE = re.compile(r"(?<![\w.])m(\d{1,12})(?:\.\d{1,6})?(?!\w)")


def words(text: str) -> list[str]:
    """The words and numbers of a text in lower case, each Han character one: `v0.14` holds `0.14`."""
    if text.isascii() and _DIGIT.search(text) is None:  # bytes are translated many times as fast as `re` looks
        return text.encode().translate(_LETTERS).decode().split()
    return _WORD.findall(text.lower())


def told_by(message: Message) -> str:
    """All that a message says; of calls the values they were given, because escapes in their JSON hide words."""
    return "\n\n".join(searchable(message, part) for part in range(len(message.parts)))


class Visible:
    """The texts of a view's messages. `wanted`: the stems by which passages are going to be looked for."""

    def __init__(self, messages: Sequence[Message], wanted: Collection[str]) -> None:
        texts = [told_by(message) for message in messages]
        told = [text for message, text in zip(messages, texts, strict=True) if not message.results]
        found = [word for text in texts for word in (*words(text), "\n")]
        self._known = frozenset(found)
        self._line = f" {' '.join(found)} "
        self.handles = frozenset(int(match[1]) for text in told for match in _HANDLE.finditer(text))
        self._passages = [passage for text in told for passage in _passages(text)]
        self._stems: list[frozenset[str]] = []
        self._by_stem: dict[str, list[int]] = defaultdict(list)
        needed = frozenset(wanted)
        for i, passage in enumerate(self._passages):
            self._stems.append(needed.intersection(stems(passage)))
            for one in self._stems[-1]:
                self._by_stem[one].append(i)

    def shows(self, text: Sequence[str]) -> bool:
        """Do these words stand there in a row?"""
        return bool(text) and self._known.issuperset(text) and f" {' '.join(text)} " in self._line

    def passages(self, about: Collection[str], least: float) -> Iterator[Statement]:
        """The passages that hold at least this share of these stems, the fullest first."""
        votes = Counter[int]()
        for one in about:
            votes.update(self._by_stem.get(one, ())[-COMPARED:])
        for i, count in votes.most_common(COMPARED):
            if count < least * len(about):
                return
            yield statement(self._passages[i])

    def names(self, seq: int) -> bool:
        """Does it name the handle of this message?"""
        return seq in self.handles


def _passages(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        for sentence in sentences(line.strip()) if line.strip() else ():
            if len(sentence) <= LONGEST:
                yield sentence
