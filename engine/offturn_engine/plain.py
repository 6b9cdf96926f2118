"""What of a path is shown as it stands: messages and groups whose place in a view is their place on the path.

Nearly all are. A view is put together from slices of them; `render` looks one by one at the rest: groups that something
came between, calls without a result, results without their call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from offturn_engine.formats.base import Format
from offturn_engine.groups import Pairs, pair
from offturn_engine.messages import Edit, Message, RawMessage
from offturn_engine.path import Path

Kind = Literal["message", "summary", "pinned", "restore", "replay", "synthetic", "late"]

UNKNOWN, APART = -1, 0


class Item(NamedTuple):
    """One message of a view: what it shows and where it comes from (`seq` -1: from no single message).

    A tuple, which is made in a third of the time of a record: every view has one for each of its messages.
    """

    raw: RawMessage
    seq: int
    kind: Kind
    tokens: int


def by_seq(edits: Iterable[Edit]) -> dict[int, list[Edit]]:
    """Edits by the message they are of."""
    found: dict[int, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.seq, []).append(edit)
    return found


def plain_of(path: Path, fmt: Format) -> Plain:
    """Kept beside the path: what one rendering finds serves the next."""
    return path.once(_in_items if fmt.in_items else _in_messages)


def _in_messages(path: Path) -> Plain:
    return Plain(path, in_items=False)


def _in_items(path: Path) -> Plain:
    return Plain(path, in_items=True)


class Plain:
    """`items`: by index, of each message that was found plain, as it was recorded."""

    def __init__(self, path: Path, *, in_items: bool) -> None:
        self.items: list[Item] = [_NOTHING] * len(path)
        self._path = path
        self._in_items = in_items
        self._pairs: Pairs = pair(path)
        self._ends = [UNKNOWN] * len(path)
        self._edited: dict[int, tuple[Sequence[Edit], Format, RawMessage, int]] = {}

    def end(self, low: int, most: int) -> int:
        """Where the plain messages that start here end, `most` at the latest; `low` where the first is not plain."""
        at = low
        while at < most:
            end = self._ends[at]
            if end == UNKNOWN:
                end = self._end_of(at)
                if end > at:
                    self.items[at:end] = [Item(m.raw, m.seq, "message", m.tokens) for m in self._path[at:end]]
                self._ends[at] = end
            if end == APART or end > most:
                break
            at = end
        return at

    def edited(self, message: Message, edits: Sequence[Edit], fmt: Format) -> tuple[RawMessage, int]:
        """The message as edited, and its tokens; kept, since one compaction renders the same edits several times."""
        known = self._edited.get(message.seq)
        if known is None or known[1] is not fmt or not _same(known[0], edits):
            raw = fmt.edit(message, edits)
            known = self._edited[message.seq] = ([*edits], fmt, raw, fmt.estimate(raw))
        return known[2:]

    def known(self, seq: int) -> tuple[RawMessage, int] | None:
        """The newest value of `edited` for this message."""
        found = self._edited.get(seq)
        return None if found is None else found[2:]

    def _end_of(self, low: int) -> int:
        """One after the last message of the plain group that this message begins; APART where it begins none."""
        path, high = self._path, low + 1
        if self._in_items and path[low].role == "assistant":
            if low and path[low - 1].role == "assistant":
                return APART
            while high < len(path) and path[high].role == "assistant":
                high += 1
        if any(message.results for message in path[low:high]):
            return APART
        waiting = sum(len(message.calls) for message in path[low:high])
        end = high
        while waiting and end < len(path):
            answer = path[end]
            if answer.origin != "tool" or answer.calls or not answer.results:
                return APART
            for part, _ in answer.results:
                call = self._pairs.call_of.get((end, part))
                if call is None or not low <= call[0] < high:
                    return APART
            waiting -= len(answer.results)
            end += 1
        return APART if waiting else end


def _same(a: Sequence[Edit], b: Sequence[Edit]) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b, strict=True))


_NOTHING = Item({}, -1, "message", 0)
