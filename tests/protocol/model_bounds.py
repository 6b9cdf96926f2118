"""The model of what ends a session by itself, and of what the server loses. See model.py."""

from __future__ import annotations

from offturn.store.replies import Gone, Idle, Mended, MendReply
from tests.protocol.changes import ask, turn
from tests.protocol.facts import State, gen, gone, there


def mend(s: State, *, incarnation: int, nonce: str) -> tuple[State, MendReply]:
    if gone(s, incarnation):
        return s, Gone()
    lost = [g.number for g in s.gens if not g.there]
    ring = False
    if lost:
        gens = tuple(g._replace(replaces=nearest(s, g.replaces)) for g in s.gens if g.there)
        s = s._replace(gens=gens, current=nearest(s, s.current), adopted=nearest(s, s.adopted), epoch=nonce, tried=0)
        s, ring = ask(turn(s, nonce))
    return s, Mended(lost=len(lost), current=s.current, adopted=s.adopted, ring=ring, request_no=s.request_no)


def nearest(s: State, number: int) -> int:
    while (g := gen(s, number)) and not there(s, number):
        number = g.replaces
    return number


def unlist(s: State) -> tuple[State, Idle]:
    return (s if s.alive else s._replace(due=False, parked=False)), Idle()


# -- what the world does


def lapse(s: State) -> State:
    """The TTL is over: only the number of the life stays, and what is in the shard's lists."""
    return State(incarnation=s.incarnation, due=s.due, parked=s.parked, allowed=s.allowed)


def evict(s: State, number: int) -> State:
    return s._replace(gens=tuple(g._replace(there=False) if g.number == number else g for g in s.gens))
