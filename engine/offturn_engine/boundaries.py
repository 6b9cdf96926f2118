"""Where head, middle and tail part: legal cut points first, budgets second.

A cut before index i is legal when every invariant allows it (`invariants.legal_cut_points`). The tail is walked back
from the end in whole units; the last unanswered human message stays in it when it can, else it is replayed right after
the summary. The head is the system messages before all else. System messages further on stay visible as well, the
newest first, as far as their own budget goes: a host that adds one at every turn must not fill the window with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message
from offturn_engine.ranges import Ranges, contains, ranges_of
from offturn_engine.turns import last_unanswered


@dataclass(frozen=True, slots=True)
class Split:
    """`cover`: seqs that would be newly covered; `tail`: index where the tail starts; `replay`: see Compaction."""

    cover: Ranges
    tail: int
    replay: int | None


def split(path: Sequence[Message], covered: Ranges, *, tail: int, turn: int, system: int) -> Split:
    """Cover all but the tail: at most `tail` tokens in whole units, more (up to `turn`) to hold the current turn."""
    legal = legal_cut_points(path)
    start = _walk_back(path, legal, tail)
    asked = last_unanswered(path)
    if asked is not None and asked < start and sum(m.tokens for m in path[asked:]) <= turn:
        start = max(i for i in legal if i <= asked)
    return at(path, covered, start, system=system)


def at(path: Sequence[Message], covered: Ranges, start: int, *, system: int) -> Split:
    """The split whose tail starts at this legal cut point; `system`: see the module."""
    asked = last_unanswered(path)
    replay = path[asked].seq if asked is not None and asked < start else None
    kept = _system(path[:start], system)
    cover = ranges_of(m.seq for i, m in enumerate(path[:start]) if i not in kept and not contains(covered, m.seq))
    return Split(cover, start, replay)


def least_tail(path: Sequence[Message]) -> int:
    """Tokens of the smallest tail: the last unit, and the request that waits for its answer."""
    start = legal_cut_points(path)[-1]
    asked = last_unanswered(path)
    replayed = path[asked].tokens if asked is not None and asked < start else 0
    return replayed + sum(m.tokens for m in path[start:])


def _system(path: Sequence[Message], budget: int) -> set[int]:
    """Indices of the system messages that stay visible."""
    head = next((i for i, m in enumerate(path) if m.origin != "system"), len(path))
    kept = set(range(head))
    for i in range(len(path) - 1, head - 1, -1):
        if path[i].origin == "system":
            budget -= path[i].tokens
            if budget < 0:
                break
            kept.add(i)
    return kept


def _walk_back(path: Sequence[Message], legal: Sequence[int], budget: int) -> int:
    """The earliest legal cut whose tail fits the budget; the last unit stays whatever its size."""
    start, size, end = legal[-1], 0, len(path)
    for i in reversed(legal):
        size += sum(m.tokens for m in path[i:end])
        end = i
        if size > budget and i != start:
            break
        start = i
    return start
