"""Compaction in band: the provider put an item into an answer, and reads nothing that stands before it any more.

Such an item becomes a generation without a model: all before its message is covered, ledger and human messages stand
there for every other provider, and the message with the item follows, unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from offturn_engine.boundaries import Split, at
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Message, OpaquePart
from offturn_engine.ranges import Ranges, contains

ITEM = "compaction"


def compacted_in_band(path: Sequence[Message], covered: Ranges, *, system: int) -> Split | None:
    """Cover all before the newest message that holds such an item; None where there is none, or nothing before it.

    system: room for system messages that stay.
    """
    legal = set(legal_cut_points(path))
    newest = (i for i in range(len(path) - 1, 0, -1) if i in legal and _holds_item(path[i]))
    start = next(newest, None)
    if start is None or contains(covered, path[start].seq):
        return None
    split = at(path, covered, start, system=system)
    return split if split.cover else None


def _holds_item(message: Message) -> bool:
    """An item with content: with null in it the provider says that its compaction failed."""
    if not any(isinstance(part, OpaquePart) and part.kind == ITEM for part in message.parts):
        return False
    own = [message.raw] if message.raw.get("type") == ITEM else message.raw["content"]
    blocks = [block for block in own if block.get("type") == ITEM]
    return any(block.get("content") or block.get("encrypted_content") for block in blocks)
