"""Secrets are taken out of a text before a summarizer gets it: `password = "[masked: password]"`.

Where a secret can stand is data (`mask_rules`, `mask_names`); here the finds are joined and replaced. Precision comes
first: a hash, an identifier or a path that is masked costs the summary a fact. Every rule reads the text a bounded number of
times, whatever the text is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from offturn_engine.mask_names import assignments
from offturn_engine.mask_rules import Find, keys_of_blocks, patterns
from offturn_engine.mask_texts import Texts

_WORD = re.compile(r"\w*")


@dataclass(frozen=True, slots=True)
class Masked:
    """The text with each secret as `[masked: kind]`, and how many were replaced."""

    text: str = field(repr=False)
    count: int


def mask(text: str) -> Masked:
    """Replace what is certainly, or by its place and look very probably, a secret. A masked text stays as it is."""
    return mask_each([text])[0]


def mask_each(texts: Sequence[str]) -> list[Masked]:
    """The same of each text; of many at once in a fraction of the time."""
    held = Texts(texts)
    finds = defaultdict[int, list[Find]](list)
    for index, find in (*patterns(held), *keys_of_blocks(held), *assignments(held)):
        finds[index].append(find)
    return [_masked(text, finds[i]) if i in finds else Masked(text, 0) for i, text in enumerate(texts)]


def _masked(text: str, finds: Iterable[Find]) -> Masked:
    parts: list[str] = []
    end = count = 0
    for find in _joined(text, finds):
        parts += [text[end : find.start], f"[masked: {find.kind}]"]
        end, count = find.end, count + 1
    return Masked("".join([*parts, text[end:]]), count)


def _joined(text: str, finds: Iterable[Find]) -> Iterator[Find]:
    """Finds in order; those that overlap are one, named by the first. A word is masked whole or not at all."""
    last: Find | None = None
    for find in sorted(finds, key=lambda f: (f.start, -f.end)):
        word = _WORD.match(text, find.end)
        end = word.end() if word else find.end
        if last is None or find.start >= last.end:
            if last is not None:
                yield last
            last = Find(find.kind, find.start, end)
        elif end > last.end:
            last = Find(last.kind, last.start, end)
    if last is not None:
        yield last
