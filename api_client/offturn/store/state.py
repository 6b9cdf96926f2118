"""What is stored about a session, as values: meta, generations, snapshots, events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from offturn.store.entries import LogEntry, text_of
from offturn.store.errors import UnknownVersion
from offturn_engine.compaction import PhaseEnd
from offturn_engine.ranges import Ranges

READABLE = ("1", "2")
"""Of a session's state; 2: some of its log is packed. A release refuses what it does not read."""

Revision: TypeAlias = tuple[int, str]
"""Number and the writer's random id: after a failover the number alone may come twice."""


Stamp: TypeAlias = tuple[bytes | None, ...]
"""The values of `STAMPED`. As long as they are the same nothing that a host is shown has changed."""

STAMPED = (b"epoch", b"revision", b"chain", b"updated", b"calibration", b"blocked")
"""`epoch` is another one in each life and after each rewind, amend, redact, rollback and configure, `revision` after each
commit and adoption, `chain` after each message. `updated` is a time in ms: what else may change in one of those counts by
itself. A session that was purged or is in the archive has none of them."""


def stamp_of(flat: Sequence[bytes]) -> Stamp:
    """Of the meta hash as HGETALL's flat list."""
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return tuple(fields.get(name) for name in STAMPED)


def revision_of(text: str) -> Revision:
    """`"3:nonce"` as a value."""
    number, _, nonce = text.partition(":")
    return int(number), nonce


def ranges_of(value: Any) -> Ranges:
    """Ranges from the scripts' JSON, which writes an empty list as an object."""
    return tuple((low, high) for low, high in value or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class GenInfo:
    """One generation as the scripts see it. `at_tokens` are the path's tokens when it was planned, in estimates."""

    number: int
    nonce: str
    epoch: str
    base: int
    replaces: int
    provisional: bool
    method: str
    reason: str
    covered: Ranges
    tokens_after: int
    at_tokens: int
    seen: int
    at: int

    @classmethod
    def read(cls, number: int, text: str) -> GenInfo:
        """Its entry in meta."""
        fields = json.loads(text)
        return cls(
            number=number,
            covered=ranges_of(fields["covered"]),
            **{name: fields[name] for name in _GEN_FIELDS},
        )


_GEN_FIELDS = (
    "nonce",
    "epoch",
    "base",
    "replaces",
    "provisional",
    "method",
    "reason",
    "tokens_after",
    "at_tokens",
    "seen",
    "at",
)


Pace: TypeAlias = tuple[int, int, int, int, int]
"""Automatic compactions an hour, ms between two of them, ms of silence after which one starts, the smallest view for
that, and the growth after which results are pruned below the soft level, both in estimate units. 0: no limit, none."""


Bounds: TypeAlias = tuple[int, int, int]
"""TTL in ms and bytes of the log, 0: none; compactions in a row without room that open the too-dense breaker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How one job ended that counts as an attempt: `died` (its claim ran out), or the kind of its failure."""

    kind: str
    at: int
    worker: str


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class Meta:
    """A live session's state. Tokens are estimates; times are ms of Redis TIME.

    `worker`: who claimed it last.
    `blocked`: the too-dense breaker's sentence for people, "" while it is closed.
    `doze`: when the silence has been long enough, 0 where nothing waits for that.
    `ttl`: ms without a write or a host's view after which the session ends; `quota`: of `log_bytes`; 0: none.
    `too_dense`: see Bounds; 0: as many as the store's scripts say.
    `base`: messages before this seq are packed, which takes `saved` bytes less than `log_bytes`, the log as the host wrote
    it. `packable`: the log's length when a release recorded last that reads packs.
    """

    incarnation: int
    epoch: str
    revision: Revision
    path: Ranges
    path_tokens: int
    log_len: int
    chain: str
    current: int
    adopted: int
    counter: int
    generations: Mapping[int, GenInfo]
    fence: int
    token: str
    worker: str
    leased_until: int
    leased: bool
    due: bool
    request_no: int
    asked: int
    served: int
    held: int
    stepped: int
    attempts: int
    failures: int
    parked: bool
    strikes: int
    blocked: str
    ends: tuple[End, ...]
    soft: int
    hard: int
    growth: int
    redactions: int
    open_calls: Mapping[str, int] = field(repr=False)
    reason: str
    focus: str = field(repr=False)
    note: str = field(repr=False)
    phases: str = field(repr=False)
    config: str
    calibration: str | None
    ttl: int
    quota: int
    too_dense: int
    pace: Pace
    doze: int
    log_bytes: int
    base: int
    saved: int
    packable: int
    created: int
    updated: int
    unattended: bool = False  # due for a while, and no worker was there

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every host has to be told, as long as it holds."""
        return (self.blocked,) if self.blocked else ()

    @property
    def stored_bytes(self) -> int:
        """What the log takes, packs and all."""
        return self.log_bytes - self.saved

    @property
    def phase_ends(self) -> tuple[PhaseEnd, ...]:
        """Those that no generation tells of, oldest first, each at the last seq that the log had then."""
        return tuple(PhaseEnd(seq=one["seq"], note=one["note"]) for one in json.loads(self.phases or "[]"))

    @property
    def pressure(self) -> int:
        """The estimate the trigger rule compares with the thresholds; the scripts' `pressure()`."""
        return self.tokens_of(self.current)

    def tokens_of(self, generation: int) -> int:
        """Estimate of a generation's view of the path as it is now."""
        info = self.generations.get(generation)
        return self.path_tokens if info is None else info.tokens_after + self.path_tokens - info.at_tokens

    @classmethod
    def read(cls, flat: Sequence[bytes], *, due: bool, now_ms: int, unattended: bool = False) -> Meta | None:
        """The meta hash as HGETALL's flat list; None for no session or a tombstone. Raises UnknownVersion."""
        texts = [text_of(item) for item in flat]
        fields = dict(zip(texts[::2], texts[1::2], strict=True))
        if fields.get("v", "1") not in READABLE:
            raise unknown(fields["v"])
        return _meta(fields, due, now_ms, unattended) if fields.get("alive") == "1" else None


def ends_of(values: Iterable[Mapping[str, Any]]) -> tuple[End, ...]:
    """From the scripts' JSON, oldest first."""
    return tuple(End(kind=value["kind"], at=value["at"], worker=value["worker"]) for value in values)


def is_readable(stored: bytes | None) -> bool:
    """Is it a version of a session's state that this release reads? As the `v` of its hash."""
    return stored in {version.encode() for version in READABLE}


def unknown(version: str) -> UnknownVersion:
    """The error for a session another release wrote."""
    return UnknownVersion(
        f"the session has version {version}, this release reads up to {READABLE[-1]}: upgrade offturn"
    )


_NUMBERS = (
    "incarnation",
    "path_tokens",
    "log_len",
    "current",
    "adopted",
    "counter",
    "fence",
    "leased_until",
    "request_no",
    "asked",
    "served",
    "held",
    "stepped",
    "attempts",
    "failures",
    "strikes",
    "soft",
    "hard",
    "growth",
    "redactions",
    "ttl",
    "quota",
    "too_dense",
    "doze",
    "log_bytes",
    "base",
    "saved",
    "packable",
    "created",
    "updated",
)


def _meta(fields: Mapping[str, str], due: bool, now_ms: int, unattended: bool) -> Meta:
    def number(name: str) -> int:
        return int(fields.get(name, 0))

    numbers = {int(name[2:]) for name in fields if name.startswith("g:")}
    return Meta(
        epoch=fields["epoch"],
        revision=revision_of(fields["revision"]),
        path=ranges_of(json.loads(fields["path"])),
        chain=fields["chain"],
        generations={n: GenInfo.read(n, fields[f"g:{n}"]) for n in sorted(numbers)},
        token=fields.get("token", ""),
        worker=fields.get("worker", ""),
        parked=fields.get("parked") == "1",
        blocked=fields.get("blocked", ""),
        ends=ends_of(json.loads(fields.get("ends") or "[]")),
        leased=int(fields.get("leased_until", 0)) > now_ms,
        due=due and number("doze") <= now_ms,
        pace=(number("hourly"), number("interval"), number("idle_ms"), number("idle_floor"), number("step")),
        unattended=unattended,
        open_calls=json.loads(fields["open"]),
        reason=fields.get("reason", ""),
        focus=fields.get("focus", ""),
        note=fields.get("note", ""),
        phases=fields.get("phases", ""),
        config=fields["config"],
        calibration=fields.get("calibration"),
        **{name: number(name) for name in _NUMBERS},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One consistent read: the state and a page of the log.

    `meta` is None where no session lives; `next_incarnation` is the one a record names: the live one, or the one a first
    record will create. `reset`: the caller's log is not this one, or was redacted since; `entries` start at seq 0. `more`: read on from here.
    """

    meta: Meta | None
    next_incarnation: int
    entries: tuple[LogEntry, ...]
    reset: bool
    more: bool
    stamp: Stamp = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a session; `fields` are JSON values: ids, names and sizes, never content."""

    id: str
    at: int
    kind: str
    fields: Mapping[str, Any]
