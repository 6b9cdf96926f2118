"""Of a log that was left out when its session was read first: the messages that are needed, read when they are.

Each page is of the very log that the cache knows, or the session is looked at anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offturn.errors import StoreUnavailable
from offturn.needed import Needed, common
from offturn.store.errors import torn
from offturn.store.replies import LogEntry, Meta
from offturn_engine.chain import EMPTY
from offturn_engine.compaction import Compaction, ViewRecord
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.ranges import Ranges, minus, normalise

if TYPE_CHECKING:
    from offturn.cache import Cache

ABSENT = Message(role="user", parts=(), raw={}, origin="host", tokens=0)
"""In the place of a message that was not read."""

NOT_READ = "the store is away, and what this view is made of was not read before"


class LookAgain(Exception):
    """The session is another one by now: nothing of what was made of the cache counts."""


def skip(cache: Cache, meta: Meta) -> None:
    """Know of a log that is not read yet."""
    length = meta.log_len
    cache.log, cache.hashes, cache.ids = [ABSENT] * length, [EMPTY] * length, [None] * length
    cache.forms, cache.tombstones = {}, {}
    cache.chain, cache.absent = meta.chain, normalise(((0, length),))


async def whole(cache: Cache, start: int = 0) -> None:
    """Read what was left out of the log from there on. Raises StoreUnavailable where that is not possible now."""
    while not await have(cache, ((start, len(cache.log)),)):
        pass


async def whole_path(cache: Cache) -> Path:
    """The path, all of it, read now where it was not. Raises LookAgain."""
    await _need(cache, tuple(cache.ranges()))
    return cache.path


async def path_for(cache: Cache, record: ViewRecord) -> Path:
    """The path as far as the view of this generation needs it, read now where it was not. Raises LookAgain."""
    needed = Needed.of(tuple(cache.ranges()), record, cache.config.pins if cache.config else ())
    if needed is None:
        return await whole_path(cache)
    await _need(cache, needed.ranges)
    return cache.pinned(needed.path(cache.log)) if _is_enough(cache, needed) else await whole_path(cache)


async def path_to_shorten(cache: Cache, record: Compaction) -> Path:
    """The path, for a view that has to cover more than this generation; without the store what the record remembers of it.

    Raises LookAgain, and StoreUnavailable where too little was read for that.
    """
    needed = Needed.of(tuple(cache.ranges()), record, cache.config.pins if cache.config else ())
    if not (cache.offline and cache.absent) or needed is None or not _is_enough(cache, needed):
        return await whole_path(cache)
    await _need(cache, needed.ranges)
    return cache.pinned(needed.remembered(cache.log, record, cache.fmt))


async def _need(cache: Cache, wanted: Ranges) -> None:
    if not await have(cache, wanted):
        raise LookAgain


async def have(cache: Cache, wanted: Ranges) -> bool:
    """Read these messages of the log where they were not; False: it was another one by then, and was looked at anew."""
    while missing := common(cache.absent, normalise(wanted)):
        if cache.offline:
            raise StoreUnavailable(NOT_READ)
        low, high = missing[0]
        known = {"incarnation": cache.incarnation, "redactions": cache.redactions, "length": len(cache.log)}
        page = await cache.store.page(cache.key, start=low, stop=high, **known, chain=cache.chain)
        if page is None:
            await cache.refresh()
            return False
        if not page:
            held = await cache.store.unpacked_entries(cache.key) + (cache.meta.base if cache.meta else 0)
            raise torn(cache.key.session, min(held, low), len(cache.log))
        for entry in page:
            _place(cache, entry)
        cache.absent = minus(cache.absent, ((low, low + len(page)),))
    return True


def _place(cache: Cache, entry: LogEntry) -> None:
    message, seq = cache.parsed(entry), entry.seq
    cache.log[seq], cache.hashes[seq], cache.ids[seq] = message, entry.chain, entry.host_id
    cache.forms.pop(seq, None)
    if entry.redacted:
        cache.tombstones[seq] = entry.redacted.size


def _is_enough(cache: Cache, needed: Needed) -> bool:
    """Once so it stays so: neither what is covered nor what came before it changes any more."""
    covered = needed.before, needed.gap
    if covered in cache.enough:
        return True
    meta = cache.meta
    known = meta is not None and not cache.stale and cache.counted == len(cache.log)
    if known and meta and needed.is_enough(cache.log, meta.open_calls):
        cache.enough.add(covered)
        return True
    return False
