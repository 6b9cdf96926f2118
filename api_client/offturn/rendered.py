"""What a handle keeps from view to view: its path, and the rendering of its last view.

A call that finds nothing new costs one look at the store, one that finds something new what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from offturn_engine.compaction import NOTHING, ViewRecord
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.pins import marked
from offturn_engine.ranges import Ranges
from offturn_engine.render import Rendering


class Where(NamedTuple):
    """A path by value. `lives`: what else must be the same for a log of this length and chain hash to hold the same messages."""

    lives: Hashable
    length: int
    chain: str
    ranges: Ranges
    pins: tuple[int, ...]


@dataclass(slots=True)
class Walked:
    """The path of a handle, with what was found of it: it is made anew only where it did not just grow."""

    where: Where | None = None
    path: Path = field(default=Path(), repr=False)

    def get(self, where: Where, log: Sequence[Message], hashes: Sequence[str], pinned: frozenset[int]) -> Path:
        """The path that is there. `hashes`: the chain hash after each message of the log."""
        if self.where != where:
            more = self._more(where, hashes)
            ranges = where.ranges if more is None else more
            new = [message for low, high in ranges for message in log[low:high]]
            new = marked(new, pinned) if pinned else new
            self.path, self.where = Path(new) if more is None else self.path.extended(new), where
        return self.path

    def _more(self, where: Where, hashes: Sequence[str]) -> Ranges | None:
        """What the path has grown by since; None where it is another one."""
        known = self.where
        if known is None or not known.ranges or (known.lives, known.pins) != (where.lives, where.pins):
            return None
        at, (low, high) = len(known.ranges) - 1, known.ranges[-1]
        grown = where.ranges[at : at + 1]
        if where.ranges[:at] != known.ranges[:at] or not grown or grown[0][0] != low or grown[0][1] < high:
            return None
        if where.length < known.length or hashes[known.length - 1 : known.length] != [known.chain]:
            return None
        return ((high, grown[0][1]), *where.ranges[at + 1 :])


@dataclass(slots=True)
class Rendered:
    """`of`: the path it was made from, by value; `shown`: the very record, because one that was not committed has no name."""

    of: Hashable = None
    shown: ViewRecord = field(default=NOTHING, repr=False)
    rendering: Rendering | None = field(default=None, repr=False)

    def get(self, of: Hashable, shown: ViewRecord, make: Callable[[], Rendering]) -> Rendering:
        """What is kept, if it is of this; else what `make` makes, kept from now on. `of` None: nothing is kept."""
        if of is not None and self.rendering is not None and self.of == of and self.shown is shown:
            return self.rendering
        self.of, self.shown, self.rendering = of, shown, make()
        return self.rendering
