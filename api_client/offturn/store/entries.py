"""Log entries: what a host sends and what the log holds.

An item of the log is `<chain hash, 40 hex> <ms> <envelope>`; the envelope is JSON, `{"v", "m", "o", "id", "k"}`: version,
raw message, origin, the host's id, tokens; and `x` where the message was redacted. Version 2 leaves out the origin that a
message's role tells, and an id that there is none of; version 1 has both always. No script reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from offturn.copying import made
from offturn.store.errors import UnknownVersion
from offturn_engine.chain import digest
from offturn_engine.messages import Origin, RawMessage

VERSION = 2
READABLE = (1, 2)
TOLD: Mapping[str, Origin] = {
    "user": "human",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "system": "system",
}
"""The origin that goes without saying, by the role in a raw message. It is part of version 2: never changed."""

_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def dumps(value: object) -> bytes:
    """Compact JSON; lone surrogates, which providers' JSON may hold, survive."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def encoded(value: object) -> bytes:
    """What `dumps` makes of a value of JSON, or another text of the same value (floats), in a tenth of the time."""
    try:
        return orjson.dumps(value, option=_PLAIN)
    except TypeError:  # integers above 64 bits, lone surrogates
        return dumps(value)


def text_of(data: bytes) -> str:
    """The inverse of the encoding `dumps` uses."""
    return data.decode("utf-8", "surrogatepass")


def data_of(text: str) -> bytes:
    """The inverse of `text_of`."""
    return text.encode("utf-8", "surrogatepass")


def loads(data: bytes) -> Any:
    """The value of `dumps`, as the standard library reads it, in a third of the time where that is the same."""
    if _LONG not in data.translate(_DIGITS):
        with suppress(orjson.JSONDecodeError):  # lone surrogates, which providers' JSON may hold, or no JSON at all
            return orjson.loads(data)
    return json.loads(text_of(data))


_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_LONG = b"0" * 19
"""So many digits in a row may be an integer that does not fit into 64 bits, of which orjson makes a float."""


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class NewEntry:
    """One message to append. `calls` and `results` are the tool call ids it opens and answers, in order of occurrence."""

    envelope: bytes = field(repr=False)
    digest: str  # 64 hex, offturn_engine.chain.digest
    tokens: int  # estimate, uncalibrated
    host_id: str | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        raw: RawMessage,
        *,
        origin: Origin,
        tokens: int,
        host_id: str | None = None,
        calls: Sequence[str] = (),
        results: Sequence[str] = (),
    ) -> NewEntry:
        """The entry of a raw message."""
        return made(
            cls,
            envelope=encoded(_envelope(raw, origin, tokens, host_id)),
            digest=digest(raw, origin, host_id),
            tokens=tokens,
            host_id=host_id,
            calls=tuple(calls),
            results=tuple(results),
        )


def _envelope(raw: RawMessage, origin: Origin, tokens: int, host_id: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"v": VERSION, "m": raw, "k": tokens}
    if origin != _told(raw):
        fields["o"] = origin
    if host_id is not None:
        fields["id"] = host_id
    return fields


def _told(raw: RawMessage) -> Origin | None:
    role = raw.get("role")
    return TOLD.get(role) if isinstance(role, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Why a message's content was deleted, in the host's words, and how large it was: characters of its canonical text."""

    reason: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What takes the place of a log entry; nothing of it can be used to test a guess at what stood there."""

    seq: int
    envelope: bytes = field(repr=False)
    host_id: str | None

    @classmethod
    def of(
        cls, seq: int, raw: RawMessage, *, origin: Origin, tokens: int, host_id: str | None, redaction: Redaction
    ) -> Tombstone:
        """The entry with this raw message left."""
        told = {"reason": redaction.reason, "size": redaction.size}
        envelope = _envelope(raw, origin, tokens, host_id) | {"x": told}
        return cls(seq=seq, envelope=encoded(envelope), host_id=host_id)


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class LogEntry:
    """One message of the log. `chain` is the chain hash after it; `at` is ms of Redis TIME."""

    seq: int
    chain: str
    at: int
    raw: RawMessage = field(repr=False)
    origin: Origin
    host_id: str | None
    tokens: int
    redacted: Redaction | None = None

    @classmethod
    def read(cls, seq: int, item: bytes) -> LogEntry:
        """An item of the log list. Raises UnknownVersion."""
        head, at, envelope = item.split(b" ", 2)
        fields = loads(envelope)
        version, left = fields["v"], fields.get("x")
        if version not in READABLE:
            raise UnknownVersion(f"log entry {seq} has version {version}, this release reads {VERSION}: upgrade it")
        raw = fields["m"]
        origin = fields["o"] if version == 1 or "o" in fields else TOLD[raw["role"]]
        return made(
            cls,
            seq=seq,
            chain=head.decode(),
            at=int(at),
            raw=raw,
            origin=origin,
            host_id=fields["id"] if version == 1 else fields.get("id"),
            tokens=fields["k"],
            redacted=Redaction(reason=left["reason"], size=left["size"]) if left else None,
        )
