"""The session protocol as pure functions over an immutable state: what each Lua script must do, and answer.

A function has the name and the arguments of the store's method and returns (state, reply). Chain hashes stand for
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offturn.store.entries import NewEntry
from offturn.store.replies import (
    Adopted,
    AdoptReply,
    BehindLog,
    Claim,
    CommitReply,
    Committed,
    DuplicateId,
    Gone,
    PathMoved,
    Recorded,
    RecordReply,
    Refused,
    Reply,
    Requested,
    Stale,
    Why,
)
from offturn.store.state import Pace
from offturn_engine.chain import link
from offturn_engine.compaction import Compaction, PhaseEnd
from offturn_engine.ranges import seqs_of
from tests.protocol.changes import (
    GENERATIONS_KEPT,
    PHASES_KEPT,
    ask,
    full,
    grown,
    item_of,
    remember,
    turn,
    unpark,
    written,
)
from tests.protocol.facts import (
    Gen,
    State,
    ancestors,
    chain_at,
    covered,
    gen,
    gone,
    holds,
    ids_of,
    linked,
    path_tokens,
    pressure,
    reached,
    requirement,
)
from tests.protocol.model_bounds import evict, lapse, mend, unlist
from tests.protocol.model_claims import claim, finish, rollback
from tests.protocol.model_moving import cancel, configure, purge, redact, unblock, undo
from tests.protocol.model_packing import pack, unpack_last

__all__ = [
    "cancel",
    "claim",
    "configure",
    "evict",
    "finish",
    "lapse",
    "mend",
    "pack",
    "purge",
    "redact",
    "rollback",
    "unblock",
    "undo",
    "unlist",
    "unpack_last",
]


# -- scripts


def record(
    s: State,
    *,
    op: str,
    incarnation: int,
    tail_length: int,
    tail_chain: str,
    entries: Sequence[NewEntry],
    thresholds: tuple[int, int, int],
    redactions: int = 0,
    config: str = "{}",
    limits: tuple[int, int, int] = (0, 0, 3),
    pace: Pace | None = None,
    phases: Sequence[PhaseEnd] = (),
    **_: Any,
) -> tuple[State, RecordReply]:
    before = s
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if incarnation != (s.incarnation if s.alive else s.incarnation + 1):
        return s, Gone()
    if s.alive and redactions != s.redactions:
        return s, PathMoved()
    if not linked(s, tail_length, tail_chain):
        return s, BehindLog(length=len(s.log), chain=chain_at(s, len(s.log)))
    log, seqs, shown = list(s.log), [], set(seqs_of(s.path))
    for index, entry in enumerate(entries):
        known = ids_of(s._replace(log=tuple(log))).get(entry.host_id or "")
        if known is not None and known in shown:
            if log[known].digest != entry.digest and not log[known].redacted:
                return s, DuplicateId(index=index, host_id=str(entry.host_id))
            seqs.append(known)
            continue
        seqs.append(len(log))
        shown.add(len(log))
        chain = link(log[-1].chain if log else "", entry.digest)
        log.append(item_of(chain, entry))
    first = len(s.log)
    if not s.alive:
        s = State(incarnation=incarnation, alive=True, epoch=op, config=config, quota=limits[1], allowed=s.allowed)
        s = s._replace(phases=tuple((0, end.seq, end.note) for end in phases)[-PHASES_KEPT:])
    if refused := full(s, log):
        return before, refused
    s = s._replace(log=tuple(log), path=grown(s.path, first, len(log)), thresholds=thresholds, pace=pace or s.pace)
    s, ring = written(s, new=len(log) > first)
    reply = Recorded(
        incarnation=incarnation,
        first_seq=first,
        last_seq=len(log) - 1,
        seqs=tuple(seqs),
        length=len(log),
        chain=chain_at(s, len(log)),
        path=s.path,
        path_tokens=path_tokens(s),
        pressure=pressure(s),
        requirement=requirement(s),  # type: ignore[arg-type]  # one of its three values
        due=s.due,
        ring=ring,
        request_no=s.request_no,
        current=s.current,
        adopted=s.adopted,
        revision=s.revision,
        epoch=s.epoch,
        blocked=s.blocked,
    )
    return remember(s, op, reply), reply


def request(s: State, *, op: str, incarnation: int, reason: str, note: str = "") -> tuple[State, Reply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]
    if gone(s, incarnation):
        return s, Gone()
    number = s.request_no + 1
    s = s._replace(request_no=number, asked=number)
    if reason == "phase":
        s = s._replace(phases=(*s.phases, (number, len(s.log) - 1, note))[-PHASES_KEPT:])
    s = s._replace(served=number) if s.blocked else unpark(s._replace(due=True, reason=reason, note=note))
    reply = Requested(request_no=number, ring=not s.blocked)
    return remember(s, op, reply), reply


def adopt(s: State, *, incarnation: int, length: int, nonce: str) -> tuple[State, AdoptReply]:
    if gone(s, incarnation):
        return s, Gone()
    if length != len(s.log):
        return s, Stale()
    if s.adopted != s.current:
        s = turn(s._replace(adopted=s.current), nonce)
    return s, Adopted(revision=s.revision, adopted=s.adopted)


def renew(s: State, *, claim: Claim, lease_ms: int) -> tuple[State, bool]:
    if gone(s, claim.incarnation) or claim.epoch != s.epoch or not holds(s, claim):
        return s, False
    return s._replace(leased=True), True


def save_chunk(s: State, *, incarnation: int, redactions: int, chunk_key: str, value: str) -> tuple[State, bool]:
    if gone(s, incarnation) or redactions != s.redactions:
        return s, False
    return s._replace(chunks=s.chunks | {chunk_key}), True


def commit(
    s: State,
    *,
    incarnation: int,
    epoch: str,
    base: int,
    chain_length: int,
    chain: str,
    compaction: Compaction,
    at_tokens: int,
    claim: Claim | None,
    op: str,
) -> tuple[State, CommitReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    covers = frozenset(seqs_of(compaction.covered))
    why = _refusal(s, epoch, base, linked(s, chain_length, chain), covers, compaction.provisional, claim)
    if why:
        return s, Refused(why=why)
    number = s.counter + 1
    sizes = compaction.tokens_after, at_tokens
    based = gen(s, base)
    words = claim and (claim.note or any(phase.note for phase in claim.phases))
    told = max(compaction.seen if words else 0, based.told if based else 0)
    new = Gen(number, op, s.epoch, base, s.current, compaction.provisional, covers, *sizes, told=told)
    s = turn(s._replace(counter=number, gens=(*s.gens, new), current=number, tried=0), op)
    if claim:
        later = tuple(phase for phase in s.phases if phase[0] > claim.request_no)
        s = s._replace(served=max(s.served, claim.request_no), phases=later)
    else:
        s = ask(s._replace(adopted=number))[0]
    reply = Committed(number=number, revision=s.revision, adopted=s.adopted)
    return remember(forget(s), op, reply), reply


def _refusal(
    s: State, epoch: str, base: int, in_log: bool, covers: frozenset[int], provisional: bool, claim: Claim | None
) -> Why | None:
    if epoch != s.epoch:
        return "epoch"
    if not holds(s, claim) if claim else not provisional:
        return "fence"
    if not in_log:
        return "chain"
    if not reached(s, base):
        return "base"
    replaced = covered(s, s.current)
    if not replaced <= covers or (provisional and s.current != base and replaced == covers):
        return "fuller"
    return None


def forget(s: State) -> State:
    """At most so many generations: first those go that are not in force nor an ancestor of it, oldest first."""
    in_force = {s.current, s.adopted}
    line = {n for start in in_force for n in ancestors(s, start)}
    order = sorted((g.number for g in s.gens), key=lambda n: (n in line, n))
    surplus = max(0, len(order) - GENERATIONS_KEPT)
    dropped = [n for n in order if n not in in_force][:surplus]
    return s._replace(gens=tuple(g for g in s.gens if g.number not in dropped))


# -- what the world does


def expire(s: State) -> State:
    return s._replace(leased=False)
