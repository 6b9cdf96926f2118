"""From path and compaction to the messages a model sees: `render(path, compaction)`.

Order is the path's, with one exception: results follow their call at once, and a message recorded between a call and
its results comes after the group. A call that something else follows and that has no result yet is closed by a
synthetic one, so that the request stays valid; the real result takes its place when it is recorded. Calls pending at
the very end stay pending. A result whose call is covered, or that has none, is told as text after its group. Within a
group results come before all else, because a provider takes nothing between a call and its results. Where a reply is
several messages (`Format.in_items`) its calls stay side by side, before all their results.

After the summary come pinned messages that it covers, the restores, the replay, then what was recorded later.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from offturn_engine.compaction import ViewRecord
from offturn_engine.formats.base import Format
from offturn_engine.groups import Pairs, pair
from offturn_engine.handles import handle
from offturn_engine.messages import Json, Message, RawMessage, ToolCallPart
from offturn_engine.notes import with_note
from offturn_engine.path import Path, Places
from offturn_engine.pins import shown
from offturn_engine.plain import Item, Kind, Plain, by_seq, plain_of
from offturn_engine.restore import restored

LATE_RESULT = "[result of an earlier tool call"
NO_RESULT = "[no result was recorded for this call: it may still be running, or it was stopped]"


@dataclass(frozen=True)
class Rendering:
    """A view's items. `pending`: calls left open at its end; `closed`: calls closed by a synthetic result."""

    items: tuple[Item, ...]
    pending: int
    closed: int

    @property
    def messages(self) -> list[RawMessage]:
        return [item.raw for item in self.items]

    @cached_property
    def tokens(self) -> int:
        """Estimate of all messages, uncalibrated."""
        return sum(item.tokens for item in self.items)


def is_system(raw: Json) -> bool:
    """Is it a message of the system prompt?"""
    return isinstance(raw, Mapping) and raw.get("role") in ("system", "developer")


def render(path: Sequence[Message], compaction: ViewRecord, fmt: Format) -> Rendering:
    """The view of a generation over a path (messages with their seq, in path order)."""
    return _Renderer(Path.of(path), compaction, fmt).run()


def late_results(path: Sequence[Message], index: int, pairs: Pairs, shown: Collection[int]) -> frozenset[int]:
    """The parts of a message that are results whose call is not among the `shown` indices: they are told as text."""
    calls = {part: pairs.call_of.get((index, part)) for part, _ in path[index].results}
    return frozenset(part for part, call in calls.items() if call is None or call[0] not in shown)


class _Renderer:
    def __init__(self, path: Path, compaction: ViewRecord, fmt: Format) -> None:
        self.path = path
        self.compaction = compaction
        self.fmt = fmt
        self.pairs: Pairs = pair(path)
        self.plain: Plain = plain_of(path, fmt)
        self.edits = by_seq(compaction.edits)
        self.apart = sorted({i for seq in self.edits if (i := path.place(seq)) is not None})
        if compaction.system_note and path and self.apart[:1] != [0]:
            self.apart.insert(0, 0)  # the note may be put there
        self.open: dict[int, list[ToolCallPart]] = defaultdict(list)
        for index, part in self.pairs.open_calls:
            call = path[index].parts[part]
            assert isinstance(call, ToolCallPart)
            self.open[index].append(call)
        self.visible = path.outside(compaction.covered)
        self.left = sum(high - low for low, high in self.visible)  # messages to come
        self.done: set[int] = set()
        self.items: list[Item] = []
        self.closed = 0

    @cached_property
    def shown(self) -> frozenset[int]:
        return frozenset(i for low, high in self.visible for i in range(low, high))

    def run(self) -> Rendering:
        covered = self.path.inside(self.compaction.covered)
        edges = [i for low, high in covered for i in (low, high - 1)]
        place = None if not edges else edges[0] if self.compaction.placement == "first" else edges[-1]
        for low, high in self.visible:
            if place is not None and low > place:
                self._summary(self.path[low])
                place = None
            self._stretch(low, high)
        if place is not None:
            self._summary()
        open_calls = sum(len(calls) for i, calls in self.open.items() if _among(self.visible, i))
        return Rendering(tuple(self.items), open_calls - self.closed, self.closed)

    def _stretch(self, low: int, high: int) -> None:
        """The visible messages of one range: as they are where their place is the path's, else one group after the other."""
        at = low
        while at < high:
            if (end := self.plain.end(at, high)) > at:
                self._as_recorded(at, end)
                self.left -= end - at
                at = end
            else:
                self._emit(at)
                at += 1

    def _as_recorded(self, low: int, high: int) -> None:
        """Messages in the order of the path, from one that is edited to the next as they were recorded."""
        at = low
        for index in self.apart[bisect_left(self.apart, low) : bisect_left(self.apart, high)]:
            self.items += self.plain.items[at:index]
            self._message(index, frozenset())
            at = index + 1
        self.items += self.plain.items[at:high]

    def _summary(self, following: Message | None = None) -> None:
        record = self.compaction
        pinned = [m for seq in record.pinned if seq != record.replay and (m := self._at(seq)) is not None]
        replayed = None if record.replay is None else self._at(record.replay)
        again = [(m, r) for r in record.restores if (m := self._at(r.seq)) is not None]
        alone = not pinned and not again and replayed is None
        self._add(self._told(following if alone else None), -1, "summary")
        for message in pinned:
            raw, same = shown(message, self.fmt)
            self._add(raw, message.seq, "pinned", message if same else None)
        for message, what in again:
            self._add(self.fmt.user(restored(message, what)), message.seq, "restore")
        if replayed is not None:
            words = self._without(replayed, frozenset(part for part, _ in replayed.results))
            if words is not None:
                self._add(words, replayed.seq, "replay", replayed)

    def _at(self, seq: int) -> Message | None:
        place = self.path.place(seq)
        return None if place is None else self.path[place]

    def _told(self, following: Message | None) -> RawMessage:
        """The summary message. A role free on both sides where one is; the first to speak is always the user."""
        as_user = self.fmt.user(self.compaction.summary)
        if self.compaction.role == "user" or not self.items or is_system(self.items[-1].raw):
            return as_user
        as_assistant = self.fmt.assistant(self.compaction.summary)
        taken = {self.fmt.parse(self.items[-1].raw).role, following.role if following is not None else "user"}
        free = [raw for role, raw in (("user", as_user), ("assistant", as_assistant)) if role not in taken]
        return free[0] if free else as_user

    def _emit(self, index: int) -> None:
        if index in self.done:
            return
        group = self._group(index)
        self.done.update(group)
        self.left -= len(group)
        late = {i: self._late(i) for i in group}
        if group == [index] and not self.path[index].calls:
            self._tell(index, late[index])
            self._message(index, late[index])
            return
        mixed = {i for i in group if self.path[i].role == "user" and self.path[i].origin != "tool"}
        for i in group:
            if i not in mixed:
                self._message(i, late[i])
        if mixed or any(late.values()) or self.left:
            self._close(group)
        for i in sorted(mixed):
            self._message(i, late[i])
        for i in group:
            self._tell(i, late[i])

    def _close(self, group: list[int]) -> None:
        for call in (call for i in group for call in self.open.get(i, ())):
            self._add(self.fmt.result(call.id, call.name, NO_RESULT), -1, "synthetic")
            self.closed += 1

    def _group(self, index: int) -> list[int]:
        """The message, then the visible messages that answer its calls; calls that share an answer come before it."""
        calls, results = self._reply(index), set[int]()
        todo = sorted(calls)
        while todo:
            i = todo.pop()
            for part, _ in self.path[i].calls:
                answer = self.pairs.result_of.get((i, part))
                if answer and answer[0] in self.shown and answer[0] not in results and answer[0] not in self.done:
                    results.add(answer[0])
                    for other in self._calls_of(answer[0]):
                        if other not in calls and other not in self.done and other in self.shown:
                            calls.add(other)
                            todo.append(other)
        return [*sorted(calls), *sorted(results - calls)]

    def _reply(self, index: int) -> set[int]:
        """The message; of a reply that is several, all from this one on, as far as no summary parts them."""
        reply = {index}
        if self.fmt.in_items and self.path[index].role == "assistant":
            following = range(index, len(self.path))
            here = takewhile(lambda i: self.path[i].role == "assistant" and i in self.shown, following)
            reply |= {i for i in here if i not in self.done}
        return reply

    def _calls_of(self, index: int) -> Iterator[int]:
        for part, _ in self.path[index].results:
            call = self.pairs.call_of.get((index, part))
            if call:
                yield call[0]

    def _message(self, index: int, late: frozenset[int]) -> None:
        message = self.path[index]
        raw = self._without(message, late)
        if raw is not None:
            if index == 0 and is_system(raw):
                raw = with_note(raw, self.compaction.system_note)
            self._add(raw, message.seq, "message", message)

    def _late(self, index: int) -> frozenset[int]:
        return late_results(self.path, index, self.pairs, self.shown)

    def _tell(self, index: int, late: frozenset[int]) -> None:
        message = self.path[index]
        texts = {edit.part: edit.text for edit in self.edits.get(message.seq, ())}
        results = message.results
        for part, result in results:
            if part in late:
                name = handle(message.seq, part if len(results) > 1 else None)
                media = f", {result.media} attached" if result.media else ""
                told = f"{LATE_RESULT}, {name}{media}]\n{texts.get(part, result.text)}"
                self._add(self.fmt.user(told), message.seq, "late")

    def _without(self, message: Message, parts: frozenset[int]) -> RawMessage | None:
        """The message as edited, less these parts; None where nothing sendable is left."""
        edits = self.edits.get(message.seq)
        raw = self.plain.edited(message, edits, self.fmt)[0] if edits else message.raw
        return self.fmt.without(replace(message, raw=raw), parts) if parts else raw

    def _add(self, raw: RawMessage, seq: int, kind: Kind, message: Message | None = None) -> None:
        if message is not None and raw is message.raw:
            tokens = message.tokens
        elif message is not None and (known := self.plain.known(message.seq)) is not None and known[0] is raw:
            tokens = known[1]
        else:
            tokens = self.fmt.estimate(raw)
        self.items.append(Item(raw, seq, kind, tokens))


def _among(places: Places, index: int) -> bool:
    at = bisect_right(places, (index + 1,)) - 1
    return at >= 0 and index < places[at][1]
