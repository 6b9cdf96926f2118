"""Which messages of a path the view of a generation is made of: what is not covered, and what is covered and shown again.

Of the other covered messages only one thing matters: a call of theirs may wait for a result that came later, or a result
of theirs may answer a call that is not covered. Where neither is so, the view is the same whether they are there or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from offturn_engine.compaction import Compaction, ViewRecord
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair
from offturn_engine.messages import Message, ToolCallPart
from offturn_engine.ranges import Ranges, minus, ranges_of, union

ANSWERED = "[answered]"  # never shown: for what was answered before the rest was covered


@dataclass(frozen=True, slots=True)
class Needed:
    """`before` and `after`: ranges of the path, in its order, on both sides of `gap`, the covered ones. `again`: seqs in the
    gap that are needed all the same, in the order of the path."""

    before: Ranges
    gap: Ranges
    after: Ranges
    again: tuple[int, ...]

    @classmethod
    def of(cls, path: Ranges, record: ViewRecord, pins: Sequence[int]) -> Needed | None:
        """None: all of the path is needed, because nothing of it is covered, or in more than one piece."""
        sides: tuple[list[tuple[int, int]], ...] = ([], [], [])
        at = 0
        for piece, covered in _pieces(path, record.covered):
            if covered != (at == 1):
                at += 1
            if at == len(sides):
                return None
            sides[at].append(piece)
        before, gap, after = map(tuple, sides)
        wanted = {*record.pinned, *(one.seq for one in record.restores), *pins}
        wanted |= set() if record.replay is None else {record.replay}
        again = tuple(seq for low, high in gap for seq in sorted(wanted) if low <= seq < high)
        whole = not gap or sum(high - low for low, high in gap) <= len(again)
        return None if whole else cls(before, gap, after, again)

    @property
    def ranges(self) -> Ranges:
        """All that has to be read, ascending."""
        return union((*self.before, *self.after), ranges_of(self.again))

    def path(self, log: Sequence[Message]) -> list[Message]:
        """In the place of the path: with one message for all that is covered and not needed."""
        again = [log[seq] for seq in self.again]
        return [*_in(log, self.before), *again, self._stand_in(), *_in(log, self.after)]

    def remembered(self, log: Sequence[Message], record: Compaction, fmt: Format) -> list[Message]:
        """The same with the human words that the record holds in their places, for a view that has to cover more."""
        taken = {*self.again, *(one.seq for one in record.human)}
        said = [one for one in record.human if one.text.strip() and one.seq not in self.again]
        told = [fmt.parse(fmt.user(one.text), origin="human").placed(one.seq) for one in said if one.answered]
        asked = [fmt.parse(fmt.user(one.text), origin="human").placed(one.seq) for one in said if not one.answered]
        free = [seq for low, high in self.gap for seq in range(low, high) if seq not in taken]
        answer = [fmt.parse(fmt.assistant(ANSWERED)).placed(free[-1])] if told and free else []
        again = [log[seq] for seq in self.again]
        return [*_in(log, self.before), *told, *answer, *asked, *again, self._stand_in(), *_in(log, self.after)]

    def is_enough(self, log: Sequence[Message], open_calls: Mapping[str, int]) -> bool:
        """Does no call or result of a covered message matter? `open_calls`: how many calls of an id are open on the path."""
        before = _in(log, self.before)
        path = [*before, self._stand_in(), *_in(log, self.after)]
        pairs = pair(path)
        if pairs.orphans or any(call < len(before) <= answer for (call, _), (answer, _) in pairs.result_of.items()):
            return False
        parts = [path[i].parts[part] for i, part in pairs.open_calls if i > len(before)]
        still = Counter(part.id for part in parts if isinstance(part, ToolCallPart))
        return len(parts) == len(pairs.open_calls) and still == Counter(open_calls)

    def _stand_in(self) -> Message:
        """A user's message parts the replies of a model before and behind it, as what is covered may or may not."""
        low = next(s for low, high in self.gap for s in range(low, high) if s not in self.again)
        return Message(role="user", parts=(), raw={}, origin="host", tokens=0, seq=low)


def common(a: Ranges, b: Ranges) -> Ranges:
    """Seqs of both; a and b ascend."""
    return minus(a, minus(a, b))


def _in(log: Sequence[Message], ranges: Ranges) -> list[Message]:
    return [message for low, high in ranges for message in log[low:high]]


def _pieces(path: Ranges, covered: Ranges) -> Iterator[tuple[tuple[int, int], bool]]:
    """The path in its order, and of each piece whether it is covered."""
    for low, high in path:
        for start, stop in minus(((low, high),), covered):
            if low < start:
                yield (low, start), True
            yield (start, stop), False
            low = stop
        if low < high:
            yield (low, high), True
