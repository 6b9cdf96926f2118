"""A session as JSON values: its settings, every message of its log, and the records of its generations."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from offturn.config import SessionConfig
from offturn.errors import Conflict
from offturn.store.entries import LogEntry
from offturn.store.replies import Meta
from offturn.store.sessions import PAGE, SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Compaction
from offturn_engine.ranges import contains, normalise


async def export(store: SessionStore, key: SessionKey, meta: Meta) -> AsyncIterator[dict[str, Any]]:
    """The session as it was when `meta` was read. Raises Conflict where it is purged meanwhile."""
    yield session_line(key, meta)
    message_line = message_lines(meta)
    for start in range(0, meta.log_len, PAGE):
        stop = min(start + PAGE, meta.log_len)
        entries = await store.log(key, start=start, stop=stop)
        if len(entries) < stop - start or (stop == meta.log_len and entries[-1].chain != meta.chain):
            raise Conflict(f"session {key.session!r} was purged or redacted while it was exported")
        for entry in entries:
            yield message_line(entry)
    for number in sorted(meta.generations):
        record = await store.generation(key, number)
        if record is not None and record.nonce == meta.generations[number].nonce:
            yield generation_line(record)


def session_line(key: SessionKey, meta: Meta) -> dict[str, Any]:
    """The first line. Two exports that agree in it agree in all others."""
    return {
        "kind": "session",
        "tenant": key.tenant,
        "session": key.session,
        "incarnation": meta.incarnation,
        "messages": meta.log_len,
        "redactions": meta.redactions,
        "path": [list(pair) for pair in meta.path],
        "generation": meta.adopted,
        "current": meta.current,
        "config": json.loads(meta.config),
    }


def message_lines(meta: Meta) -> Callable[[LogEntry], dict[str, Any]]:
    """What makes a line of an entry of this session's log."""
    shown, pins = normalise(meta.path), SessionConfig.from_json(meta.config).pins

    def line(entry: LogEntry) -> dict[str, Any]:
        return {
            "kind": "message",
            "seq": entry.seq,
            "on_path": contains(shown, entry.seq),
            "pinned": entry.seq in pins,
            "origin": entry.origin,
            "id": entry.host_id,
            "at": entry.at,
            "redacted": entry.redacted.reason if entry.redacted else None,
            "message": entry.raw,
        }

    return line


def generation_line(record: Compaction) -> dict[str, Any]:
    """The line of a kept generation."""
    return {"kind": "generation", **record.model_dump(mode="json")}
