"""A path: the messages a session shows, with what is asked of them again and again, found once.

Pairs, units, cut points and places are over the whole path, and one compaction asks for each of them several times. They
are kept beside the messages, which never change; a path that only grew takes over what can be carried on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias, TypeVar, cast

from offturn_engine.messages import Message
from offturn_engine.ranges import Ranges, normalise

T = TypeVar("T")
Places: TypeAlias = list[tuple[int, int]]
"""Half-open ranges of indices, ascending, none of them empty, no two side by side."""


Run: TypeAlias = tuple[int, int, int]
"""A stretch of consecutive seqs: the first, one after the last, the index of the first."""


class Path(tuple[Message, ...]):  # noqa: SLOT001 -- what is found is kept in its dict
    """Messages in path order; equal to a tuple of the same messages."""

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Path:
        """The messages as a path; the very value where they are one."""
        return messages if isinstance(messages, cls) else cls(messages)

    def once(self, make: Callable[[Path], T]) -> T:
        """What `make` makes of the messages, made at the first call. It must not look at `sizes`."""
        made = self._made  # two threads may both make it
        if make not in made:
            made[make] = make(self)
        return cast("T", made[make])

    def carried(self, make: Callable[[Path, T | None], T]) -> T:
        """The same; `make` is also given what it made of the beginning of the path, where that is known."""
        made = self._carried
        if make not in made:
            made[make] = make(self, self._earlier.get(make))
        return cast("T", made[make])

    def extended(self, more: Iterable[Message]) -> Path:
        """The path with more messages at its end."""
        longer = Path((*self, *more))
        longer._earlier.update(self._earlier)
        longer._earlier.update(self._carried)
        return longer

    @cached_property
    def sizes(self) -> Sequence[int]:
        """Tokens of each message."""
        return [message.tokens for message in self]

    def sized(self, sizes: Sequence[int]) -> Path:
        """The same messages, which count for so many tokens each."""
        other = Path(self)
        kept = {"_made": self._made, "_carried": self._carried, "_earlier": self._earlier, "_runs": self._runs}
        other.__dict__.update(kept, sizes=sizes)
        return other

    @property
    def ascending(self) -> bool:
        """Is the path in the order of the seqs?"""
        return self._sorted_runs == self._runs

    @property
    def last_seq(self) -> int:
        """The highest seq, which need not be the last message's; -1 where there is none."""
        return max((high for _, high, _ in self._runs), default=0) - 1

    def place(self, seq: int) -> int | None:
        """The index of a seq; None where it is not on the path."""
        i = bisect_right(self._sorted_runs, (seq + 1,)) - 1
        low, high, at = self._sorted_runs[i] if i >= 0 else (0, 0, 0)
        return at + seq - low if low <= seq < high else None

    def seqs(self, low: int, high: int) -> Ranges:
        """The seqs between two indices."""
        return normalise(
            (first + max(low - at, 0), first + min(high - at, end - first)) for first, end, at in self._runs
        )

    def inside(self, ranges: Ranges) -> Places:
        """Where the messages stand whose seqs are in one of these ranges."""
        return _joined(
            (at + max(first, low) - low, at + min(end, high) - low)
            for low, high, at in self._runs
            for first, end in _meeting(ranges, low, high)
        )

    def outside(self, ranges: Ranges) -> Places:
        """Where the messages stand whose seqs are in none of these ranges."""
        inner = self.inside(ranges)
        edges = [0, *chain.from_iterable(inner), len(self)]
        return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high]

    def within(self, ranges: Ranges) -> list[Message]:
        """The messages whose seqs are in one of these ranges."""
        return [message for low, high in self.inside(ranges) for message in self[low:high]]

    def without(self, ranges: Ranges) -> Path:
        """The path less the messages whose seqs are in one of these ranges, in the sizes they have here."""
        if not ranges:
            return self
        known = self._left
        if ranges not in known:
            places = self.outside(ranges)
            left = Path(chain.from_iterable(self[low:high] for low, high in places))
            left.__dict__["sizes"] = list(chain.from_iterable(self.sizes[low:high] for low, high in places))
            known[ranges] = left
        return known[ranges]

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _carried(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def _earlier(self) -> dict[Any, Any]:
        """What was carried by the path that this one is longer than."""
        return {}

    @cached_property
    def _left(self) -> dict[Ranges, Path]:
        return {}

    @cached_property
    def _runs(self) -> list[Run]:
        return self.carried(_runs)

    @cached_property
    def _sorted_runs(self) -> list[Run]:
        return sorted(self._runs)


def _runs(path: Path, before: list[Run] | None) -> list[Run]:
    found = list(before or ())
    length = found[-1][2] + found[-1][1] - found[-1][0] if found else 0
    for i in range(length, len(path)):
        seq = path[i].seq
        if found and found[-1][1] == seq:
            found[-1] = (found[-1][0], seq + 1, found[-1][2])
        else:
            found.append((seq, seq + 1, i))
    return found


def _meeting(ranges: Ranges, low: int, high: int) -> Iterator[tuple[int, int]]:
    """The ranges that share a seq with this one."""
    for j in range(max(bisect_right(ranges, (low,)) - 1, 0), len(ranges)):
        if ranges[j][0] >= high:
            return
        if ranges[j][1] > low:
            yield ranges[j]


def _joined(places: Iterable[tuple[int, int]]) -> Places:
    found: Places = []
    for low, high in places:
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found
