"""Where head, middle and tail part: legal cut points first, budgets second.

A cut before index i is legal when every invariant allows it (`invariants.legal_cut_points`). The tail is walked back
from the end in whole units; the last unanswered human message stays in it when it can, else it is replayed right after
the summary. The head is the system messages before all else, and as many messages after them, in whole units, as the
policy keeps. Pinned messages stay, with their groups. System messages further on stay visible as well, the
newest first, as far as their own budget goes: a host that adds one at every turn must not fill the window with them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from offturn_engine.groups import pair, spans
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.pins import held, pinned
from offturn_engine.ranges import Ranges, minus, ranges_of, union
from offturn_engine.turns import humans, last_unanswered


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


def split(messages: Sequence[Message], covered: Ranges, shape: Shape) -> Split:
    """Cover all but head and tail, by the sizes that the path has."""
    path = Path.of(messages)
    legal = legal_cut_points(path)
    start = _tail_start(path, covered, legal, shape)
    asked = last_unanswered(path)
    if asked is not None and asked < start and sum(path.sizes[asked:]) <= shape.turn:
        start = _at_or_before(legal, asked)
    return at(path, covered, start, system=shape.system, head=shape.head, human=shape.human)


def at(
    messages: Sequence[Message], covered: Ranges, start: int, *, system: int, head: int = 0, human: int = 0
) -> Split:
    """The split whose tail starts at this legal cut point; `system`, `head`, `human`: see Shape."""
    path = Path.of(messages)
    kept = _system(path, start, system) | _head(path, start, head) | _human(path, start, human) | _held(path, start)
    kept |= _answers(path, kept, start)
    before = minus(path.seqs(0, start), ranges_of(path[i].seq for i in kept))
    return Split(minus(before, covered), start)


def including(parts: Split, path: Sequence[Message], covered: Ranges, more: Ranges) -> Split:
    """The split that covers `more` as well, of what `covered` does not hold already; its tail starts behind all that."""
    both = union(parts.cover, more)
    places = Path.of(path).inside(both)
    return Split(minus(both, covered), max(parts.tail, places[-1][1] if places else 0))


def least_tail(path: Sequence[Message]) -> int:
    """Tokens of the smallest tail: the last unit, and the request that waits for its answer."""
    start = legal_cut_points(path)[-1]
    asked = last_unanswered(path)
    replayed = path[asked].tokens if asked is not None and asked < start else 0
    return replayed + sum(m.tokens for m in path[start:])


def _system(path: Path, end: int, budget: int) -> set[int]:
    """Indices of the system messages before `end` that stay visible."""
    systems = path.once(_systems)
    head = next((i for i, at in enumerate(systems) if i != at), len(systems))
    kept = set(range(min(head, end)))
    for i in reversed(systems[head : bisect_left(systems, end)]):
        budget -= path.sizes[i]
        if budget < 0:
            break
        kept.add(i)
    return kept


def _systems(path: Path) -> list[int]:
    return [i for i, m in enumerate(path) if m.origin == "system"]


def _tail_start(path: Path, covered: Ranges, legal: Sequence[int], shape: Shape) -> int:
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
    return start if start > first else next(iter(legal[bisect_right(legal, first) :]), start)


def _walk_back(path: Path, legal: Sequence[int], budget: int) -> int:
    """The earliest legal cut whose tail fits the budget; the last unit stays whatever its size."""
    start, size, end = legal[-1], 0, len(path)
    for i in reversed(legal):
        size += sum(path.sizes[i:end])
        end = i
        if size > budget and i != start:
            break
        start = i
    return start


def _exceeding(path: Path, budget: int) -> int:
    """Where the fewest newest messages that exceed the budget start; 0 where all of them do not."""
    size = 0
    for i in range(len(path) - 1, -1, -1):
        size += path.sizes[i]
        if size > budget:
            return i
    return 0


def _at_or_before(legal: Sequence[int], index: int) -> int:
    """The nearest legal cut; 0 where there is none."""
    return legal[found - 1] if (found := bisect_right(legal, index)) else 0


def _aligned(path: Path, legal: Sequence[int], start: int, *, edge: bool) -> int:
    """The nearest legal cut at or before `start`; with `edge` not right behind a tool group: that is then inside."""
    found = _at_or_before(legal, start)
    if not edge or found < start or not found:
        return found
    before = _at_or_before(legal, found - 1)
    return before if any(m.calls for m in path[before:found]) else found


def _first_to_cover(path: Path, covered: Ranges, shape: Shape) -> int:
    """Index of the first message behind the head that is not covered yet; the end where there is none."""
    kept = _held(path, len(path)) | _head(path, len(path), shape.head)
    left = (i for low, high in path.outside(covered) for i in range(low, high))
    return next((i for i in left if i not in kept and path[i].origin != "system"), len(path))


def _human(path: Path, end: int, budget: int) -> set[int]:
    """Indices of the newest human messages before `end` that fit, each whole."""
    kept: set[int] = set()
    said = humans(path)
    for i in reversed(said[: bisect_left(said, end)]):
        budget -= path.sizes[i]
        if budget < 0:
            break
        kept.add(i)
    return kept


def _head(path: Path, end: int, count: int) -> set[int]:
    """Indices of the first messages after the system prompt, up to the end of the unit the last of them is in."""
    first = next((i for i in range(end) if path[i].origin != "system"), end)
    last = min(first + count, end)
    reach = next((high for low, high in _units(path, end) if low < last <= high), last) if count else first
    return set(range(first, reach))


def _answers(path: Path, kept: set[int], end: int) -> set[int]:
    """Indices before `end` of the results of kept calls, however late they came: else a call stands without its result."""
    calls = [(i, part) for i in kept for part, _ in path[i].calls]
    answered = pair(path).result_of if calls else {}
    return {answered[call][0] for call in calls if call in answered and answered[call][0] < end}


def _held(path: Path, end: int) -> set[int]:
    """Indices before `end` of pinned messages and of what may not be cut from them."""
    return held(path[:end], _units(path, end)) if bisect_left(pinned(path), end) else set()


def _units(path: Path, end: int) -> Sequence[tuple[int, int]]:
    """The units of what stands before `end`: at a legal cut those of the whole path, as far as they go."""
    legal, whole = legal_cut_points(path), spans(path)
    at = bisect_left(legal, end)
    if end == len(path) or (at < len(legal) and legal[at] == end):
        return whole[: bisect_left(whole, (end,))]
    return spans(path[:end])


def _turn_start(path: Path, legal: Sequence[int], turns: int) -> int:
    """The cut before the newest `turns` turns; the last unit stays in any case."""
    starts = humans(path)
    first = starts[-turns] if 0 < turns <= len(starts) else (0 if turns else len(path))
    return _at_or_before(legal, first) if first < len(path) else legal[-1]
