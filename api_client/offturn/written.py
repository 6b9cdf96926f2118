"""What a handle knows after a write of its own that the store has acknowledged, without reading it again.

Where the store is away at the next read, the handle shows that, and never the state from before the write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offturn.cache import REREAD, Cache, Unread
from offturn.config import SessionConfig
from offturn.copying import changed
from offturn.entries import Prepared
from offturn.paths import Move
from offturn.store.replies import Recorded, Redacted, RolledBack, Undone
from offturn_engine.chain import link
from offturn_engine.messages import Message
from offturn_engine.ranges import ranges_of, union


def recorded(cache: Cache, reply: Recorded, batch: Prepared, calibration: str | None) -> None:
    """`stale` afterwards: the session is new, or others have changed it too, so that `refresh` has to tell."""
    cache.stale = True
    all_new = len(reply.seqs) == reply.length - reply.first_seq
    cache.seen = union(cache.seen, ((reply.first_seq, reply.length),) if all_new else ranges_of(reply.seqs))
    if reply.incarnation != (cache.incarnation or cache.next_incarnation):
        return
    cache.incarnation = reply.incarnation
    if reply.first_seq != len(cache.log):
        if reply.length > len(cache.log):
            new = [i for i, seq in enumerate(reply.seqs) if seq >= reply.first_seq]
            cache.unread.append(Unread(batch.only(new), reply.length, reply.chain, cache.redactions))
        return
    for message, entry, seq in zip(batch.messages, batch.entries, reply.seqs, strict=True):
        if seq == len(cache.log):
            cache.add(message.placed(seq, reply.at), entry.host_id, link(cache.chain, entry.digest))
    meta = cache.meta
    if meta is None or (reply.current, reply.epoch) != (meta.current, meta.epoch):
        return
    cache.stale = False
    cache.meta = changed(
        meta,
        revision=reply.revision,
        path=reply.path,
        path_tokens=reply.path_tokens,
        log_len=reply.length,
        chain=reply.chain,
        adopted=reply.adopted,
        due=reply.due,
        calibration=calibration or meta.calibration,
        request_no=reply.request_no,
        blocked=reply.blocked,
    )


def moved(cache: Cache, reply: Undone, made: Move) -> None:
    """Another path is in place, of the log that was read and what was appended for it."""
    cache.stale = True
    for message, entry in zip(made.new, made.entries, strict=True):
        cache.add(message.placed(message.seq, reply.at), entry.host_id, link(cache.chain, entry.digest))
    cache.saw((reply.length - len(made.new), reply.length))
    meta = cache.live
    generations = dict(meta.generations)
    if known := generations.get(reply.current):
        generations[known.number] = replace(known, tokens_after=made.shown_tokens, at_tokens=made.path_tokens)
    cache.meta = replace(
        meta,
        config=made.config or meta.config,
        revision=reply.revision,
        path=reply.path,
        path_tokens=reply.path_tokens,
        log_len=reply.length,
        chain=reply.chain,
        current=reply.current,
        adopted=reply.adopted,
        generations=generations,
        request_no=reply.request_no,
    )


def redacted(cache: Cache, reply: Redacted, left: Sequence[Message]) -> None:
    """`left` of the messages stays; of the generations those that the store names, which it has therefore kept.

    Chain hashes are others now: all of the log is read again, also where the store loses this write.
    """
    cache.stale = True
    if not left:
        return
    cache.redactions = REREAD
    for message in left:
        cache.tombstones[message.seq] = cache.form(message.seq).size
        cache.log[message.seq] = message
        del cache.forms[message.seq]
    cache.passing.clear()
    for number, nonce in list(cache.generations):
        if number not in (reply.current, reply.adopted):
            del cache.generations[number, nonce]
    cache.meta = replace(cache.live, revision=reply.revision, current=reply.current, adopted=reply.adopted)


def rolled_back(cache: Cache, reply: RolledBack, target: int) -> None:
    """Another generation is current and in force."""
    cache.stale = True
    cache.meta = replace(cache.live, revision=reply.revision, current=target, adopted=target)


def configured(cache: Cache, new: SessionConfig, calibration: str) -> None:
    """Other settings count."""
    cache.stale = True
    cache.meta = replace(cache.live, config=new.onto(cache.live.config), calibration=calibration)
