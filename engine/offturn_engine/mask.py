"""Secrets are taken out of a text before a summarizer gets it: `password = "[masked: password]"`.

Where a secret can stand is data (`mask_rules`, `mask_names`); here the finds are joined and replaced. Precision comes
first: a hash, an identifier or a path that is masked costs the summary a fact. Every rule reads the text a bounded number of
times, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from offturn_engine.mask_names import assignments
from offturn_engine.mask_rules import Find, keys_of_blocks, patterns

_WORD = re.compile(r"\w*")


@dataclass(frozen=True, slots=True)
class Masked:
    """The text with each secret as `[masked: kind]`, and how many were replaced."""

    text: str = field(repr=False)
    count: int


def mask(text: str) -> Masked:
    """Replace what is certainly, or by its place and look very probably, a secret. A masked text stays as it is."""
    parts: list[str] = []
    end = count = 0
    for find in _joined(text):
        parts += [text[end : find.start], f"[masked: {find.kind}]"]
        end, count = find.end, count + 1
    return Masked("".join([*parts, text[end:]]), count) if count else Masked(text, 0)


def _joined(text: str) -> Iterator[Find]:
    """Finds in order; those that overlap are one, named by the first. A word is masked whole or not at all."""
    found = sorted((*patterns(text), *keys_of_blocks(text), *assignments(text)), key=lambda f: (f.start, -f.end))
    last: Find | None = None
    for find in found:
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
