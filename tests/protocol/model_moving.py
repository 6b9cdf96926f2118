"""The model of the operations that move, steer or end a session. See model.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha1

from offturn.store.entries import NewEntry, Tombstone
from offturn.store.replies import (
    ConfigureReply,
    Gone,
    PathMoved,
    Purged,
    PurgeReply,
    Recorded,
    Redacted,
    RedactReply,
    Refused,
    Steered,
    SteerReply,
    StillPacked,
    Undone,
    UndoReply,
)
from offturn.store.state import Pace
from offturn_engine.chain import link
from offturn_engine.ranges import Ranges, seqs_of
from tests.protocol.changes import ask, full, item_of, lift, put_off, remember, turn, unpark
from tests.protocol.facts import (
    State,
    ancestors,
    awake,
    base_of,
    chain_at,
    covered,
    gen,
    gone,
    linked,
    wanted,
)
from tests.protocol.model_packing import read


def undo(
    s: State,
    *,
    op: str,
    incarnation: int,
    epoch: str,
    length: int,
    chain: str,
    counter: int,
    path: Ranges,
    path_tokens: int,
    open_calls: Mapping[str, int],
    unfit: Sequence[int] = (),
    shown_tokens: int = 0,
    shadow: bool = False,
    entries: Sequence[NewEntry] = (),
    config: str | None = None,
) -> tuple[State, UndoReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    if (epoch, length, counter) != (s.epoch, len(s.log), s.counter) or not linked(s, length, chain):
        return s, PathMoved()
    if path == s.path:
        return s, Refused(why="nothing")
    log = s.log
    for entry in entries:
        log = (*log, item_of(link(log[-1].chain if log else "", entry.digest), entry))
    if not set(seqs_of(path)) <= set(range(len(log))):
        return s, Refused(why="path")
    if refused := full(s, log):
        return s, refused
    inside = set(seqs_of(path))

    def holding(number: int) -> int:
        return next((n for n in ancestors(s, number) if gen(s, n) and n not in unfit and covered(s, n) <= inside), 0)

    kept = holding(s.current)
    shown = holding(s.adopted) if shadow else kept
    gens = tuple(
        g._replace(tokens_after=shown_tokens, at_tokens=path_tokens) if g.number == kept else g for g in s.gens
    )
    moved = s._replace(log=log, path=path, gens=gens, epoch=op, current=kept, adopted=shown, tried=0)
    if config is not None:
        moved = moved._replace(config=config)
    s, ring = ask(turn(moved, op))
    reply = Undone(
        revision=s.revision,
        current=kept,
        adopted=shown,
        length=len(log),
        chain=chain_at(s, len(log)),
        path=path,
        path_tokens=path_tokens,
        ring=ring,
        request_no=s.request_no,
    )
    return remember(s, op, reply), reply


def configure(
    s: State,
    *,
    op: str,
    incarnation: int,
    epoch: str,
    config: str,
    thresholds: tuple[int, int, int],
    limits: tuple[int, int, int] | None = None,
    pace: Pace | None = None,
) -> tuple[State, ConfigureReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    if epoch != s.epoch:
        return s, PathMoved()
    quota = limits[1] if limits else s.quota
    s = s._replace(config=config, thresholds=thresholds, epoch=op, quota=quota, pace=pace or s.pace, tried=0)
    return steered(s, op)


def cancel(s: State, *, op: str, incarnation: int, hold: bool = False) -> tuple[State, SteerReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    s = s._replace(served=s.request_no, epoch=op)
    if hold:
        s = put_off(s)
    s = awake(s._replace(due=wanted(s)))
    reply = Steered(ring=False, request_no=s.request_no)
    return remember(s, op, reply), reply


def unblock(s: State, *, op: str, incarnation: int) -> tuple[State, SteerReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    return steered(lift(unpark(s))._replace(held=0), op)


def steered(s: State, op: str) -> tuple[State, SteerReply]:
    s, ring = ask(s)
    reply = Steered(ring=ring, request_no=s.request_no)
    return remember(s, op, reply), reply


def purge(s: State, *, incarnation: int) -> tuple[State, PurgeReply]:
    if incarnation != s.incarnation:
        return s, Gone()
    return State(incarnation=s.incarnation, allowed=s.allowed), Purged(replicas=0)


def redact(
    s: State,
    *,
    op: str,
    incarnation: int,
    epoch: str,
    length: int,
    chain: str,
    counter: int,
    tombstones: Sequence[Tombstone],
    quoting: Sequence[int],
    tokens: int,
    reason: str,
    salt: str,
) -> tuple[State, RedactReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    if (epoch, counter) != (s.epoch, s.counter) or not linked(s, length, chain):
        return s, PathMoved()
    if not tombstones:
        return s, _redacted(s, ring=False)
    seqs = {one.seq for one in tombstones}
    first = min(seqs)
    if first < base_of(s):
        return s, StillPacked(base=base_of(s))
    dropped = {g.number for g in s.gens if g.number in quoting or g.covered & seqs or g.told > first}
    current = next((n for n in ancestors(s, s.current) if gen(s, n) and n not in dropped), 0)
    log = [item._replace(chain=rehashed(salt, item.chain)) if seq >= first else item for seq, item in enumerate(s.log)]
    for one in tombstones:
        log[one.seq] = read(b"%s %013d %s" % (log[one.seq].chain.encode(), 0, one.envelope))
    ops = tuple(
        (name, replace(told, chain=rehashed(salt, told.chain)))
        if isinstance(told, Recorded | Undone) and told.length > first
        else (name, told)
        for name, told in s.ops
    )
    s = s._replace(
        log=tuple(log),
        gens=tuple(g for g in s.gens if g.number not in dropped),
        chunks=frozenset(),
        ops=ops,
        held=max(0, s.held - tokens),
        trial=None,
        tried=0,
        note="",
        phases=tuple((request, seq, "") for request, seq, _ in s.phases),
        current=current,
        adopted=current if s.adopted in dropped else s.adopted,
        redactions=s.redactions + 1,
        epoch=op,
    )
    s, ring = ask(turn(s, op))
    reply = _redacted(s, ring=ring)
    return remember(s, op, reply), reply


def rehashed(salt: str, chain: str) -> str:
    return sha1((salt + chain).encode(), usedforsecurity=False).hexdigest()


def _redacted(s: State, *, ring: bool) -> Redacted:
    return Redacted(
        current=s.current, adopted=s.adopted, revision=s.revision, ring=ring, request_no=s.request_no, replicas=0
    )
