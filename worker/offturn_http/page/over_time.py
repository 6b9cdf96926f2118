"""How many tokens a session's view has taken, message by message: it grows, and each compaction is a step. Pure.

All sizes given are the engine's estimates; `real` makes tokens of the session's model out of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from offturn.store.state import Event, Meta
from offturn_engine.compaction import Compaction
from offturn_engine.messages import Message
from offturn_engine.ranges import length

MOST_POINTS = 400  # between the steps; more than that no screen shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Another generation came in force after so many messages. ms: of the store's clock, 0 where that is not known."""

    messages: int
    generation: int
    before: int
    after: int
    ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """points, raw: (messages, tokens) of the view, and of the same without any compaction; both ascending."""

    points: tuple[tuple[int, int], ...]
    raw: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]

    @property
    def messages(self) -> int:
        """At the end."""
        return self.points[-1][0] if self.points else 0

    @property
    def tokens(self) -> int:
        """The highest of all."""
        return max((tokens for _, tokens in (*self.points, *self.raw)), default=0)


def sketch(meta: Meta, real: Callable[[int], int]) -> Curve:
    """From a session's state alone, with straight lines between what is known: for lists."""
    total = length(meta.path)
    points, raw, steps = [(0, 0)], [(0, 0)], list[Step]()
    last = 0
    for number, info in sorted(meta.generations.items()):
        at = min(info.seen, total)
        if info.replaces == last:
            known = meta.generations.get(last)
            grown = info.at_tokens if known is None else known.tokens_after + info.at_tokens - known.at_tokens
            steps.append(
                Step(
                    messages=at,
                    generation=number,
                    before=real(max(grown, 0)),
                    after=real(info.tokens_after),
                    ms=info.at,
                )
            )
            points.append((at, steps[-1].before))
        points.append((at, real(info.tokens_after)))
        raw.append((at, real(info.at_tokens)))
        last = number
    now = real(meta.tokens_of(meta.adopted))
    if last != meta.adopted:
        before = real(meta.tokens_of(last))
        steps.append(Step(messages=total, generation=meta.adopted, before=before, after=now))
        points.append((total, before))
    points.append((total, now))
    raw.append((total, real(meta.path_tokens)))
    return Curve(points=_ascending(points), raw=_ascending(raw), steps=tuple(steps))


def drawn(
    path: Sequence[Message],
    records: Mapping[int, Compaction],
    events: Iterable[Event],
    adopted: int,
    real: Callable[[int], int],
) -> Curve:
    """From the messages themselves. records: the generations kept; adopted: the one in force now."""
    sums = [0, *accumulate(message.tokens for message in path)]
    seqs = [message.seq for message in path]

    def tokens(generation: int, messages: int) -> int:
        record = records.get(generation)
        if record is None:
            return sums[messages]
        seen = bisect_right(seqs, record.seen - 1)
        return max(0, record.tokens_after + sums[messages] - sums[min(seen, messages)])

    points, steps = list[tuple[int, int]](), list[Step]()
    start, shown = 0, 0
    stride = max(1, len(path) // MOST_POINTS)
    for place, generation, ms in _changes(path, events, adopted):
        if generation == shown or (generation and generation not in records):
            continue
        known = shown == 0 or shown in records
        if known:
            points += [(n, real(tokens(shown, n))) for n in (*range(start, place, stride), place)]
            before = points[-1][1]
            steps.append(
                Step(messages=place, generation=generation, before=before, after=real(tokens(generation, place)), ms=ms)
            )
        start, shown = place, generation
    points += [(n, real(tokens(shown, n))) for n in (*range(start, len(path), stride), len(path))]
    raw = [(n, real(sums[n])) for n in (*range(0, len(path), stride), len(path))]
    return Curve(points=_ascending(points), raw=_ascending(raw), steps=tuple(steps))


def _changes(path: Sequence[Message], events: Iterable[Event], adopted: int) -> Iterable[tuple[int, int, int]]:
    """(messages by then, generation, ms) each time that another generation came in force, as far as events tell."""
    seqs, times, place = [m.seq for m in path], [m.at for m in path], 0
    for event in events:
        fields = event.fields
        if event.kind == "adopted":
            place = max(place, bisect_right(seqs, fields["seq"]))
        elif event.kind == "rolled-back" or (event.kind == "committed" and fields.get("by") == "host"):
            place = max(place, bisect_right(times, event.at))
        else:
            continue
        yield place, fields["generation"], event.at
    yield len(path), adopted, 0  # where events are gone already; else it changes nothing


def _ascending(points: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """As they are, without what would go back: a path may have been rewound since."""
    kept = list[tuple[int, int]]()
    for point in points:
        if not kept or (point[0] >= kept[-1][0] and point != kept[-1]):
            kept.append(point)
    return tuple(kept)
