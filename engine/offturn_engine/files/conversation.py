"""What a transcript file holds, and the error for a file that cannot be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from offturn_config.errors import OffturnError
from offturn_engine.messages import Json, RawMessage


class UnreadableFile(OffturnError):
    """A file that is no transcript offturn knows, or a broken one. The message names the line or field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation of a file. Every message is accepted by `parse` of `format`.

    `format` is openai-chat or anthropic; `system` is a system prompt the file keeps outside the messages; `notes` say
    what was skipped or repaired, with counts.
    """

    title: str
    format: str
    messages: tuple[RawMessage, ...]
    system: Json
    source_format: str
    notes: tuple[str, ...] = ()


class Notes:
    """Counts of what a reader skipped or repaired, in order of first occurrence."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, what: str, number: int = 1) -> None:
        """Note something that was skipped or repaired."""
        if number:
            self._counts[what] += number

    def lines(self) -> tuple[str, ...]:
        """`3 empty assistant messages skipped`."""
        return tuple(f"{number} {what}" for what, number in self._counts.items())
