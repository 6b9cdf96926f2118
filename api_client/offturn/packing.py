"""What of a session is packed, and when; and how packs are taken apart again.

Each pack is one script that checks what it takes the place of: nobody holds a claim for it, a host that writes meanwhile
is not held up, and whoever is killed leaves the session as it was before the pack or after it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from offturn.errors import Conflict
from offturn.store.errors import torn
from offturn.store.packs import RAW_BYTES as RAW_BYTES
from offturn.store.packs import pack
from offturn.store.replies import Gone, Meta, Packed, Torn, Unpacked
from offturn.store.sessions import PAGE, SessionStore
from offturn_config.keys import SessionKey

LEAST_BYTES = 16_384  # of items: less waits until more is covered
MOST_ITEMS = 500  # in one pack: who reads some of them reads all


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What packing came to: bytes of the items that were packed now, and of what they take; what has to wait.

    `later`: more may be packed as time goes on, without another compaction.
    """

    bytes: int = 0
    stored: int = 0
    later: bool = False


async def pack_covered(store: SessionStore, key: SessionKey, *, before_ms: int) -> Packing:
    """Pack what the current generation covers and was recorded before then (ms of Redis TIME), from the log's start on.

    Messages between covered ranges are packed too: seqs are not parted. What is left is younger, or less than is
    worth a pack. Raises StoreFault where the server has lost a part of the log, and the store's other errors.
    """
    size, stored = 0, 0
    while True:
        meta = await store.meta(key)
        if meta is None or meta.packable != meta.log_len:
            return Packing(bytes=size, stored=stored)
        items, young = await _next(store, key, meta, before_ms)
        if not items:
            return Packing(bytes=size, stored=stored, later=young)
        blob = await asyncio.to_thread(_packed, items)
        if blob is None:
            return Packing(bytes=size, stored=stored)
        reply = await store.pack(key, incarnation=meta.incarnation, base=meta.base, items=items, packed=blob)
        if isinstance(reply, Torn):
            raise torn(key.session, reply.held, reply.length)
        if not isinstance(reply, Packed):  # somebody else packs it, or it has changed
            return Packing(bytes=size, stored=stored, later=not isinstance(reply, Gone))
        size, stored = size + reply.bytes, stored + reply.stored


async def unpack(store: SessionStore, key: SessionKey, meta: Meta, *, down_to: int) -> None:
    """Take packs apart, the newest first, until this seq is in none. Each step stays done.

    Raises StoreFault where the server has lost one, Conflict where the session ended meanwhile.
    """
    base = meta.base
    while base > down_to:
        reply = await store.unpack_last(key, incarnation=meta.incarnation, base=base)
        if isinstance(reply, Gone):
            raise Conflict(f"session {key.session!r} was purged meanwhile")
        if isinstance(reply, Unpacked):
            base = reply.base
            continue
        now = await store.meta(key)
        if isinstance(reply, Torn) or now is None or now.base == base:
            raise torn(key.session, (now or meta).log_len - base, (now or meta).log_len)
        base = now.base


async def _next(store: SessionStore, key: SessionKey, meta: Meta, before_ms: int) -> tuple[list[bytes], bool]:
    """The items of the next pack, none where they are not worth one; does a younger one of those covered follow?"""
    info = meta.generations.get(meta.current)
    stop = min(max((high for _, high in info.covered), default=0) if info else 0, meta.log_len - 1)
    items, size = list[bytes](), 0
    while meta.base + len(items) < stop:
        start = meta.base + len(items)
        page = await store.items(key, start=start, stop=min(start + PAGE, stop))
        if not page:
            raise torn(key.session, start, meta.log_len)
        for item in page:
            if _recorded(item) > before_ms:
                return (items if size >= LEAST_BYTES else []), True
            if items and (size + len(item) > RAW_BYTES or len(items) == MOST_ITEMS):
                return items, False
            items.append(item)
            size += len(item)
    return (items if size >= LEAST_BYTES else []), False


def _recorded(item: bytes) -> int:
    """When, in ms; what is no item counts as young for good."""
    try:
        return int(item.split(b" ", 2)[1])
    except (ValueError, IndexError):
        return 2**63


def _packed(items: list[bytes]) -> bytes | None:
    """None for what would not come out as it is: another program wrote it."""
    try:
        return pack(items)
    except ValueError:
        return None
