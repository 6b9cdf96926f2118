"""Records again what a store has lost: a failover, or a kill, takes the last second of what it had acknowledged."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from offturn.entries import entry_of
from offturn.needed import common
from offturn.outbox import MAX_BYTES, MAX_MESSAGES
from offturn.recording import levels
from offturn.store.replies import BehindLog, NewEntry, Recorded, Snapshot, Unexpected
from offturn_engine.chain import EMPTY, chain
from offturn_engine.ranges import Ranges

if TYPE_CHECKING:
    from offturn.cache import Cache

TRIES = 5


async def record_again(cache: Cache, found: Snapshot) -> int | None:
    """Of a store that does not have the cached log (`found`): how many messages this has recorded again.

    The store has all of them then: read it again. None: nothing was written, the log is another one.

    They are recorded only where the store's log is the beginning of the cached one, as the chain proves, its path is the
    beginning of the cached path, and what is missing is not more than an outbox holds. Of several processes that do so
    the first one wins, and the others find their messages there.
    """
    for _ in range(TRIES):
        entries = _missing(cache, found)
        if not entries:
            return None
        # As the store has it now, for the chain has told that the messages are the same.
        redactions = found.meta.redactions if found.meta else 0
        meta = cache.meta
        config = cache.config or cache.opened
        fresh = config.calibration(None)
        reply = await cache.store.record(
            cache.key,
            op=token_hex(16),
            incarnation=cache.incarnation,
            redactions=redactions,
            tail_length=len(cache.log) - len(entries),
            tail_chain=found.meta.chain if found.meta else EMPTY,
            entries=entries,
            expect=len(cache.log) - len(entries),
            config=config.to_json(),
            limits=config.bounds,
            calibration=meta.calibration if meta else None,
            thresholds=(meta.soft, meta.hard, meta.growth) if meta else levels(config, fresh),
            pace=meta.pace if meta else config.pace(fresh),
        )
        if isinstance(reply, Recorded):
            return len(entries)
        if not isinstance(reply, Unexpected | BehindLog):
            return None
        found = await cache.store.sync(
            cache.key,
            incarnation=cache.incarnation,
            length=len(cache.log),
            chain=cache.chain,
            redactions=redactions,
            limit_entries=0,
        )
        if found.meta and not found.reset:
            return 0
    return None


def _missing(cache: Cache, found: Snapshot) -> list[NewEntry]:
    """What to append so that the store's log is the cached one; nothing where that is not sure to be right."""
    meta = found.meta
    length = meta.log_len if meta else 0
    incarnation = meta.incarnation if meta else found.next_incarnation
    if (
        cache.partial
        or incarnation != cache.incarnation
        or length >= len(cache.log)
        or common(cache.absent, ((length, len(cache.log)),))
        or len(cache.log) - length > MAX_MESSAGES
    ):
        return []
    path = _path(cache)
    if (meta.path if meta else ()) != _before(path, length) or not _ends_with(path, length, len(cache.log)):
        return []
    before = meta.chain if meta else EMPTY  # which the hashes below prove to be of the same messages
    known = zip(cache.log[length:], cache.ids[length:], strict=True)
    missing = [entry_of(message, host_id) for message, host_id in known]
    if chain((entry.digest for entry in missing), before) != cache.chain:  # redacted, or another release's digests
        return []
    return missing if sum(len(entry.envelope) for entry in missing) <= MAX_BYTES else []


def _path(cache: Cache) -> Ranges:
    """The cached path, with what this handle has recorded since it was read."""
    known, length = cache.meta.path if cache.meta else (), cache.recorded_from
    if known and known[-1][1] == length:
        return (*known[:-1], (known[-1][0], len(cache.log)))
    return known if length == len(cache.log) else (*known, (length, len(cache.log)))


def _before(path: Ranges, length: int) -> Ranges:
    """The part of it that is below this seq."""
    return tuple((low, min(high, length)) for low, high in path if low < length)


def _ends_with(path: Ranges, low: int, high: int) -> bool:
    """Is its end all of these seqs, in their order?"""
    return bool(path) and path[-1][0] <= low and path[-1][1] == high and all(top <= low for _, top in path[:-1])
