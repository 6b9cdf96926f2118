"""A list that differs from the session: which of its messages are the session's, and which path it asks for.

The rule, for a list that `match` does not recognise:

1. Each message of the list that is one of the session's keeps its seq, as far as their order allows: those at the start
   that are the session's one by one, then those at the end, then what is found between, in order. A host's id decides
   before content: the same id with other content is another message, in the place of the old one.
2. All other messages of the list are new.
3. The new path is the list: the session's messages in the list's order, the new ones where the list has them. A summary
   of ours in the list stands for what it covers.
4. What the list lacks leaves the path, but for what a host cannot mean to delete: with ids, messages older than the
   first one it still has (it trims its list), and messages without an id between those it has; with `partial`, all that
   is older than the list's first message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offturn_engine.match import Form, Shape
from offturn_engine.ranges import Ranges, contains

SURE = 2  # messages in a row that are no chance: "yes" and "ok" come often


@dataclass(frozen=True, slots=True)
class Step:
    """One message of the new path. `seq` None: it is new; `place` in the list, None: the list does not show it."""

    seq: int | None
    place: int | None


@dataclass(frozen=True, slots=True)
class Realigned:
    """The path a list asks for. `left`: seqs that leave it; `differs`: place of the first message not at its place.

    `known`: how many messages of the list are the session's; `inside`: the list starts in the middle of the session and
    differs nowhere else, so that it may be the newest part of a longer list.
    """

    order: tuple[Step, ...]
    left: frozenset[int]
    differs: int
    known: int
    inside: bool

    @property
    def new(self) -> list[int]:
        """Places of the list's new messages."""
        return [step.place for step in self.order if step.seq is None and step.place is not None]


def realign(
    history: Sequence[Form],
    ids: Sequence[str | None],
    shape: Shape,
    path: Sequence[int],
    names: Mapping[int, str],
    covered: Ranges,
    *,
    partial: bool,
) -> Realigned:
    """One shape's answer. `path`: seqs in order; `names`: their host ids; `covered`: what the shape's summary stands for."""
    return _Realign(history, ids, shape, names, partial).run(path, covered)


class _Realign:
    def __init__(
        self,
        history: Sequence[Form],
        ids: Sequence[str | None],
        shape: Shape,
        names: Mapping[int, str],
        partial: bool,
    ) -> None:
        self.history, self.ids, self.items = history, ids, shape.items
        self.of_item = [names.get(item.seq) for item in self.items]
        self.places = {name: j for j, name in enumerate(self.of_item) if name is not None}
        self.named = {name for name in ids if name is not None}
        self.by_ids = not self.named.isdisjoint(self.places)
        self.partial = partial
        self.live = [i for i, form in enumerate(history) if not form.is_synthetic]
        self.found: dict[int, int] = {}  # place in the list: index in the shape

    def run(self, path: Sequence[int], covered: Ranges) -> Realigned:
        front = self._front()
        low, high = self._prefix(front), len(self.items)
        at, end = low - front, len(self.live)
        while end > at and high > low and self._same(self.live[end - 1], high - 1):
            end, high = end - 1, high - 1
            self.found[self.live[end]] = high
        self._between(self.live[at:end], low, high)
        order = self._order(front, path, covered)
        stay = {step.seq for step in order}
        left = frozenset(seq for seq in path if seq not in stay)
        return Realigned(tuple(order), left, self._differs(front), len(self.found), self._inside())

    def _same(self, place: int, index: int) -> bool:
        mine, theirs, item = self.ids[place], self.of_item[index], self.items[index]
        by_id = mine is not None and mine == theirs
        is_it = item.is_in if by_id else item.surely_is  # what a redacted message said only its id can tell
        return self._may_be(mine, theirs) and is_it(self.history[place])

    def _may_be(self, mine: str | None, theirs: str | None) -> bool:
        """Do the ids allow it? Where the list has none that the session knows, they cannot tell."""
        if mine == theirs or not self.by_ids:
            return True
        return theirs not in self.named if mine is None else theirs is None and mine not in self.places

    def _front(self) -> int:
        """Index in the shape at which the list starts: what is before it stays."""
        if self.by_ids:
            return next(self.places[name] for name in self.ids if name in self.places)
        return self._start() if self.partial else 0

    def _start(self) -> int:
        """Where most of the list's first messages are the session's in a row; new ones before them replace as many."""
        where = self._where(0, len(self.items))
        for skipped, place in enumerate(self.live):
            runs = {j: self._run(skipped, j) for j in where[self.history[place].key]}
            longest = max(runs.values(), default=0)
            if longest >= SURE or (longest and not skipped and len(runs) == 1):
                return max(0, max(j for j, run in runs.items() if run == longest) - skipped)
        return len(self.items)

    def _run(self, at: int, index: int) -> int:
        length = 0
        while (
            at + length < len(self.live)
            and index + length < len(self.items)
            and self._same(self.live[at + length], index + length)
        ):
            length += 1
        return length

    def _prefix(self, front: int) -> int:
        """Index in the shape after the messages that are the list's first ones."""
        length = self._run(0, front)
        self.found |= {self.live[n]: front + n for n in range(length)}
        return front + length

    def _between(self, places: Sequence[int], low: int, high: int) -> None:
        """Most of what is left, in order: each message is paired with its like, counted from the end."""
        waiting = self._where(low, high)
        used: set[int] = set()
        pairs: list[tuple[int, int]] = []
        for place in reversed(places):
            name = self.ids[place]
            if name is not None and name in self.places:
                candidates = [self.places[name]]
            else:
                redacted = waiting.get(self.history[place].left, ())
                candidates = waiting[self.history[place].key] or [*redacted]
            while candidates:
                index = candidates.pop()
                if index not in used and low <= index < high and self._same(place, index):
                    used.add(index)
                    pairs.append((place, index))
                    break
        self.found |= _ascending(pairs[::-1])

    def _where(self, low: int, high: int) -> dict[str, list[int]]:
        """By content: indices in the shape, ascending."""
        found: dict[str, list[int]] = defaultdict(list)
        for index in range(low, high):
            for key in {form.key for form in self.items[index].forms}:
                found[key].append(index)
        return found

    def _order(self, front: int, path: Sequence[int], covered: Ranges) -> list[Step]:
        rank = {seq: n for n, seq in enumerate(path)}
        told = [seq for seq in path if contains(covered, seq)]
        order: list[Step] = []
        run: dict[int, int | None] = {}  # seq: place in the list
        done: set[int] = set()

        def keep(index: int, place: int | None = None) -> None:
            seq = self.items[index].seq
            run.update(dict.fromkeys(told) if seq < 0 else {seq: place})

        def flush() -> None:
            order.extend(Step(seq, run[seq]) for seq in sorted(run.keys() - done, key=rank.__getitem__))
            done.update(run)
            run.clear()

        for index in range(front):
            if self.of_item[index] not in self.named:
                keep(index)
        at, sure = front, self.by_ids  # up to where in the shape the list is known to have come; is it at that place?
        for place in self.live:
            name = self.ids[place]
            index = self.found.get(place, -1 if name is None else self.places.get(name, -1))
            if index >= at:
                for between in range(at, index if sure else 0):
                    if (self.of_item[between] is None or self.partial) and self.items[between].seq >= 0:
                        keep(between)
                at = index + 1
            sure = self.by_ids and index >= 0
            if place in self.found:
                keep(index, place)
            else:
                flush()
                order.append(Step(None, place))
        flush()
        return order

    def _differs(self, front: int) -> int:
        expected = enumerate(self.live, front)
        return next((place for index, place in expected if self.found.get(place) != index), len(self.history))

    def _inside(self) -> bool:
        first = self.found.get(self.live[0], 0) if self.live else 0
        if self.by_ids or self.partial or not first:
            return False
        length = self._run(0, first)
        return length >= SURE and (length == len(self.live) or first + length == len(self.items))


def _ascending(pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Of pairs in the order of the first, the most whose second ascend too."""
    ends: list[int] = []  # the smallest last second of a row of each length
    at: list[int] = []  # which pair that is
    before: list[int] = []
    for n, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        at[length : length + 1] = [n]
    found: dict[int, int] = {}
    n = at[-1] if at else -1
    while n >= 0:
        found[pairs[n][0]] = pairs[n][1]
        n = before[n]
    return found
