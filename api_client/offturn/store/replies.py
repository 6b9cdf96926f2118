"""What the store's operations answer: values, not exceptions. What reads answer is offered here too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from offturn.store.entries import LogEntry as LogEntry
from offturn.store.entries import NewEntry as NewEntry
from offturn.store.state import Event as Event
from offturn.store.state import GenInfo as GenInfo
from offturn.store.state import Meta as Meta
from offturn.store.state import Revision, ranges_of, revision_of
from offturn.store.state import Snapshot as Snapshot
from offturn_engine.compaction import PhaseEnd
from offturn_engine.ranges import Ranges
from offturn_engine.triggers import Requirement

_READ: Mapping[str, Callable[[Any], Any]] = {
    "revision": revision_of,
    "path": ranges_of,
    "seqs": lambda seqs: tuple(seqs or ()),
    "phases": lambda phases: tuple(PhaseEnd(seq=one["seq"], note=one["note"]) for one in phases or ()),
}
"""Fields that are not what JSON makes of them; an empty list comes as an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Base of all replies."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """A script's reply."""
        return cls(**{name: _READ[name](value) if name in _READ else value for name, value in fields.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Reply):
    """The caller's incarnation is not the live one. Nothing was written."""


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class Recorded(Reply):
    """Appended, once. `seqs` are the places of the entries given, in their order, also of those whose id was known.

    What was appended is `first_seq` to `last_seq`, the newest of the log; nothing, if `first_seq > last_seq`.
    `requirement` is the level of `pressure`; `due`: a job is asked for; `ring`: by this very call, ring the doorbell.
    `unattended`: due for a while, and no worker was there at this moment; never in the answer to a repeated call.
    `blocked`: the too-dense breaker's sentence, "" while it is closed. `at`: ms of Redis TIME; 0: not told.
    """

    incarnation: int
    first_seq: int
    last_seq: int
    seqs: tuple[int, ...]
    length: int
    chain: str
    path: Ranges
    path_tokens: int
    pressure: int
    requirement: Requirement
    due: bool
    ring: bool
    request_no: int
    current: int
    adopted: int
    revision: Revision
    epoch: str
    unattended: bool = False
    blocked: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindLog(Reply):
    """The acknowledged tail is not in the log, which has this length and chain hash (a failover lost writes)."""

    length: int
    chain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Torn(Reply):
    """The server has lost a part of the log: it holds so many messages of its length. Nothing was written."""

    held: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateId(Reply):
    """The host id of entry `index` is taken by another message. Nothing was written."""

    index: int
    host_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanResult(Reply):
    """Entry `index` answers a call that is not open. Nothing was written."""

    index: int
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexpected(Reply):
    """The log has this length, not the expected one. Nothing was written."""

    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overfull(Reply):
    """The log holds `bytes` of its `quota`; `more` do not fit. Nothing was written.

    of: whose: the session's, or `tenant-bytes`, those of all logs of the tenant, or `tenant-sessions`, which are no bytes.
    """

    bytes: int
    more: int
    quota: int
    of: Literal["session", "tenant-bytes", "tenant-sessions"] = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested(Reply):
    """A compaction is asked for under this number; not `ring`: the too-dense breaker has answered it already."""

    request_no: int
    ring: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Reply):
    """A worker's hold on a session: fence and token together. `focus` and `note` are the open request's, if there is one.
    `phases`: ends of phases that no generation tells of, oldest first, each at the last seq that the log had then.

    `waited_ms`: since it was due, or since the lease of the worker before ended; `died`: that one did not release it.
    """

    incarnation: int
    epoch: str
    fence: int
    token: str
    request_no: int
    attempts: int  # claims since a job ended well, this one included
    failures: int  # failures of providers since then; those jobs' attempts were given back
    redactions: int  # of the session, when it was claimed: a chunk that was planned before a later one is not kept
    reason: str
    focus: str = field(repr=False)
    note: str = field(repr=False)
    phases: tuple[PhaseEnd, ...] = field(repr=False, default=())
    waited_ms: int = 0
    died: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Reply):
    """No session, or nothing is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(Reply):
    """Another worker holds it; the session is looked at again when that lease ends."""

    remaining_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked(Reply):
    """Too many claims without a finish: out of the due set until somebody requests a compaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(Reply):
    """Compactions in a row made no room: nothing is done until somebody lifts the breaker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited(Reply):
    """As many automatic compactions as an hour may have, or too soon after the last one: due again when that is over."""

    remaining_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Reply):
    """The lease is extended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(Reply):
    """The lease is somebody else's, or was released, or the epoch of its job is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Reply):
    """The chunk is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated(Reply):
    """Something was redacted since the chunk was planned, and it may quote that. Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Reply):
    """A generation is current; a host's is also in force."""

    number: int
    revision: Revision
    adopted: int


Why = Literal["epoch", "fence", "chain", "base", "fuller", "target", "nothing", "path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Reply):
    """A condition failed and nothing was written.

    `epoch`: rollback or another new path since; `fence`: not the lease's holder, or no claim and not provisional;
    `chain`: made from another log; `base`: another result won; `fuller`: the current generation covers more;
    `target`: rollback to a generation that is not kept or covers messages off the path; `nothing`: the new path is the
    old one; `path`: it names messages that the log does not have.
    """

    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Reply):
    """The lease is released. `due`: work is still wanted; `ring`: under a newer request number."""

    due: bool
    ring: bool
    request_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted(Reply):
    """The current generation is in force."""

    revision: Revision
    adopted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale(Reply):
    """The log has grown: look again whether a group is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended(Reply):
    """So many generations were forgotten because their records are gone; `current` and `adopted` are there, or 0.

    `ring`: it became due by this very call, ring the doorbell.
    """

    lost: int
    current: int
    adopted: int
    ring: bool
    request_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack(Reply):
    """The target is current and in force, under a new epoch."""

    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Reply):
    """Another path is in place, under a new epoch; `adopted` is in force. `length` and `chain` are the log's. `at`: as in Recorded."""

    revision: Revision
    current: int
    adopted: int
    length: int
    chain: str
    path: Ranges
    path_tokens: int
    ring: bool
    request_no: int
    at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMoved(Reply):
    """The log, the path or its generations are not the ones that were read. Nothing was written: read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered(Reply):
    """What was told to the session holds. `ring`: it became due by this very call, ring the doorbell."""

    ring: bool
    request_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged(Reply):
    """This life of the session has ended, by this call or before. `replicas` of the server, -1: it may not be asked."""

    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted(Reply):
    """The messages are tombstones, under a new epoch, and every generation that may quote them is gone.

    `replicas` of the server, -1: it may not be asked.
    """

    current: int
    adopted: int
    revision: Revision
    ring: bool
    request_no: int
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StillPacked(Reply):
    """A message before `base` is packed: take packs apart first. Nothing was written."""

    base: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Reply):
    """What is before `base` is packed; the newest pack, with its chain hashes, holds `bytes` in `stored` bytes."""

    base: int
    bytes: int
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked(Reply):
    """What is before `base` is packed."""

    base: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirming(Reply):
    """A write was made that changes nothing."""


RecordReply: TypeAlias = (
    Recorded | Gone | PathMoved | BehindLog | Torn | DuplicateId | OrphanResult | Unexpected | Overfull
)
ClaimReply: TypeAlias = Claim | Idle | Busy | Limited | Parked | Blocked
CommitReply: TypeAlias = Committed | Refused | Gone
FinishReply: TypeAlias = Finished | Refused | Gone
AdoptReply: TypeAlias = Adopted | Stale | Gone
MendReply: TypeAlias = Mended | Gone
RollbackReply: TypeAlias = RolledBack | Refused | Gone
UndoReply: TypeAlias = Undone | PathMoved | Overfull | Refused | Gone
SteerReply: TypeAlias = Steered | Gone
ConfigureReply: TypeAlias = Steered | PathMoved | Gone
PurgeReply: TypeAlias = Purged | Gone
RedactReply: TypeAlias = Redacted | PathMoved | StillPacked | Gone
PackReply: TypeAlias = Packed | PathMoved | Torn | Gone
UnpackReply: TypeAlias = Unpacked | PathMoved | Torn | Gone
