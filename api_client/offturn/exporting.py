"""A session as JSON values: its settings, every message of its log, and the records of its generations."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from offturn.config import SessionConfig
from offturn.errors import Conflict
from offturn.store.replies import Meta
from offturn.store.sessions import PAGE, SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.ranges import contains, normalise


async def export(store: SessionStore, key: SessionKey, meta: Meta) -> AsyncIterator[dict[str, Any]]:
    """The session as it was when `meta` was read. Raises Conflict where it is purged meanwhile."""
    yield {
        "kind": "session",
        "tenant": key.tenant,
        "session": key.session,
        "incarnation": meta.incarnation,
        "messages": meta.log_len,
        "path": [list(pair) for pair in meta.path],
        "generation": meta.adopted,
        "current": meta.current,
        "config": json.loads(meta.config),
    }
    shown, pins = normalise(meta.path), SessionConfig.from_json(meta.config).pins
    for start in range(0, meta.log_len, PAGE):
        stop = min(start + PAGE, meta.log_len)
        entries = await store.log(key, start=start, stop=stop)
        if len(entries) < stop - start or (stop == meta.log_len and entries[-1].chain != meta.chain):
            raise Conflict(f"session {key.session!r} was purged or redacted while it was exported")
        for entry in entries:
            yield {
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
    for number in sorted(meta.generations):
        record = await store.generation(key, number)
        if record is not None and record.nonce == meta.generations[number].nonce:
            yield {"kind": "generation", **record.model_dump(mode="json")}
