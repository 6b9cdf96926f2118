"""The model of how a log is kept: nothing it says changes. See model.py."""

from __future__ import annotations

from collections.abc import Sequence

from offturn.store.entries import LogEntry
from offturn.store.packs import MARK
from offturn.store.replies import Gone, Packed, PackReply, PathMoved, Unpacked, UnpackReply
from offturn_engine.chain import digest
from tests.protocol.facts import Item, State, base_of, gone


def pack(s: State, *, incarnation: int, base: int, items: Sequence[bytes], packed: bytes) -> tuple[State, PackReply]:
    if gone(s, incarnation):
        return s, Gone()
    upto = base + len(items)
    if base != base_of(s) or not base < upto < len(s.log) or list(map(read, items)) != list(s.log[base:upto]):
        return s, PathMoved()
    size, stored = sum(map(len, items)), len(packed) + MARK * len(items)
    return s._replace(packs=(*s.packs, (base, upto))), Packed(base=upto, bytes=size, stored=stored)


def unpack_last(s: State, *, incarnation: int, base: int) -> tuple[State, UnpackReply]:
    if gone(s, incarnation):
        return s, Gone()
    if not s.packs or base != base_of(s):
        return s, PathMoved()
    return s._replace(packs=s.packs[:-1]), Unpacked(base=s.packs[-1][0])


def read(item: bytes) -> Item:
    """An item of the log."""
    entry = LogEntry.read(0, item)
    of = digest(entry.raw, entry.origin, entry.host_id)
    return Item(entry.chain, of, entry.tokens, entry.host_id, len(item), entry.redacted is not None)
