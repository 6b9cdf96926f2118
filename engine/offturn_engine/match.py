"""Recognise a host's own list: what of it is the transcript already, and what is new?

Two ways, in this order: by the host's ids, and by content. By content the list may have the shape of the path, or of
the view of any generation that is known (a host may hand our own view back: that is continuation, never transcript).
Nothing is taken as new unless every message the shape shows was found before it; so a list that lacks a message, or
has another in its place, is never half recorded: `realign` says what such a list asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from typing import Literal

from offturn_engine.compaction import ViewRecord
from offturn_engine.draft import SUMMARY_HEAD, SUMMARY_TELLS
from offturn_engine.errors import InvalidMessage
from offturn_engine.formats.base import Format
from offturn_engine.messages import Json, Message, RawMessage
from offturn_engine.render import NO_RESULT, is_system, render
from offturn_engine.restore import NOT_A_REQUEST, RESTORED

Kind = Literal["equal", "append", "behind", "own-view", "unrelated"]

LOOK_AHEAD = 32  # messages a list may have later than the shape: they came between a call and its results
_SUMMARY = re.compile(
    rf"{re.escape(SUMMARY_HEAD)}[\d\s,.-]*{re.escape(SUMMARY_TELLS)}"
    rf"|{re.escape(RESTORED)}m\d{{1,12}}: .{{0,400}}{re.escape(NOT_A_REQUEST)}"
)


@dataclass(frozen=True, slots=True)
class Match:
    """`history[new:]` is not in the transcript yet; of `behind` and `unrelated` nothing is new.

    differs: of `unrelated`, index of the first message that is not what the shape has at its place.
    """

    kind: Kind
    new: int
    differs: int = field(default=0, compare=False)


class Form:
    """A message as it is compared: its format's canonical value, the content of system messages apart.

    `was`: of a redacted message, the size it had. What it said is not known any more, so a host's list may have anything
    there that makes and answers the same calls.
    """

    def __init__(self, raw: RawMessage, fmt: Format, was: int | None = None) -> None:
        self.raw = raw
        self.fmt = fmt
        self.was = was

    @cached_property
    def key(self) -> str:
        """Equal for messages that count as the same, as hex; of no other message for what is none."""
        return f"no message {id(self)}" if self._text is None else sha256(self._text.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Characters of the canonical text."""
        return len(self._text or "")

    @cached_property
    def _text(self) -> str | None:
        try:
            value = "system" if is_system(self.raw) else self.fmt.canonical(self.raw)
            return json.dumps(value, sort_keys=True, separators=(",", ":"))
        except (TypeError, ValueError, AttributeError, RecursionError):
            return None

    @cached_property
    def left(self) -> str:
        """The key of what would be left of it, were it redacted."""
        try:
            return Form(self.fmt.redacted(self.fmt.parse(self.raw).raw), self.fmt).key
        except InvalidMessage:
            return self.key

    def may_be(self, redacted: Form) -> bool:
        """May it be what this redacted message was? Only its kind and its calls are known."""
        return redacted.was is not None and self.left == redacted.key

    def same(self, other: Form) -> bool:
        """Do both count as the same message?"""
        return self.raw == other.raw or self.key == other.key

    @cached_property
    def is_synthetic(self) -> bool:
        """Is it a result that `render` put in for a call without one?"""
        try:
            parts = self.fmt.parse(self.raw).parts
        except InvalidMessage:
            return False
        return bool(parts) and all(getattr(part, "text", None) == NO_RESULT for part in parts)


def holds_summary(raw: Json) -> bool:
    """Is it a message with the first line of a summary or a restore that offturn wrote, for whatever session?

    Results of tools are not looked at: they may show one, and nobody takes them for a human's words.
    """
    if not isinstance(raw, Mapping) or raw.get("role", "user") != "user":
        return False
    content = raw.get("content") or raw.get("parts")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return any(isinstance(text, str) and _SUMMARY.search(text) is not None for text in texts)


@dataclass(frozen=True, slots=True)
class Shown:
    """One message of a shape and the forms it may have in a list. `seq` -1: of no single message (a summary).

    `tool`: it has calls or results; such messages may be in another place, because `render` moves results to their calls.
    """

    seq: int
    forms: tuple[Form, ...]
    tool: bool = False

    def is_in(self, form: Form) -> bool:
        """Is it this message of a list?"""
        return any(form.same(one) or form.may_be(one) for one in self.forms)

    def surely_is(self, form: Form) -> bool:
        """The same; of a redacted message also its size counts, because a new one may have taken its place."""
        return any(form.same(one) or (form.may_be(one) and form.size == one.was) for one in self.forms)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a list looks like that holds all of the session, in the order shown. `found`: a longer list's kind."""

    found: Kind
    items: Sequence[Shown]


def path_shape(path: Sequence[Message], forms: Sequence[Form]) -> Shape:
    """The transcript itself. `forms` are those of the path's messages."""
    return Shape("append", [Shown(m.seq, (form,), _has_tools(m)) for m, form in zip(path, forms, strict=True)])


def view_shape(path: Sequence[Message], forms: Sequence[Form], record: ViewRecord, fmt: Format) -> Shape:
    """The view of a generation; what it edits, or shows as a late result, may also be there as it was recorded."""
    known = {message.seq: form for message, form in zip(path, forms, strict=True)}
    tools = {message.seq for message in path if _has_tools(message)}
    items = []
    for item in render(path, record, fmt).items:
        if item.kind == "synthetic":
            continue
        plain = known.get(item.seq) if item.kind in ("message", "late") else None
        shown = plain if plain and plain.raw is item.raw else Form(item.raw, fmt)
        both = (shown, plain) if plain and plain is not shown else (shown,)
        items.append(Shown(item.seq, both, item.seq in tools))
    return Shape("own-view", items)


def _has_tools(message: Message) -> bool:
    return bool(message.calls or message.results)


def match(history: Sequence[Form], shape: Shape) -> Match:
    """By content: does the list continue the shape, equal it, or is it a strict prefix of it?"""
    return _Walk(shape).over(history)


def window(history: Sequence[Form], shape: Shape) -> Match:
    """The same for a list that is only the newest part: it may start anywhere in the shape. The longest overlap counts.

    Where messages repeat, nearly every place looks like the start: those from which nothing can come are passed over.
    """
    first = next((form for form in history if not form.is_synthetic), None)
    least = sum(not form.is_synthetic for form in history)  # of the shape's messages, if all of the list is in it
    most = _known(history, shape)  # of the shape's messages, that the list can go through before it says something new
    found = Match("unrelated", 0)
    for index, item in enumerate(shape.items):
        left = len(shape.items) - index
        if found.kind != "unrelated" and not least <= left <= len(history):
            continue  # nothing is better but an equal one
        if first is None or (most < len(history) and left > most) or not item.is_in(first):
            continue
        one = match(history, replace(shape, items=shape.items[index:]))
        if one.new == len(history) and one.kind in ("equal", "own-view"):
            return one
        if one.kind == "behind" or (found.kind == "unrelated" and one.kind != "unrelated"):
            found = one
    return found


def _known(history: Sequence[Form], shape: Shape) -> int:
    """How many of the list come before its first message that is nowhere in the shape."""
    forms = [form for item in shape.items for form in item.forms]
    keys = {form.key for form in forms}
    tombstones = {form.key for form in forms if form.was is not None}

    def is_there(form: Form) -> bool:
        return form.key in keys or form.is_synthetic or (bool(tombstones) and form.left in tombstones)

    return next((place for place, form in enumerate(history) if not is_there(form)), len(history))


def match_ids(
    ids: Sequence[str | None],
    history: Sequence[Form],
    path_ids: Sequence[str | None],
    path: Shape,
    *,
    partial: bool = False,
) -> Match | None:
    """By the host's ids: the list may lack older messages (a sliding window). None: ids cannot tell.

    They can where the list starts with known ids in the path's order, each with the content that was recorded; then
    what follows them must be the rest of the path, and what is new. Between them it may lack only messages without an
    id; with `partial` any.
    """
    places = {host_id: i for i, host_id in enumerate(path_ids) if host_id is not None}
    held = [None if host_id is None else places.get(host_id) for host_id in ids]
    known = [at for at in takewhile(lambda at: at is not None, held) if at is not None]
    start = len(known)
    if not known or known != sorted(set(known)) or any(at is not None for at in held[start:]):
        return None
    if not all(path.items[at].is_in(form) for form, at in zip(history, known, strict=False)):
        return None
    if not partial and sum(i is not None for i in path_ids[known[0] : known[-1] + 1]) > start:
        return None
    found = match(history[start:], Shape(path.found, path.items[known[-1] + 1 :]))
    if found.kind == "unrelated":
        return replace(found, differs=start + found.differs)
    return Match(found.kind, start + found.new)


class _Walk:
    """Goes through a list and ticks off a shape's messages, in order but for those inside a tool group."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.at = 0
        self.skipped: dict[int, int] = {}  # index in the shape: index in the list of what came in its place
        self.newest = -1
        self.guessed: int | None = None  # index in the list: may be a redacted message, or a new one

    def over(self, history: Sequence[Form]) -> Match:
        new = next((i for i, form in enumerate(history) if not self._tick(i, form)), len(history))
        if self.guessed is not None:
            return Match("unrelated", 0, self.guessed)
        if not self._left():
            longer = new < len(history) or self.shape.found == "own-view"
            return Match(self.shape.found if longer else "equal", new)
        if new == len(history) and self._is_prefix():
            return Match("behind", new)
        return Match("unrelated", 0, min((new, *self.skipped.values())))

    def _tick(self, place: int, form: Form) -> bool:
        end = min(len(self.shape.items), self.at + 1 + LOOK_AHEAD - len(self.skipped))
        for index in (*self.skipped, *range(self.at, end)):
            item = self.shape.items[index]
            if item.is_in(form) and self._may_skip_to(index):
                self._found(place, index, item, form)
                return True
        return form.is_synthetic

    def _may_skip_to(self, index: int) -> bool:
        items = self.shape.items
        return items[index].tool or all(item.tool for item in items[self.at : index])

    def _found(self, place: int, index: int, item: Shown, form: Form) -> None:
        self.newest = max(self.newest, item.seq)
        if any(form.same(one) for one in item.forms):
            self.guessed = None
        elif self.guessed is None and not item.surely_is(form):
            self.guessed = place
        if index < self.at:
            del self.skipped[index]
            return
        self.skipped |= dict.fromkeys(range(self.at, index), place)
        self.at = index + 1

    def _left(self) -> list[Shown]:
        return [self.shape.items[i] for i in (*self.skipped, *range(self.at, len(self.shape.items)))]

    def _is_prefix(self) -> bool:
        """Of the shape's order, or of the order in which messages were recorded."""
        return not self.skipped or all(item.seq > self.newest for item in self._left())
