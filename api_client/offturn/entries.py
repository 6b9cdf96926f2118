"""From a host's messages to log entries: parsed at the edge, refused as a whole where one cannot be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson

from offturn.copying import copied
from offturn.store.entries import NewEntry
from offturn_config.errors import InvalidSetting
from offturn_engine.errors import InvalidMessage
from offturn_engine.formats import plain
from offturn_engine.formats.base import Format
from offturn_engine.messages import ORIGINS, Json, Message, Origin, RawMessage

OriginRule: TypeAlias = Origin | Callable[[RawMessage], Origin | None] | None
"""Who wrote a message: one origin, or a function of the raw message (None: the format's own rule). Counts for the user role only."""

Ids: TypeAlias = Sequence[str | None]
"""The host's own ids, one for each message; None for a message it has no id for."""

PAGE_BYTES = 256 * 1024  # of entries that are made without a turn for others
MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # the largest request body a provider takes


@dataclass(frozen=True, slots=True)
class Prepared:
    """Parsed messages and the entries to store, in order, as `fmt` measures them.

    `first`: index of the first one in the host's list. `open`: nobody has said who wrote the first message, so that its
    place on the path may tell.
    """

    messages: tuple[Message, ...]
    entries: tuple[NewEntry, ...]
    fmt: Format
    first: int = 0
    open: bool = False

    def behind(self, before: Message | None) -> Prepared:
        """As it reads behind this message of the path."""
        if not (self.open and self.fmt.by_place):
            return self
        message = self.fmt.after(self.messages[0], before)
        entry = entry_of(message, self.entries[0].host_id)
        return replace(self, messages=(message, *self.messages[1:]), entries=(entry, *self.entries[1:]))

    def says(self, other: Prepared) -> bool:
        """Do both hold the same, as the host gave it?"""
        return self._given() == other._given()

    def _given(self) -> list[tuple[RawMessage, str | None, Origin | None]]:
        both = zip(self.messages, self.entries, strict=True)
        return [(m.raw, e.host_id, None if self.open and not i else m.origin) for i, (m, e) in enumerate(both)]

    def after(self, count: int) -> Prepared:
        """Without the first of them."""
        return replace(
            self,
            messages=self.messages[count:],
            entries=self.entries[count:],
            first=self.first + count,
            open=self.open and not count,
        )

    def measured(self, fmt: Format) -> Prepared:
        """The same as the session's policy measures, which a handle may not know before its first call."""
        if fmt is self.fmt:
            return self
        messages = tuple(replace(message, tokens=fmt.estimate(message.raw)) for message in self.messages)
        ids = (entry.host_id for entry in self.entries)
        return Prepared(messages, tuple(map(entry_of, messages, ids)), fmt, self.first, self.open)

    def only(self, places: Sequence[int]) -> Prepared:
        """Those at these places."""
        return replace(
            self,
            messages=tuple(self.messages[i] for i in places),
            entries=tuple(self.entries[i] for i in places),
            open=False,
        )


def listed(messages: object) -> Sequence[Any]:
    """Several messages as they are, a single one as a list."""
    return messages if isinstance(messages, Sequence) and not isinstance(messages, str | bytes) else [messages]


def whole_list(messages: object) -> Sequence[Any]:
    """The list of a host that gives all of its messages. Raises InvalidSetting for anything but a list or tuple."""
    if isinstance(messages, Sequence) and not isinstance(messages, str | bytes):
        return messages
    raise InvalidSetting(f"a list of messages is needed, not a {type(messages).__name__}: put a single one in a list")


def check_ids(ids: Ids | None, count: int) -> None:
    """Raises InvalidSetting for ids that are not one for each message, or neither text nor None."""
    if ids is None:
        return
    if isinstance(ids, str) or not isinstance(ids, Sequence):
        raise InvalidSetting(f"ids is a {type(ids).__name__}: give a list with one id for each message")
    if len(ids) != count:
        raise InvalidSetting(f"ids: {len(ids)} for {count} messages: give one id for each message")
    for index, host_id in enumerate(ids):
        if host_id is not None and not isinstance(host_id, str):
            raise InvalidSetting(f"ids: number {index} is a {type(host_id).__name__}: give str(id)")


def prepare(raws: Sequence[Any], ids: Ids | None, fmt: Format, rule: OriginRule, first: int = 0) -> Prepared:
    """Raises InvalidMessage (index, field) for the first message no provider would take, InvalidSetting for bad ids.

    Indexes in errors count from `first`.
    """
    steps = _prepared(list(raws), ids, fmt, rule, first)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


async def prepare_in_pages(
    raws: Sequence[Any], ids: Ids | None, fmt: Format, rule: OriginRule, first: int = 0
) -> Prepared:
    """The same, of the values as they are now; after each page of entries others on the loop have their turn."""
    check_ids(ids, len(raws))
    taken, names, ours, size = list(raws), None if ids is None else list(ids), False, 0
    steps = _prepared(taken, names, fmt, rule, first)
    while True:
        try:
            size += next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if size >= PAGE_BYTES:
            if not ours:
                taken[:] = [copied(plain(value)) for value in taken]
            ours, size = True, 0
            await asyncio.sleep(0)


def _prepared(
    raws: Sequence[Any], ids: Ids | None, fmt: Format, rule: OriginRule, first: int
) -> Generator[int, None, Prepared]:
    """Tells the bytes of each entry as it is made."""
    check_ids(ids, len(raws))
    messages: list[Message] = []
    entries: list[NewEntry] = []
    opened = False
    for place, value in enumerate(raws):
        index = first + place
        raw = copied(plain(value))
        _keep_utf8(raw)
        message = fmt.parse(raw, index=index)
        origin = _declared(message, rule)
        if origin is None:
            opened = opened or (not place and message.origin == "human")
            message = fmt.after(message, messages[-1] if messages else None)
        else:
            message = fmt.parse(message.raw, index=index, origin=origin)
        messages.append(message)
        entries.append(_entry(index, message, None if ids is None else ids[place]))
        yield len(entries[-1].envelope)
    return Prepared(tuple(messages), tuple(entries), fmt, first, opened)


def _keep_utf8(raw: Json) -> None:
    """A text that is not ASCII keeps the UTF-8 that orjson makes of it; checking and measuring it would each make it anew."""
    text = raw.get("content") if type(raw) is dict else None
    if type(text) is str and not text.isascii():
        with suppress(TypeError):  # lone surrogates, which `parse` tells of
            orjson.dumps(text)


def _declared(message: Message, rule: OriginRule) -> Origin | None:
    """The origin the host declares; that counts for what would pass for a human's message only."""
    if message.origin != "human":
        return None
    origin = rule(message.raw) if callable(rule) else rule
    if origin is not None and origin not in ORIGINS:
        raise InvalidSetting(f"origin {origin!r}: use one of {', '.join(ORIGINS)}")
    return origin


def entry_of(message: Message, host_id: str | None) -> NewEntry:
    """A parsed message as it is recorded; of one that was read from the log, with the digest it has there."""
    return NewEntry.of(
        message.raw,
        origin=message.origin,
        tokens=message.tokens,
        host_id=host_id,
        calls=[call.id for _, call in message.calls],
        results=[result.call_id for _, result in message.results],
    )


def _entry(index: int, message: Message, host_id: str | None) -> NewEntry:
    entry = entry_of(message, host_id)
    size = len(entry.envelope)
    if size > MAX_MESSAGE_BYTES:
        raise InvalidMessage(index, "content", f"the message has {size} bytes, it may have {MAX_MESSAGE_BYTES}")
    return entry
