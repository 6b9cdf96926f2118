"""A host's own list against the session: what is new in it, and whose system prompt goes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

from offturn.cache import Cache
from offturn.entries import Ids, check_ids, whole_list
from offturn.errors import Conflict, Refused
from offturn.store.errors import StoreFault
from offturn_engine.compaction import NOTHING
from offturn_engine.formats import plain
from offturn_engine.match import (
    Form,
    Match,
    Shape,
    holds_summary,
    match,
    match_ids,
    path_shape,
    view_shape,
    window,
)
from offturn_engine.messages import RawMessage
from offturn_engine.ranges import Ranges
from offturn_engine.realign import Realigned, realign
from offturn_engine.render import is_system

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

LONG = 500  # messages that take some milliseconds to compare


@dataclass(frozen=True, slots=True)
class Recognised:
    """`new` messages start at index `start` of the list; `system`: the list's own leading system messages.

    other: where the list differs from the session, the path it asks for; its places count from `start`.
    """

    new: tuple[RawMessage, ...]
    start: int
    behind: bool
    system: tuple[RawMessage, ...]
    other: Realigned | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """One thing the list may look like. `covered`: what its summary stands for."""

    shape: Shape
    covered: Ranges


async def recognise(cache: Cache, history: Sequence[Any], ids: Ids | None, partial: bool = False) -> Recognised:
    """What of the list is the session's. Raises Conflict for a list that holds a summary of elsewhere, InvalidSetting."""
    history = whole_list(history)
    check_ids(ids, len(history))
    raws = [plain(value) for value in history]
    lead = _leading_system(raws)
    if not cache.path:
        _refuse_summaries(enumerate(raws))
        return Recognised(tuple(raws), 0, False, lead)
    first = len(lead)
    forms = [Form(raw, cache.fmt) for raw in raws[first:]]
    found = await _found(cache, forms, None if ids is None else ids[first:], partial)
    if isinstance(found, Realigned):
        if found.inside:
            raise Conflict(
                f"the list of {len(raws)} messages starts in the middle of the session's; nothing was written: pass "
                "partial=True if it is only the newest part of your list, or ids="
            )
        _refuse_summaries((first + place, raws[first + place]) for place in found.new)
        return Recognised(tuple(raws[first:]), first, False, lead, found)
    start = first + found.new
    _refuse_summaries(enumerate(raws[start:], start))
    return Recognised(tuple(raws[start:]), start, found.kind == "behind", lead)


def leading(cache: Cache) -> int:
    """How many system messages the path starts with; the list's own take their place."""
    return len(_leading_system([message.raw for message in cache.path]))


async def _found(cache: Cache, forms: Sequence[Form], ids: Ids | None, partial: bool) -> Match | Realigned:
    lead = leading(cache)
    path = await _aside(path_shape, cache.path[lead:], cache.path_forms[lead:])
    path_ids = cache.path_ids[lead:]
    by_ids = None if ids is None else match_ids(ids, forms, path_ids, path, partial=partial)
    if by_ids is not None and by_ids.kind != "unrelated":
        return by_ids
    looks = []
    async for look in _looks(cache, path, lead):
        found = await _aside(window if partial else match, forms, look.shape)
        if found.kind != "unrelated" and not _recorded(forms, ids, found.new, path, path_ids):
            return found
        looks.append(look)
    seqs = [message.seq for message in cache.path[lead:]]
    names = {seq: host_id for seq, host_id in zip(seqs, path_ids, strict=True) if host_id is not None}
    given = [None] * len(forms) if ids is None else list(ids)
    others = (realign(forms, given, look.shape, seqs, names, look.covered, partial=partial) for look in looks)
    return max(others, key=lambda other: other.known)


async def _aside(work: Callable[[Sequence[A], B], T], many: Sequence[A], other: B) -> T:
    """In a thread where that may take long: a host's loop has other sessions."""
    return await asyncio.to_thread(work, many, other) if len(many) > LONG else work(many, other)


def _recorded(forms: Sequence[Form], ids: Ids | None, start: int, path: Shape, path_ids: Sequence[str | None]) -> bool:
    """Is one of the new ones recorded, by its id? Then of two with equal content another stands at its place in the list."""
    known = {host_id: item for host_id, item in zip(path_ids, path.items, strict=True) if host_id is not None}
    new = zip(ids[start:], forms[start:], strict=True) if ids and known else ()
    return any(host_id in known and known[host_id].is_in(form) for host_id, form in new if host_id is not None)


async def _looks(cache: Cache, transcript: Shape, lead: int) -> AsyncIterator[_Look]:
    """What a list may look like, the likeliest first: the path, the views of kept generations, those of one call."""
    yield _Look(transcript, ())
    path, forms = cache.path[lead:], cache.path_forms[lead:]
    for number in sorted(cache.meta.generations, reverse=True) if cache.meta else ():
        try:
            record = await cache.generation(number)
        except (Refused, StoreFault):  # forgotten between two reads; or damaged, then no list is known by it
            continue
        yield _Look(view_shape(path, forms, record, cache.fmt), record.covered)
    for record in (NOTHING, *reversed(cache.passing)):
        yield _Look(view_shape(path, forms, record, cache.fmt), record.covered)


def _refuse_summaries(new: Iterable[tuple[int, RawMessage]]) -> None:
    """A summary that offturn wrote is nobody's message: recorded as one, it would count as a human's words."""
    index = next((index for index, raw in new if holds_summary(raw)), None)
    if index is not None:
        raise Conflict(
            f"message {index} (the first is 0) holds a summary of offturn's and is not in this session; nothing was "
            "written: hand back the view of this session as it is, once and at the start of the list, or record() the "
            'message with origin="summary"'
        )


def _leading_system(raws: Sequence[RawMessage]) -> tuple[RawMessage, ...]:
    return tuple(takewhile(is_system, raws))
