"""The state of the model, and what follows from it."""

from __future__ import annotations

from typing import NamedTuple

from offturn.store.replies import Claim, Reply
from offturn_engine.ranges import Ranges, seqs_of


class Item(NamedTuple):
    chain: str
    digest: str
    tokens: int
    host_id: str | None
    size: int
    redacted: bool = False


class Gen(NamedTuple):
    number: int
    nonce: str
    epoch: str
    base: int
    replaces: int
    provisional: bool
    covered: frozenset[int]
    tokens_after: int
    at_tokens: int
    there: bool = True
    told: int = 0  # the log's length when a request's words last went into it or what it was made from


class State(NamedTuple):
    incarnation: int = 0
    alive: bool = False
    epoch: str = ""
    revision: tuple[int, str] = (0, "")
    log: tuple[Item, ...] = ()
    packs: tuple[tuple[int, int], ...] = ()  # seqs of the log that are packed together, from 0 on
    path: Ranges = ()
    gens: tuple[Gen, ...] = ()
    counter: int = 0
    current: int = 0
    adopted: int = 0
    token: str = ""
    fence: int = 0
    leased: bool = False
    due: bool = False
    request_no: int = 0
    asked: int = 0
    served: int = 0
    held: int = 0
    attempts: int = 0
    failures: int = 0
    parked: bool = False
    ends: tuple[str, ...] = ()
    strikes: int = 0
    trial: int | None = None  # the path's tokens when the last compaction was made, until it is judged
    blocked: str = ""
    automatic: int = 0  # of the last job: 1 by a trigger, 2 a step below the soft level, 0 asked for
    begun: int = 0  # the path's tokens when the last job began
    tried: int = 0  # and when one began that found nothing to gain
    starts: int = 0  # automatic compactions in the last hour
    thresholds: tuple[int, int, int] = (0, 0, 0)
    reason: str = ""
    note: str = ""
    phases: tuple[tuple[int, int, str], ...] = ()  # request, last seq and note of each that no generation tells of
    redactions: int = 0
    config: str = ""
    quota: int = 0
    pace: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    stepped: int = 0  # the path's tokens from which the next step is looked at
    doze: str = ""  # asleep: due when the silence has been long enough; over: it has
    quiet: bool = False  # a silence began while a job ran
    chunks: frozenset[str] = frozenset()
    ops: tuple[tuple[str, Reply], ...] = ()
    allowed: int = 0  # bytes of its tenant, which has no other session; 0: no limit
    archived: bool = False  # all of it but a stub is in the archive


def chain_at(s: State, length: int) -> str:
    return s.log[length - 1].chain if length else ""


def linked(s: State, length: int, chain: str) -> bool:
    return length <= len(s.log) and chain_at(s, length) == chain


def base_of(s: State) -> int:
    """The first seq that is not packed."""
    return s.packs[-1][1] if s.packs else 0


def ids_of(s: State) -> dict[str, int]:
    """Where each host id was recorded last."""
    return {item.host_id: seq for seq, item in enumerate(s.log) if item.host_id is not None}


def path_tokens(s: State) -> int:
    return sum(s.log[seq].tokens for seq in seqs_of(s.path))


def log_bytes(s: State) -> int:
    return sum(item.size for item in s.log)


def gen(s: State, number: int) -> Gen | None:
    return next((g for g in s.gens if g.number == number), None)


def there(s: State, number: int) -> bool:
    """Is its record there?"""
    g = gen(s, number)
    return g is not None and g.there


def covered(s: State, number: int) -> frozenset[int]:
    g = gen(s, number)
    return g.covered if g else frozenset()


def pressure(s: State) -> int:
    g = gen(s, s.current)
    return g.tokens_after + path_tokens(s) - g.at_tokens if g else path_tokens(s)


def requirement(s: State) -> str:
    soft, hard, _ = s.thresholds
    if pressure(s) >= hard:
        return "hard"
    return "soft" if pressure(s) >= soft and path_tokens(s) >= s.held else "none"


def stepping(s: State) -> bool:
    step = s.pace[4]
    return requirement(s) == "none" and step > 0 and pressure(s) >= step and path_tokens(s) >= s.stepped


def awake(s: State) -> State:
    """What is due now, or is not in the set any more, does not wait for a silence."""
    return s._replace(doze="") if s.doze == "asleep" else s


def wanted(s: State) -> bool:
    if s.asked > s.served or s.parked or s.blocked:
        return s.asked > s.served
    level = requirement(s)
    again = s.tried > 0 and s.tried == path_tokens(s)
    return level == "soft" or (level == "hard" and not again) or stepping(s)


def holds(s: State, claim: Claim) -> bool:
    return (s.fence, s.token) == (claim.fence, claim.token)


def ancestors(s: State, number: int) -> list[int]:
    found = [number]
    while g := gen(s, number):
        number = g.replaces
        found.append(number)
    return found


def reached(s: State, base: int) -> bool:
    for number in ancestors(s, s.current):
        if number == base:
            return True
        g = gen(s, number)
        if g is None or not g.provisional:
            return False
    return False


def gone(s: State, incarnation: int) -> bool:
    return not s.alive or incarnation != s.incarnation
