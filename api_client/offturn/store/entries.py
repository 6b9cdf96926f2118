"""Log entries: what a host sends and what the log holds.

An item of the log is `<chain hash, 40 hex> <ms> <envelope>`; the envelope is JSON, `{"v", "m", "o", "id", "k"}`: version,
raw message, origin, the host's id, tokens; and `x` where the message was redacted. No script reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from offturn.store.errors import UnknownVersion
from offturn_engine.chain import digest
from offturn_engine.messages import Origin, RawMessage

VERSION = 1


def dumps(value: object) -> bytes:
    """Compact JSON; lone surrogates, which providers' JSON may hold, survive."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """The inverse of the encoding `dumps` uses."""
    return data.decode("utf-8", "surrogatepass")


def data_of(text: str) -> bytes:
    """The inverse of `text_of`."""
    return text.encode("utf-8", "surrogatepass")


def loads(data: bytes) -> Any:
    """The value of `dumps`."""
    return json.loads(text_of(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One message to append. `calls` and `results` are the tool call ids it opens and answers, in order of occurrence."""

    envelope: str = field(repr=False)
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
        envelope = text_of(dumps({"v": VERSION, "m": raw, "o": origin, "id": host_id, "k": tokens}))
        return cls(
            envelope=envelope,
            digest=digest(raw, origin, host_id),
            tokens=tokens,
            host_id=host_id,
            calls=tuple(calls),
            results=tuple(results),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Why a message's content was deleted, in the host's words, and how large it was: characters of its canonical text."""

    reason: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What takes the place of a log entry; nothing of it can be used to test a guess at what stood there."""

    seq: int
    envelope: str = field(repr=False)
    host_id: str | None

    @classmethod
    def of(
        cls, seq: int, raw: RawMessage, *, origin: Origin, tokens: int, host_id: str | None, redaction: Redaction
    ) -> Tombstone:
        """The entry with this raw message left."""
        told = {"reason": redaction.reason, "size": redaction.size}
        envelope = text_of(dumps({"v": VERSION, "m": raw, "o": origin, "id": host_id, "k": tokens, "x": told}))
        return cls(seq=seq, envelope=envelope, host_id=host_id)


@dataclass(frozen=True, slots=True, kw_only=True)
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
        if fields["v"] != VERSION:
            raise UnknownVersion(f"log entry {seq} has version {fields['v']}, this release reads {VERSION}: upgrade it")
        left = fields.get("x")
        return cls(
            seq=seq,
            chain=head.decode(),
            at=int(at),
            raw=fields["m"],
            origin=fields["o"],
            host_id=fields["id"],
            tokens=fields["k"],
            redacted=Redaction(reason=left["reason"], size=left["size"]) if left else None,
        )
