"""An archived session's export, from its object: nothing is written to the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

from offturn.exporting import generation_line, message_lines, session_line
from offturn.store.entries import LogEntry
from offturn.store.errors import StoreFault, readable
from offturn.store.packing import unpacked
from offturn.store.packs import MARK
from offturn.store.records import compaction_of
from offturn.store.state import Meta
from offturn.store.stubs import Stub
from offturn_worker.archive.dumping import values_of
from offturn_worker.archive.objects import Objects


async def exported(objects: Objects, stub: Stub) -> AsyncIterator[dict[str, Any]]:
    """The lines that an export of the session would have if it were here. Raises ArchiveError and StoreFault."""
    what = f"object {stub.object} of session {stub.key.session!r}"
    state, meta, generations = list[bytes](), None, dict[int, bytes]()
    packs, marks, seq = dict[int, bytes](), b"", 0
    async for kind, row in values_of(objects.read(stub.object, stub.sha)):
        match kind:
            case "meta":
                state += row
            case "packs":  # compressed, and written before the log
                packs[int(row[0])] = row[1]
            case "marks":
                marks = row[0]
            case "log":
                if meta is None:
                    meta = _meta(state, stub, what)
                    yield session_line(stub.key, meta)
                    message_line = message_lines(meta)
                    for first, stop in pairwise([*sorted(packs), len(marks) // MARK]):
                        part = (first, marks[MARK * first : MARK * stop], packs[first])
                        for item in await asyncio.to_thread(unpacked, stub.key, part, first):
                            yield message_line(_entry(seq, item, what))
                            seq += 1
                yield message_line(_entry(seq, row[0], what))
                seq += 1
            case _ if kind.startswith("gen:"):
                generations[int(kind[4:])] = row[0]
    if meta is None:  # a session without a message
        yield session_line(stub.key, _meta(state, stub, what))
    for number, stored in sorted(generations.items()):
        yield generation_line(compaction_of(stub.key, number, stored))


def _meta(state: list[bytes], stub: Stub, what: str) -> Meta:
    with readable(what):
        meta = Meta.read(state, due=False, now_ms=stub.at)
    if meta is None:
        raise StoreFault(f"{what} holds no session")
    return meta


def _entry(seq: int, item: bytes, what: str) -> LogEntry:
    with readable(f"message {seq} of {what}"):
        return LogEntry.read(seq, item)
