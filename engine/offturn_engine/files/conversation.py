"""What a transcript file holds: what readers find in it, the conversation made of that, and the error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from offturn_config.errors import OffturnError
from offturn_engine.messages import Json, Origin, RawMessage


class UnreadableFile(OffturnError):
    """A file that is no transcript offturn knows, or a broken one. The message names the line or field."""


class TooLarge(UnreadableFile):
    """A file that would not fit into the memory promised. remedy: what helps where it can be split by lines."""

    remedy = "split the file there and give the part that you need"

    def __init__(self, problem: str) -> None:
        """problem: where it gets too large, and by how much."""
        super().__init__(f"{problem}: {self.remedy}")
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message as a reader found it, in the raw form of the conversation's format; repairs come later.

    place: where it stands in the file, for errors. key: the file's own name of it. origin: who made it, where that is
    not what the format says. reported: input tokens, cached ones included, that the provider counted for the request
    that this message answers; 0 where the file does not tell.
    """

    raw: Json
    place: str
    key: str = ""
    origin: Origin | None = None
    reported: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A compaction the host made itself, at the place in the list where it was made.

    kept_from: the key of the first message before it that the host went on showing; "": none of them. summary: its text,
    "" where the file has only a provider's own item (`opaque`). tokens_before: as the host counted, 0 where unknown.
    """

    place: str
    summary: str
    kept_from: str = ""
    tokens_before: int = 0
    opaque: Json = None


Layout = Literal["log", "list", "lines", "object"]
"""How a file holds the raw messages: as a host's log of its own, as a list, one a line, or in an object with `messages`."""

Item: TypeAlias = Said | Boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A compaction that the file's host made: of `messages[:covered]`, when the conversation was `messages[:at]`."""

    at: int
    covered: int
    summary: str
    tokens_before: int = 0
    opaque: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation of a file. Every message is accepted by `parse` of `format`.

    `format` is the name of a message format; `system` is a system prompt the file keeps outside the messages; `notes`
    say what was skipped or repaired, with counts. By index of a message: `origins`, where they are not what the format
    says, and `reported`, the input tokens of the request that it answers. `earlier`: oldest first. `wrapper`: of the layout `object`, all but the messages in it.
    """

    title: str
    format: str
    messages: tuple[RawMessage, ...]
    system: Json
    source_format: str
    notes: tuple[str, ...] = ()
    origins: Mapping[int, Origin] = field(default_factory=dict)
    reported: Mapping[int, int] = field(default_factory=dict)
    earlier: tuple[Earlier, ...] = ()
    layout: Layout = "log"
    wrapper: Mapping[str, Json] = field(default_factory=dict)


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
