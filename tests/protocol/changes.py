"""State changes that several operations of the model share."""

from __future__ import annotations

from collections.abc import Sequence

from offturn.store.entries import NewEntry
from offturn.store.replies import Overfull, Reply
from offturn_engine.ranges import Ranges
from tests.protocol.facts import (
    Item,
    State,
    log_bytes,
    path_tokens,
    pressure,
    requirement,
    wanted,
)

OPS_KEPT = 128
GENERATIONS_KEPT = 16
PHASES_KEPT = 50
STRIKES = 3
ENDS_KEPT = 6


# -- small steps


def item_of(chain: str, entry: NewEntry) -> Item:
    """An entry as the log holds it: hash, time and envelope, a space between them."""
    return Item(chain, entry.digest, entry.tokens, entry.host_id, 40 + 1 + 13 + 1 + len(entry.envelope))


def full(s: State, log: Sequence[Item]) -> Overfull | None:
    """The refusal of what would make the log this one."""
    now = log_bytes(s)
    more = sum(item.size for item in log) - now
    if s.quota and more and now + more > s.quota:
        return Overfull(bytes=now, more=more, quota=s.quota)
    if s.allowed and more and now + more > s.allowed:
        return Overfull(bytes=now, more=more, quota=s.allowed, of="tenant-bytes")
    return None


def turn(s: State, nonce: str) -> State:
    return s._replace(revision=(s.revision[0] + 1, nonce))


def ask(s: State, *, broken: bool = False) -> tuple[State, bool]:
    if (s.due and not broken) or not wanted(s):
        return s, False
    return s._replace(due=True, request_no=s.request_no + 1), True


def written(s: State, *, new: bool) -> tuple[State, bool]:
    """After a record; with new messages a silence ends, and the next one begins."""
    broken = new and (s.doze == "asleep" or (s.doze == "over" and s.due))
    s, ring = ask(s._replace(doze="") if broken else s, broken=broken)
    dozes = s.pace[2] > 0 and pressure(s) >= s.pace[3]
    if ring or not new or (s.due and not broken):
        return s._replace(quiet=s.quiet or (s.leased and new and dozes and not ring)), ring
    return s._replace(due=False, doze="asleep" if dozes else "" if broken else s.doze), ring


def remember(s: State, op: str, reply: Reply) -> State:
    ops = (*s.ops, (op, reply))
    return s._replace(ops=ops[-OPS_KEPT:] if len(ops) > 2 * OPS_KEPT else ops)


def hold(s: State) -> State:
    return s._replace(held=path_tokens(s) + s.thresholds[2])


def put_off(s: State) -> State:
    """Automatic work waits, for growth or at the hard level for the next message."""
    s = hold(s)
    return s._replace(stepped=s.held, tried=path_tokens(s))


def strike(s: State) -> State:
    """The model's sessions report no usage; what that changes in the sentence, tests/integration/test_too_dense.py holds."""
    s = s._replace(strikes=s.strikes + 1)
    if s.strikes < STRIKES:
        return s
    sentence = (
        f"This conversation cannot be made shorter: {s.strikes} compactions in a row made no room. Its messages take "
        f"about {pressure(s)} tokens, compaction starts at {s.thresholds[0]}. It goes on, but older parts may be left "
        "out of what the model sees."
    )
    return s._replace(blocked=sentence, served=s.request_no)


def judge(s: State) -> State:
    """Did the compaction before make room?"""
    if s.trial is None:
        return s
    grown_by, s = path_tokens(s) - s.trial, s._replace(trial=None)
    if requirement(s) == "hard" and grown_by < s.thresholds[2]:
        return strike(s)
    return s._replace(strikes=0)


def lift(s: State) -> State:
    return s._replace(strikes=0, trial=None, blocked="", tried=0)


def unpark(s: State) -> State:
    return s._replace(parked=False, attempts=0, failures=0, ends=())


def ended(s: State, kind: str) -> State:
    return s._replace(ends=(*s.ends, kind)[-ENDS_KEPT:])


def grown(path: Ranges, low: int, high: int) -> Ranges:
    if low == high:
        return path
    if path and path[-1][1] == low:
        return (*path[:-1], (path[-1][0], high))
    return (*path, (low, high))
