"""The model of what decides whether a job may start, and of what its end leaves behind. See model.py."""

from __future__ import annotations

from offturn.store.replies import (
    Blocked,
    Busy,
    Claim,
    ClaimReply,
    Finished,
    FinishReply,
    Gone,
    Idle,
    Limited,
    Parked,
    Refused,
    RollbackReply,
    RolledBack,
)
from offturn_engine.compaction import PhaseEnd
from offturn_engine.ranges import seqs_of
from tests.protocol.changes import ended, hold, judge, lift, remember, strike, turn, unpark
from tests.protocol.facts import (
    State,
    awake,
    covered,
    gen,
    gone,
    holds,
    path_tokens,
    pressure,
    requirement,
    stepping,
    there,
    wanted,
)
from tests.protocol.model_bounds import unlist

LATER = ("failed", "unavailable", "deferred")
FRUITLESS = ("skipped", "no-gain", "resting")


def rollback(s: State, *, op: str, incarnation: int, target: int) -> tuple[State, RollbackReply]:
    if op in dict(s.ops):
        return s, dict(s.ops)[op]  # type: ignore[return-value]  # what was stored under this op
    if gone(s, incarnation):
        return s, Gone()
    if (target and not there(s, target)) or not covered(s, target) <= set(seqs_of(s.path)):
        return s, Refused(why="target")
    s = hold(turn(s._replace(current=target, adopted=target, epoch=op), op))
    s = s._replace(stepped=s.held)
    s = lift(s._replace(served=s.request_no))
    s = awake(s._replace(due=wanted(s)))
    reply = RolledBack(revision=s.revision)
    return remember(s, op, reply), reply


def claim(
    s: State, *, token: str, lease_ms: int, max_attempts: int, worker: str = "", hourly: int | None = None
) -> tuple[State, ClaimReply]:
    if not s.alive:
        return unlist(s)
    if not s.due:
        return s, Idle()
    if s.leased:
        return s, Busy(remaining_ms=lease_ms)
    asked = s.asked > s.served
    step = not asked and stepping(s)
    own, interval, *_ = s.pace
    least = min([limit for limit in (hourly, own) if limit], default=None)
    if not asked and not step and ((least is not None and s.starts >= least) or (interval and s.starts)):
        return s, Limited(remaining_ms=0)
    died = bool(s.attempts and s.token)
    s = ended(s, "died") if died else s
    if s.attempts >= max_attempts:
        return s._replace(parked=True, due=False, served=s.request_no), Parked()
    s = judge(s)
    if s.blocked:
        return s._replace(due=False), Blocked()
    automatic = "idle" if requirement(s) == "none" and not step and s.doze == "over" else "threshold"
    s = s._replace(doze="", quiet=False, token=token, fence=s.fence + 1, leased=True, attempts=s.attempts + 1)
    s = s._replace(begun=path_tokens(s), automatic=0 if asked else 2 if step else 1)
    reply = Claim(
        incarnation=s.incarnation,
        epoch=s.epoch,
        fence=s.fence,
        token=token,
        request_no=s.request_no,
        attempts=s.attempts,
        failures=s.failures,
        redactions=s.redactions,
        reason=s.reason if asked else automatic,
        focus="",
        note=s.note if asked else "",
        phases=tuple(PhaseEnd(seq=seq, note=note) for _, seq, note in s.phases),
        died=died,
    )
    return s, reply


def finish(s: State, *, claim: Claim, outcome: str) -> tuple[State, FinishReply]:
    if gone(s, claim.incarnation):
        return s, Gone()
    if not holds(s, claim):
        return s, Refused(why="fence")
    s = s._replace(leased=False, token="")
    if outcome in FRUITLESS and claim.epoch != s.epoch:
        outcome = "superseded"
    if outcome in LATER:
        s = _tried_again(s, outcome)
        return s, Finished(due=s.due, ring=False, request_no=s.request_no)
    s = unpark(s)
    if outcome != "superseded":
        s = s._replace(served=max(s.served, claim.request_no))
        s = s._replace(stepped=s.begun + s.pace[4])
    step = s.automatic == 2
    if outcome in ("no-gain", "resting") and not step:
        again = 0 < s.tried == s.begun
        s = hold(s)._replace(tried=s.begun)
        s = strike(s) if outcome == "no-gain" and not again and pressure(s) >= s.thresholds[0] else s
    elif outcome in ("compacted", "pruned"):
        g = gen(s, s.current)
        counts = s.automatic == 1 or (step and outcome == "compacted")
        s = s._replace(trial=g.at_tokens if g else None, starts=s.starts + counts)
    s = s._replace(due=wanted(s))
    if not s.due:
        dozes = (s.quiet or s.doze == "asleep") and pressure(s) >= s.pace[3]
        s = awake(s)._replace(served=s.request_no)
        s = s._replace(doze="asleep") if dozes else s
    return s, Finished(due=s.due, ring=s.due and s.request_no > claim.request_no, request_no=s.request_no)


def _tried_again(s: State, outcome: str) -> State:
    if outcome == "failed":
        return ended(s, outcome)
    return s._replace(attempts=max(0, s.attempts - 1), failures=s.failures + (outcome == "unavailable"))
