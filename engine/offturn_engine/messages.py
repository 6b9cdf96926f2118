"""The neutral message: what a provider's message says, with its raw JSON kept beside it.

A format (`offturn_engine.formats`) parses raw JSON into a `Message` and applies `Edit`s to it. `raw` is never changed:
an unedited message renders to the very value the host recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
RawMessage: TypeAlias = Mapping[str, Any]

Role = Literal["system", "user", "assistant", "tool"]
Origin = Literal["human", "assistant", "tool", "system", "host", "restore", "replay", "summary"]
"""Who made a message. `human`: a person's words, sacred. `host`: material the host injected in the user role."""

ORIGINS: tuple[Origin, ...] = ("human", "assistant", "tool", "system", "host", "restore", "replay", "summary")


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """Reasoning. Signed or encrypted reasoning is sent back unchanged, or goes with its whole turn."""

    text: str
    signed: bool


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """`arguments` is the parsed JSON, or None where `source` (the text as sent) is not JSON."""

    id: str
    name: str
    arguments: Json
    source: str


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """`is_error` is None where the format cannot say; `media` counts images and documents inside, `attached` are they.

    `kept`: what `results` found in it and is asked for again.
    """

    call_id: str
    text: str
    is_error: bool | None = None
    media: int = 0
    attached: tuple[MediaPart, ...] = ()
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class MediaPart:
    """An image, document or sound; `size` is the bytes of its JSON.

    source: its data as sent (base64, a data URL) or what refers to it; `offturn_engine.media` reads it.
    """

    kind: str
    size: int
    source: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A part offturn does not know; carried as it came."""

    kind: str
    size: int


Part: TypeAlias = TextPart | ThinkingPart | ToolCallPart | ToolResultPart | MediaPart | OpaquePart


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Message:
    """One message of a transcript. `parts` are in the order of the raw content; an edit names a part by its index.

    `pinned`: its session wants it in every view, word for word (`offturn_engine.pins`). `calls`, `results`: (part index,
    part) of its tool calls and tool results. `kept`: what was found in it and is asked for again, by who found it.
    """

    role: Role
    parts: tuple[Part, ...]
    raw: RawMessage
    origin: Origin
    tokens: int  # estimate of the raw message, uncalibrated
    seq: int = -1  # position in the log, never reused; -1 before it is recorded
    at: int = 0  # ms since the epoch by the store's clock; 0 where unknown
    pinned: bool = False
    calls: tuple[tuple[int, ToolCallPart], ...] = field(init=False, repr=False, compare=False)
    results: tuple[tuple[int, ToolResultPart], ...] = field(init=False, repr=False, compare=False)
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __init__(
        self,
        *,
        role: Role,
        parts: tuple[Part, ...],
        raw: RawMessage,
        origin: Origin,
        tokens: int,
        seq: int = -1,
        at: int = 0,
        pinned: bool = False,
    ) -> None:
        # Kept, not made each time: every walk over a path asks for them, of every message.
        calls: tuple[tuple[int, ToolCallPart], ...] = ()
        results: tuple[tuple[int, ToolResultPart], ...] = ()
        if len(parts) != 1 or type(parts[0]) is not TextPart:
            calls = tuple([(i, p) for i, p in enumerate(parts) if isinstance(p, ToolCallPart)])
            results = tuple([(i, p) for i, p in enumerate(parts) if isinstance(p, ToolResultPart)])
        object.__setattr__(self, "__class__", _Draft)
        draft: Any = self
        draft.role, draft.parts, draft.raw, draft.origin, draft.tokens = role, parts, raw, origin, tokens
        draft.seq, draft.at, draft.pinned, draft.calls, draft.results = seq, at, pinned, calls, results
        draft.kept = {}
        draft.__class__ = Message

    def placed(self, seq: int, at: int = 0) -> Message:
        """The same message at a position of the log."""
        draft: Any = _Draft()
        draft.role, draft.parts, draft.raw, draft.origin = self.role, self.parts, self.raw, self.origin
        draft.tokens, draft.pinned, draft.calls, draft.results = self.tokens, self.pinned, self.calls, self.results
        draft.seq, draft.at, draft.kept = seq, at, {}  # facts name their seq
        draft.__class__ = Message
        message: Message = draft
        return message

    @property
    def text(self) -> str:
        """Its visible text parts, joined by blank lines."""
        return "\n\n".join(p.text for p in self.parts if isinstance(p, TextPart))


class _Draft:
    """A message while it is made. Setting a field of a frozen dataclass takes ten times as long, and a host makes each
    message twice at every turn."""

    __slots__ = Message.__slots__


Rule = Literal["stub", "duplicate", "arguments", "middle-cut", "image", "reasoning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A recorded change to one part of one message, applied when a view is rendered; the log keeps the original.

    `text` replaces a result's or a text part's text, or an image; `arguments` (a JSON value) replaces a call's arguments.
    An edit of rule `reasoning` has neither: the part is left out. No model of pydantic, which takes five times the room:
    a long session has one for nearly each of its results.
    """

    seq: int
    part: int
    rule: Rule
    text: str | None = None
    arguments: Json = None
