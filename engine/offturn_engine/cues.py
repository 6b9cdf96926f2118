"""Cues: patterns by which a sentence states something, each beside the words without one of which it is not there.

Few sentences hold such a word, and of those that do most patterns need another: what is searched is a small part of all
there is. Words are in lower case; `HAN` stands for any Chinese character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TypeAlias

Rows: TypeAlias = tuple[tuple[str, str], ...]
"""(words of which a match holds one, with blanks between them; pattern)."""

HAN = "\u4e00"
REMEMBERED = 16  # texts: one kind of cue is looked for after the other, in the same text, its line and its sentence
LONGEST_REMEMBERED = 4_000  # characters of such a text

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)) + bytes(128)
_LIKE_I = ("\u0130", "\u0131")  # `re.IGNORECASE` takes them for an i, `casefold` does not


def words_in(text: str) -> frozenset[str]:
    """The words of a text as cues are compared with them."""
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _words_in(text)


def _words_in(text: str) -> frozenset[str]:
    if text.isascii():  # bytes are translated many times as fast as text
        return frozenset(text.encode().translate(_LETTERS).decode().split())
    for like in _LIKE_I:
        text = text.replace(like, "i")
    words = " ".join(_WORD.findall(text)).casefold().split()
    return frozenset((*words, HAN) if _HAN.search(text) else words)


_remembered = lru_cache(maxsize=REMEMBERED)(_words_in)


class Cues:
    """The cues of a table by language, searched without case."""

    def __init__(self, table: Mapping[str, Rows] | Iterable[Rows]) -> None:
        languages = table.values() if isinstance(table, Mapping) else table
        self.rows = tuple(
            (frozenset(words.split()), re.compile(pattern, re.IGNORECASE))
            for rows in languages
            for words, pattern in rows
        )
        self.words = frozenset(word for words, _ in self.rows for word in words)
        self._after = {word: [at for at, (words, _) in enumerate(self.rows) if word in words] for word in self.words}

    def possible(self, known: AbstractSet[str]) -> bool:
        """May one stand in a text of these words?"""
        return not self.words.isdisjoint(known)

    def found(self, sentence: str, known: AbstractSet[str]) -> bool:
        """Does one stand in the sentence, whose words these are?"""
        there = self.words & known
        if not there:
            return False
        rows = {row for word in there for row in self._after[word]}
        return any(self.rows[row][1].search(sentence) is not None for row in rows)
