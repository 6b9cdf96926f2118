"""A compaction's record as its key holds it: JSON, `{"v": 2, "z"}`; `z` is the record's own JSON, compressed, in base64.

A record is mostly words that the log has too, and is written once and read seldom. Releases before version 2 kept it as
it is, and refuse this one as unknown. Its first line, numbers that a script knows, stands apart.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any

import orjson

from offturn.store.entries import encoded, loads
from offturn_engine.compaction import Compaction

PACKED = 2
_PACKED = b'{"v":2,"z":"'


def stored(record: Compaction) -> bytes:
    """What a script puts behind the first line."""
    return encoded({"v": PACKED, "z": b64encode(zlib.compress(encoded(record.model_dump()))).decode()})


def fields_of(payload: bytes) -> dict[str, Any]:
    """The record's fields, of whatever release. Raises ValueError, LookupError or TypeError for what is damaged."""
    fields = orjson.loads(payload) if payload.startswith(_PACKED) else loads(payload)
    if fields["v"] != PACKED:
        return {**fields}
    try:
        return {**loads(zlib.decompress(b64decode(fields["z"], validate=True)))}
    except zlib.error:
        raise ValueError("damaged") from None
