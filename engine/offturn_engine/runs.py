"""Runs of letters, digits or names of a long text, each once, found with `bytes.translate` and `split`.

A pattern takes ten times as long for a megabyte. Only ASCII is told apart so: where other letters count, the lines that
hold them are searched with a pattern.
"""

from __future__ import annotations

import re
import string

PAGE = 16 * 1024  # bytes that are split at once: the runs of a megabyte do not fit into a processor's cache

_LETTERS = re.compile(r"[^\W\d_]+")


class Runs:
    """Runs of these signs of ASCII."""

    def __init__(self, signs: str) -> None:
        kept = frozenset(signs.encode("ascii"))
        self._table = bytes(code if code in kept else ord(" ") for code in range(256))

    def of(self, text: bytes) -> list[str]:
        """Those of a text, as `encoded` gives it, in the order of their first places."""
        flat = text.translate(self._table)
        found: dict[bytes, None] = {}
        start = 0
        while start < len(flat):
            end = flat.find(b" ", start + PAGE)
            end = len(flat) if end < 0 else end
            found.update(dict.fromkeys(flat[start:end].split()))
            start = end
        return b" ".join(found).decode("ascii").split()


_ASCII_LETTERS = Runs(string.ascii_letters)


def encoded(text: str) -> bytes:
    """The text as runs are found in it: no byte of another sign than those of ASCII is one of theirs."""
    return text.encode("utf-8", "surrogatepass")


def apart(text: str) -> tuple[str, str]:
    """The lines that are ASCII, and those that are not."""
    if text.isascii():
        return text, ""
    lines = text.split("\n")
    return "\n".join(filter(str.isascii, lines)), "\n".join(line for line in lines if not line.isascii())


def letters(plain: str) -> set[str]:
    """The runs of letters of lines that are ASCII."""
    return set(_ASCII_LETTERS.of(encoded(plain)))


class Words:
    """The words of a text in lower case, found once for all who ask. `other`: its lines that are not ASCII."""

    def __init__(self, text: str) -> None:
        self.text = text
        plain, self.other = apart(text.lower())
        self.plain = letters(plain)

    @property
    def all(self) -> set[str]:
        """Those of all lines."""
        return self.plain.union(_LETTERS.findall(self.other))
