"""Where head, middle and tail part: legal cut points first, budgets second.

A cut before index i is legal when every invariant allows it (`invariants.legal_cut_points`). The tail is walked back
from the end in whole units; the last unanswered human message stays in it when it can, else it is replayed right after
the summary. The head is the system messages before all else, and as many messages after them, in whole units, as the
policy keeps. Pinned messages stay, with their groups. System messages further on stay visible as well, the
newest first, as far as their own budget goes: a host that adds one at every turn must not fill the window with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.groups import spans
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message
from offturn_engine.pins import held
from offturn_engine.ranges import Ranges, contains, minus, ranges_of, union
from offturn_engine.turns import last_unanswered


@dataclass(frozen=True, slots=True)
class Split:
    """`cover`: seqs that would be newly covered; `tail`: index where the tail starts."""

    cover: Ranges
    tail: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of a path stays visible. Sizes are in estimate units.

    tail: newest tokens, in whole units; `overrun` times as much where a unit needs it. edge: does the tool group in which
    that size is reached stay too? always: where all would fit with the overrun, the tail starts where its plain size is
    exceeded, and one unit at least is covered. messages: newest ones that stay whatever their size. turns: the tail goes
    back at most so many. turn: the current turn stays up to this size.
    system: room for system messages behind the head. head: messages after the system prompt.
    human: room for human messages that stay, newest first.
    """

    tail: int
    turn: int
    system: int
    head: int = 0
    human: int = 0
    overrun: float = 1.0
    edge: bool = False
    always: bool = False
    messages: int = 0
    turns: int | None = None


def split(path: Sequence[Message], covered: Ranges, shape: Shape) -> Split:
    """Cover all but head and tail."""
    legal = legal_cut_points(path)
    start = _tail_start(path, covered, legal, shape)
    asked = last_unanswered(path)
    if asked is not None and asked < start and sum(m.tokens for m in path[asked:]) <= shape.turn:
        start = max(i for i in legal if i <= asked)
    return at(path, covered, start, system=shape.system, head=shape.head, human=shape.human)


def at(path: Sequence[Message], covered: Ranges, start: int, *, system: int, head: int = 0, human: int = 0) -> Split:
    """The split whose tail starts at this legal cut point; `system`, `head`, `human`: see Shape."""
    before = path[:start]
    kept = _system(before, system) | _head(before, head) | _human(before, human) | held(before)
    cover = ranges_of(m.seq for i, m in enumerate(path[:start]) if i not in kept and not contains(covered, m.seq))
    return Split(cover, start)


def including(parts: Split, path: Sequence[Message], covered: Ranges, more: Ranges) -> Split:
    """The split that covers `more` as well, of what `covered` does not hold already; its tail starts behind all that."""
    both = union(parts.cover, more)
    tail = max((i + 1 for i, m in enumerate(path) if contains(both, m.seq)), default=0)
    return Split(minus(both, covered), max(parts.tail, tail))


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


def _tail_start(path: Sequence[Message], covered: Ranges, legal: Sequence[int], shape: Shape) -> int:
    """Where the tail starts by its size, its turns and its messages."""
    newest = max(0, len(path) - shape.messages)
    first = _first_to_cover(path, covered, shape) if shape.always else -1
    start = _walk_back(path, legal, int(shape.tail * shape.overrun))
    if shape.turns is not None:
        start = max(start, _turn_start(path, legal, shape.turns))
    start = min(start, newest)
    if start <= first:
        start = min(_exceeding(path, shape.tail), newest)
    if start <= first:
        start = max(newest, first + 1)
    start = _aligned(path, legal, start, edge=shape.edge)
    return start if start > first else next((i for i in legal if i > first), start)


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


def _exceeding(path: Sequence[Message], budget: int) -> int:
    """Where the fewest newest messages that exceed the budget start; 0 where all of them do not."""
    size = 0
    for i in range(len(path) - 1, -1, -1):
        size += path[i].tokens
        if size > budget:
            return i
    return 0


def _aligned(path: Sequence[Message], legal: Sequence[int], start: int, *, edge: bool) -> int:
    """The nearest legal cut at or before `start`; with `edge` not right behind a tool group: that is then inside."""
    found = max((i for i in legal if i <= start), default=0)
    if not edge or found < start or not found:
        return found
    before = max(i for i in legal if i < found)
    return before if any(m.calls for m in path[before:found]) else found


def _first_to_cover(path: Sequence[Message], covered: Ranges, shape: Shape) -> int:
    """Index of the first message behind the head that is not covered yet; the end where there is none."""
    kept = (
        held(path)
        | _head(path, shape.head)
        | {i for i, m in enumerate(path) if m.origin == "system" or contains(covered, m.seq)}
    )
    return next((i for i in range(len(path)) if i not in kept), len(path))


def _human(path: Sequence[Message], budget: int) -> set[int]:
    """Indices of the newest human messages that fit, each whole."""
    kept: set[int] = set()
    for i in range(len(path) - 1, -1, -1):
        if path[i].origin == "human":
            budget -= path[i].tokens
            if budget < 0:
                break
            kept.add(i)
    return kept


def _head(path: Sequence[Message], count: int) -> set[int]:
    """Indices of the first messages after the system prompt, up to the end of the unit the last of them is in."""
    first = next((i for i, m in enumerate(path) if m.origin != "system"), len(path))
    last = min(first + count, len(path))
    end = next((high for low, high in spans(path) if low < last <= high), last) if count else first
    return set(range(first, end))


def _turn_start(path: Sequence[Message], legal: Sequence[int], turns: int) -> int:
    """The cut before the newest `turns` turns; the last unit stays in any case."""
    starts = [i for i, m in enumerate(path) if m.origin == "human"]
    first = starts[-turns] if 0 < turns <= len(starts) else (0 if turns else len(path))
    return max((i for i in legal if i <= first), default=0) if first < len(path) else legal[-1]
