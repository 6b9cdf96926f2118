"""Is there a statement in a summary that nothing in its source can have led to?

Looked at are statements of some length, whose words are nearly all unknown to the source, and decisions for something by
a name that the source never says. A paraphrase shares some word with what it paraphrases; one of two words may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from offturn_engine.runs import Words
from offturn_engine.statement_words import CHOOSING
from offturn_engine.statements import Statement, statements

LEAST = 5  # words of a statement that is looked at
LEAST_PAIRS = 8  # of Han characters
UNKNOWN = 0.8  # share of them that the source does not know
FOREIGN = 0.5  # share of all words known to the source below which it is in another language
COMMON = 4  # letters by which two words are the same here
MOST = 50

_NAME = re.compile(r"(?<![\w./@#$%&=:\\-])(?:[A-Z][a-z]+[A-Z]\w*|[A-Z][a-z]{2,}|[A-Z]{4,})(?![\w/\\=:-]|\.\w)")
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_TITLE = 0.5  # share of capitalised words from which a statement is a title
_NOUNS = 0.3  # and a text, one of a language that writes nouns so


def inventions(prose: str, source: Words) -> list[str]:
    """The statements that are invented, in order, at most `MOST`. Data: never for logs or errors."""
    return list(islice(_Known(prose, source).invented(), MOST))


def _pairs(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(len(text) - 1) if text[i] >= "\u3400"}


class _Known:
    def __init__(self, prose: str, source: Words) -> None:
        self.told = list(statements(prose))
        self.words = {word[:COMMON] for word in source.all}
        han = _HAN.search(prose) is not None
        self.pairs = _pairs(source.text) if han else set[str]()
        words = [word for one in self.told for word in one.words]
        self.foreign = len(words) - len(self.unknown(words)) < FOREIGN * len(words)
        capitals = [word[0].isupper() for one in self.told for word in _WORD.findall(one.text)[1:]]
        self.nouns = sum(capitals) > _NOUNS * len(capitals)

    def invented(self) -> Iterator[str]:
        for one in self.told:
            if self._is_strange(one) or (not self.nouns and CHOOSING.search(one.text) and self._names_news(one)):
                yield one.text

    def unknown(self, words: Iterable[str]) -> list[str]:
        return [w for w in words if (w not in self.pairs if _HAN.match(w) else w[:COMMON] not in self.words)]

    def _is_strange(self, one: Statement) -> bool:
        least = LEAST_PAIRS if _HAN.search(one.text) else LEAST
        if self.foreign or len(one.words) < least or one.text.endswith((":", "\uff1a")):
            return False
        return len(self.unknown(one.words)) >= UNKNOWN * len(one.words)

    def _names_news(self, one: Statement) -> bool:
        """Does it say a name, by its capital, that the source does not? Not in a title, where all words have one."""
        words, han = _WORD.findall(one.text), _HAN.search(one.text)
        if not han and sum(word[0].isupper() for word in words) > _TITLE * len(words):
            return False
        names = (match[0] for match in _NAME.finditer(one.text) if match.start() or han)
        return any(name.lower()[:COMMON] not in self.words for name in names)
