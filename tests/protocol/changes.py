"""State changes that several operations of the model share."""

from __future__ import annotations

from collections.abc import Sequence

from offturn.store.entries import NewEntry, data_of
from offturn.store.replies import Overfull, Reply
from offturn_engine.ranges import Ranges
from tests.protocol.facts import (
    Item,
    State,
    log_bytes,
    path_tokens,
    wanted,
)

OPS_KEPT = 128
GENERATIONS_KEPT = 16


# -- small steps


def item_of(chain: str, entry: NewEntry) -> Item:
    """An entry as the log holds it: hash, time and envelope, a space between them."""
    return Item(chain, entry.digest, entry.tokens, entry.host_id, 40 + 1 + 13 + 1 + len(data_of(entry.envelope)))


def full(s: State, log: Sequence[Item]) -> Overfull | None:
    """The refusal of what would make the log this one."""
    now = log_bytes(s)
    more = sum(item.size for item in log) - now
    return Overfull(bytes=now, more=more, quota=s.quota) if s.quota and more and now + more > s.quota else None


def turn(s: State, nonce: str) -> State:
    return s._replace(revision=(s.revision[0] + 1, nonce))


def ask(s: State) -> tuple[State, bool]:
    if s.due or not wanted(s):
        return s, False
    return s._replace(due=True, request_no=s.request_no + 1), True


def remember(s: State, op: str, reply: Reply) -> State:
    return s._replace(ops=(*s.ops, (op, reply))[-OPS_KEPT:])


def hold(s: State) -> State:
    return s._replace(held=path_tokens(s) + s.thresholds[2])


def grown(path: Ranges, low: int, high: int) -> Ranges:
    if low == high:
        return path
    if path and path[-1][1] == low:
        return (*path[:-1], (path[-1][0], high))
    return (*path, (low, high))
