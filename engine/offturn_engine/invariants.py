"""The promises about a view, each an object with its name: what breaks it, and where it allows a cut.

Cuts are chosen among the points every invariant allows, so that a candidate satisfies all of them by construction;
`violations` is checked all the same before anything is published (design: invariants 2 to 5, 7 and 10).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.formats import parse_all
from offturn_engine.formats.base import Format
from offturn_engine.groups import pair, pending, spans
from offturn_engine.human import accounted
from offturn_engine.messages import Message
from offturn_engine.notes import with_note
from offturn_engine.path import Path
from offturn_engine.ranges import contains, length
from offturn_engine.render import Rendering, render
from offturn_engine.turns import last_unanswered


@dataclass(frozen=True, slots=True)
class Shown:
    """A view and what it was made from."""

    path: Sequence[Message]
    compaction: Compaction
    rendering: Rendering
    fmt: Format


class Invariant(ABC):
    """One promise."""

    name: ClassVar[str]

    @abstractmethod
    def violations(self, shown: Shown) -> list[str]:
        """One sentence without content for each place that breaks it."""

    def forbids_cut(self, path: Sequence[Message]) -> set[int]:
        """Indices before which the list must not be cut; a cut at its very end would leave no tail."""
        return {len(path)}


class NothingLost(Invariant):
    """Every message of the path is visible or covered; the visible ones once, in order, as recorded but for edits."""

    name = "nothing-lost"

    def violations(self, shown: Shown) -> list[str]:
        covered, items, path = shown.compaction.covered, shown.rendering.items, Path.of(shown.path)
        raws = {item.seq: item.raw for item in items if item.kind == "message"}
        late = {item.seq for item in items if item.kind == "late"}
        seen, edited = raws.keys() | late, {edit.seq for edit in shown.compaction.edits}
        visible, gone = path.without(covered), path.inside(covered)
        found = [f"m{m.seq} is neither visible nor covered" for m in visible if m.seq not in seen]
        if gone:
            found += [f"m{m.seq} is covered and visible" for m in path.within(covered) if m.seq in seen]
        found += [
            f"m{m.seq} was altered without a recorded edit"
            for m in visible
            if (raw := raws.get(m.seq, m.raw)) is not m.raw
            and m.seq not in edited
            and m.seq not in late
            and raw != m.raw
            and (m is not path[0] or raw != with_note(m.raw, shown.compaction.system_note))
        ]
        found += [
            f"m{r.seq} is restored and not covered" for r in shown.compaction.restores if not contains(covered, r.seq)
        ]
        times = Counter(item.seq for item in items if item.kind == "message")
        found += [f"m{seq} is shown {count} times" for seq, count in times.items() if count > 1]
        plain = {m.seq: m for m in visible if m.seq in times and not m.calls and not m.results}
        if [*plain] != [item.seq for item in items if item.kind == "message" and item.seq in plain]:
            found.append("messages are not in the order of the path")
        if length(covered) > sum(high - low for low, high in gone):
            found.append("it covers messages that are not on the path")
        if covered and not shown.compaction.summary:
            found.append("covered messages have no summary")
        return found


class HumanWords(Invariant):
    """What a human wrote inside the covered ranges is accounted for, each message by code."""

    name = "human-words"

    def violations(self, shown: Shown) -> list[str]:
        kept = {item.seq for item in shown.compaction.human}
        covered = [m for m in Path.of(shown.path).within(shown.compaction.covered) if m.origin == "human"]
        found = [f"m{m.seq} of a human is covered and not carried" for m in covered if m.seq not in kept]
        told = accounted(shown.compaction.summary)
        replayed = {item.seq for item in shown.rendering.items if item.kind in ("pinned", "replay")}
        found += [
            f"m{m.seq} of a human is not in the summary"
            for m in covered
            if m.seq not in replayed and not contains(told, m.seq)
        ]
        return found


class ToolPairs(Invariant):
    """No result without its call, no call without its result, parallel calls together; pending ones stay pending."""

    name = "tool-pairs"

    def violations(self, shown: Shown) -> list[str]:
        shown_messages = parse_all(shown.fmt, shown.rendering.messages)
        pairs = pair(shown_messages)
        found = [f"item {i}: a result without its call" for i, _ in pairs.orphans]
        if len(pairs.open_calls) != shown.rendering.pending:
            found.append("a call without its result is not at the end")
        return found

    def forbids_cut(self, path: Sequence[Message]) -> set[int]:
        forbidden = {i for low, high in spans(path) for i in range(low + 1, high)}
        first = min((i for i, _ in pending(path)), default=len(path))
        return forbidden | set(range(first + 1, len(path) + 1))


class ValidForProvider(Invariant):
    """The provider takes the list as it is (calls pending at the end apart)."""

    name = "valid-for-provider"

    def violations(self, shown: Shown) -> list[str]:
        problems = [p for p in shown.fmt.problems(shown.rendering.messages) if p.rule != "pending"]
        if not problems:
            return []
        plain = render(shown.path, NOTHING, shown.fmt).messages
        own = {p.rule for p in shown.fmt.problems(plain)}  # what the host recorded that no view can mend
        return [f"item {p.index}: {p.rule}" for p in problems if p.rule not in own]


class NeverLast(Invariant):
    """The last message is the path's last one or a replay, never a summary or what is restored behind it; an unanswered
    request is visible.
    """

    name = "never-last"

    def violations(self, shown: Shown) -> list[str]:
        items = shown.rendering.items
        if not shown.path:
            return []
        told = not items or items[-1].kind in ("summary", "pinned", "restore")
        found = ["the view ends with a summary"] if told else []
        asked = _asked(shown.path)
        if asked is not None and asked not in {item.seq for item in items} and not self._seemed_answered(asked, shown):
            found.append(f"the unanswered m{asked} is neither visible nor replayed")
        return found

    @staticmethod
    def _seemed_answered(seq: int, shown: Shown) -> bool:
        """Was it covered while it had an answer? What looked like one is commentary once its step goes on to a call."""
        record = shown.compaction
        return contains(record.covered, seq) and _asked([m for m in shown.path if m.seq < record.seen]) != seq


def _asked(path: Sequence[Message]) -> int | None:
    found = last_unanswered(path)
    return None if found is None else path[found].seq


ALL: tuple[Invariant, ...] = (NothingLost(), HumanWords(), ToolPairs(), ValidForProvider(), NeverLast())


def violations(shown: Shown) -> dict[str, list[str]]:
    """What each broken invariant says; empty when all hold."""
    return {i.name: found for i in ALL if (found := i.violations(shown))}


def legal_cut_points(path: Sequence[Message]) -> Sequence[int]:
    """Indices before which every invariant allows a cut, ascending; 0 is always one."""
    return Path.of(path).once(_legal_cut_points)


def _legal_cut_points(path: Path) -> list[int]:
    forbidden = set[int]().union(*(i.forbids_cut(path) for i in ALL))
    return [i for i in range(len(path)) if i not in forbidden] or [0]


def extends(before: Sequence[object], after: Sequence[object]) -> bool:
    """Cache-stable (invariant 8): does the later view of one generation only add at the end of the earlier one?"""
    return list(after[: len(before)]) == list(before)
