"""Texts side by side in lower case, so that one search for a word does for many: most texts hold none of those looked for.

They stand there as UTF-8, in which `find` is as fast for a text that is not ASCII; where one begins and where a word
stands in it are known in characters. No word that is looked for holds a line break, which is what parts the texts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from offturn_engine.caseless import lowered

_FOLDED = "\u0130\u0131\u017f\u212a"
"""Signs outside ASCII that are letters of ASCII in lower case."""


class Texts:
    """`lower`: the bytes that are searched; a place is an index in them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        together = "\n".join(texts)
        if together.isascii():
            self.lower = together.encode().lower()
            lengths = [len(text) + 1 for text in texts]
        else:
            folded = any(sign in together for sign in _FOLDED)
            pieces = [(lowered(text) if folded else text).encode("utf-8", "surrogatepass") for text in texts]
            self.lower = b"\n".join(pieces).lower()
            lengths = [len(piece) + 1 for piece in pieces]
        self._begins = [0, *accumulate(lengths)]
        self._counted = (0, 0)

    def at(self, place: int) -> tuple[int, int]:
        """Which text, and how many of its characters stand before. Places are asked for from the first to the last."""
        index = bisect_right(self._begins, place) - 1
        begin = self._begins[index]
        if self._begins[index + 1] - begin - 1 == len(self.texts[index]):  # all ASCII
            return index, place - begin
        before, count = self._counted
        if not begin <= before <= place:
            before, count = begin, 0
        # On from the last place: a long text with many of them is counted once.
        count += len(self.lower[before:place].decode("utf-8", "surrogatepass"))
        self._counted = (place, count)
        return index, count

    def places(self, word: bytes) -> Iterator[int]:
        """Where the word stands, overlapping ones too."""
        place = self.lower.find(word)
        while place >= 0:
            yield place
            place = self.lower.find(word, place + 1)

    def holding(self, words: Iterable[bytes]) -> list[int]:
        """The texts that hold one of these words, in order."""
        found = set[int]()
        for word in words:
            place = self.lower.find(word)
            while place >= 0:
                index = bisect_right(self._begins, place) - 1
                found.add(index)
                place = self.lower.find(word, self._begins[index + 1])
        return sorted(found)
