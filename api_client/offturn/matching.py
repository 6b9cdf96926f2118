"""A host's own list against the session: what is new in it, and whose system prompt goes first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from offturn.cache import Cache
from offturn.entries import Ids, check_ids, whole_list
from offturn.errors import Conflict, Refused
from offturn_engine.compaction import NOTHING
from offturn_engine.formats import plain
from offturn_engine.match import (
    Form,
    Match,
    Shape,
    changed,
    holds_summary,
    match,
    match_ids,
    path_shape,
    view_shape,
)
from offturn_engine.messages import RawMessage
from offturn_engine.render import is_system


@dataclass(frozen=True, slots=True)
class Recognised:
    """`new` messages start at index `start` of the list; `system`: the list's own leading system messages."""

    new: tuple[RawMessage, ...]
    start: int
    behind: bool
    system: tuple[RawMessage, ...]


async def recognise(cache: Cache, history: Sequence[Any], ids: Ids | None) -> Recognised:
    """Raises Conflict for a list that is neither the transcript nor a view of it plus new messages, InvalidSetting."""
    history = whole_list(history)
    check_ids(ids, len(history))
    raws = [plain(value) for value in history]
    lead = _leading_system(raws)
    if not cache.path:
        _refuse_summaries(raws, 0)
        return Recognised(tuple(raws), 0, False, lead)
    forms = [Form(raw, cache.fmt) for raw in raws[len(lead) :]]
    found = await _found(cache, forms, None if ids is None else ids[len(lead) :], len(lead))
    start = len(lead) + found.new
    _refuse_summaries(raws[start:], start)
    return Recognised(tuple(raws[start:]), start, found.kind == "behind", lead)


async def _found(cache: Cache, forms: Sequence[Form], ids: Ids | None, first: int) -> Match:
    lead = len(_leading_system([message.raw for message in cache.path]))
    path, path_ids = path_shape(cache.path[lead:], cache.path_forms[lead:]), cache.path_ids[lead:]
    differs = 0
    by_ids = None if ids is None else match_ids(ids, forms, path_ids, path)
    if by_ids is not None:
        if by_ids.kind != "unrelated":
            return by_ids
        differs = by_ids.differs
    async for shape in _shapes(cache, path, lead):
        found = match(forms, shape)
        if found.kind != "unrelated":
            return found
        differs = max(differs, found.differs)
    index = None if ids is None else changed(ids, forms, path_ids, path)
    if ids is not None and index is not None:
        raise Conflict(
            f"message {first + index}: id {ids[index]!r} is recorded with other content; nothing was written"
        )
    raise Conflict(
        f"message {first + differs} of {first + len(forms)} (the first is 0) is not what the session has at its place: "
        "the list is neither this session's transcript nor a view of it, and nothing was written. A mirrored list may "
        "only grow at its end; with ids= it may also lose its oldest messages; another conversation needs another "
        "session id"
    )


async def _shapes(cache: Cache, transcript: Shape, lead: int) -> AsyncIterator[Shape]:
    """What a list may look like, the likeliest first: the path, the views of kept generations, those of one call."""
    yield transcript
    path, forms = cache.path[lead:], cache.path_forms[lead:]
    for number in sorted(cache.meta.generations, reverse=True) if cache.meta else ():
        try:
            record = await cache.generation(number)
        except Refused:  # forgotten between two reads
            continue
        yield view_shape(path, forms, record, cache.fmt)
    for record in (NOTHING, *reversed(cache.passing)):
        yield view_shape(path, forms, record, cache.fmt)


def _refuse_summaries(new: Sequence[RawMessage], start: int) -> None:
    """A summary that offturn wrote is nobody's message: recorded as one, it would count as a human's words."""
    index = next((start + i for i, raw in enumerate(new) if holds_summary(raw)), None)
    if index is not None:
        raise Conflict(
            f"message {index} (the first is 0) holds a summary of offturn's and is not in this session; nothing was "
            "written: hand back the view of this session as it is, once and at the start of the list, or record() the "
            'message with origin="summary"'
        )


def _leading_system(raws: Sequence[RawMessage]) -> tuple[RawMessage, ...]:
    return tuple(takewhile(is_system, raws))
