"""Which words become values of labels: a word from elsewhere must not make series without end, or tell what it should not."""

from __future__ import annotations

import re

OTHER = "other"

MOST_WORDS = 200
"""Values beside those that are known from the start."""

_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}\Z")


class Labels:
    """Of one process. `models`: those it is set to ask."""

    def __init__(self, models: tuple[str, ...]) -> None:
        self._models = models
        self._words: set[str] = set()

    def word(self, text: str) -> str:
        """The text where it is a word and not one too many."""
        if text in self._words or not text:
            return text
        if len(self._words) >= MOST_WORDS or not _WORD.match(text):
            return OTHER
        self._words.add(text)
        return text

    def model(self, name: str) -> str:
        """A model: one that a host names is its provider's `other`, as there may be any number of them."""
        if name in self._models:
            return name
        return f"{self.word(name.partition(':')[0])}:{OTHER}"
