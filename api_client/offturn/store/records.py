"""A compaction's record as its key holds it: JSON, `{"v": 2, "view", "rest"}`, behind a first line, numbers that a script knows.

Both parts are JSON of the record's own fields, compressed, in base64. A record is written once, and what reads it most is
a view, which needs a small part of it: most of the rest is words that the log has too. Releases before version 2 kept the
record as it is, and refuse this one as unknown, which they can because it is one JSON document.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from pydantic import Field, ValidationError

from offturn.store.entries import encoded, loads
from offturn.store.errors import UnknownVersion, readable
from offturn_config.keys import SessionKey
from offturn_engine.compaction import VERSION, Compaction, ViewRecord

PACKED = 2
OTHER_GENERATION = (
    "put another one in force with rollback(generation=...) (on the command line `offturn session rollback`), 0 is the "
    "transcript itself"
)
_VIEW = b'{"v":2,"view":"'

Read = TypeVar("Read", bound=ViewRecord)


class HalfRead(ViewRecord):
    """A record of which only a view's part was looked at. `kept`: all of it, as its key holds it."""

    kept: bytes = Field(repr=False, exclude=True)


def stored(record: Compaction) -> bytes:
    """What a script puts behind the first line."""
    rest = record.model_dump()
    view = {name: rest.pop(name) for name in ViewRecord.model_fields}
    return encoded({"v": PACKED, "view": _packed(view), "rest": _packed(rest)})


def compaction_of(key: SessionKey, number: int, kept: bytes) -> Compaction:
    """A generation's record as its key holds it. Raises UnknownVersion and StoreFault."""
    return _read(Compaction, fields_of, key, number, kept)


def half_of(key: SessionKey, number: int, kept: bytes) -> HalfRead:
    """As much of it as a view reads; what is wrong with the rest is not noticed. Raises UnknownVersion and StoreFault."""
    return _read(HalfRead, lambda payload: {**_of_view(payload), "kept": kept}, key, number, kept)


def whole(key: SessionKey, record: ViewRecord) -> Compaction:
    """The record with its rest, read now where it was not. Raises UnknownVersion and StoreFault."""
    if isinstance(record, Compaction):
        return record
    assert isinstance(record, HalfRead)
    return compaction_of(key, record.number, record.kept)


def fields_of(payload: bytes) -> dict[str, Any]:
    """The record's fields, of whatever release. Raises ValueError, LookupError or TypeError for what is damaged."""
    fields = orjson.loads(payload) if payload.startswith(_VIEW) else loads(payload)
    return {**_unpacked(fields["view"]), **_unpacked(fields["rest"])} if fields["v"] == PACKED else {**fields}


def _of_view(payload: bytes) -> dict[str, Any]:
    """At least those of a view. Raises as `fields_of` does."""
    if payload.startswith(_VIEW):  # base64 has no quotes
        return _unpacked(payload[len(_VIEW) : payload.index(b'"', len(_VIEW))])
    fields = loads(payload)
    return _unpacked(fields["view"]) if fields["v"] == PACKED else {**fields}


def _read(
    kind: type[Read], fields_in: Callable[[bytes], dict[str, Any]], key: SessionKey, number: int, kept: bytes
) -> Read:
    header, _, payload = kept.partition(b"\n")
    with readable(f"generation {number} of session {key.session!r}", OTHER_GENERATION):
        fields = {**fields_in(payload), **loads(header)}
        version = fields["v"]
    if version != VERSION:
        raise UnknownVersion(
            f"generation {number} has version {version}, this release reads {VERSION}: upgrade offturn"
        )
    try:
        return kind.model_validate(fields)
    except ValidationError:  # its text quotes the record
        raise UnknownVersion(f"generation {number} is none that this release can read: upgrade offturn") from None


def _packed(fields: dict[str, Any]) -> str:
    return b64encode(zlib.compress(encoded(fields))).decode()


def _unpacked(text: str | bytes) -> dict[str, Any]:
    try:
        return {**loads(zlib.decompress(b64decode(text, validate=True)))}
    except zlib.error:
        raise ValueError("damaged") from None
