"""A middle too long for one call, cut to what one call holds: evenly spaced slices, or its newest part.

Sources: rule B2 (eight slices of whole records, the last one at the newest record) and rule C4 (the oldest groups go).
What is left out stays in the log and can be recalled; the text says how much it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import Block

SLICES = 8
MARKER = "(... {} messages are left out here ...)\n\n"
MARKER_TOKENS = 20


def sampled(blocks: Iterable[Block], *, budget: int) -> list[Block]:
    """The blocks themselves where they fit, else slices of them with a marker for each gap, at most `budget` tokens.

    A block larger than half its slice's room is cut in its middle first.
    """
    every = list(blocks)
    if sum(block.tokens for block in every) <= budget:
        return every
    room = budget - (SLICES + 1) * MARKER_TOKENS
    whole = [_clipped(block, max(1, room // SLICES // 2)) for block in every]
    kept = _grown(whole, room)
    found: list[Block] = []
    gap = 0
    for i, block in enumerate(whole):
        if i in kept:
            found += [*_marker(gap, block.seq_low), block]
            gap = 0
        else:
            gap += block.messages
    return found


def newest(blocks: Iterable[Block], *, budget: int) -> tuple[list[Block], int]:
    """The newest blocks within the budget, at least the last one, and the number of messages before them."""
    kept = deque[Block]()
    used = left_out = 0
    for block in blocks:
        kept.append(block)
        used += block.tokens
        while used > budget and len(kept) > 1:
            gone = kept.popleft()
            used -= gone.tokens
            left_out += gone.messages
    return list(kept), left_out


def _grown(blocks: Sequence[Block], room: int) -> set[int]:
    """Indices of the slices: each begins at its anchor and takes the next block in turn while there is room."""
    count = len(blocks)
    anchors = [i * (count - 1) // (SLICES - 1) for i in range(SLICES)]
    nexts = [iter(range(anchor, count)) for anchor in anchors[:-1]] + [iter(range(count - 1, -1, -1))]
    kept: set[int] = set()
    growing = nexts[::-1]  # the newest first
    while growing:
        for slice_ in tuple(growing):
            index = next((i for i in slice_ if i not in kept), None)
            if index is None or blocks[index].tokens > room:
                growing.remove(slice_)
                continue
            room -= blocks[index].tokens
            kept.add(index)
    return kept


def _marker(count: int, seq: int) -> list[Block]:
    text = MARKER.format(count)
    return [Block(seq, seq, text, estimate_text(text))] if count else []


def _clipped(block: Block, budget: int) -> Block:
    text = block.text
    if block.tokens <= budget or len(text) < 2:
        return block
    size = max(1, len(text) * budget // block.tokens)
    while True:
        cut = f"{text[: size * 2 // 3]}\n(...)\n{text[len(text) - size // 3 :].rstrip()}\n\n"
        tokens = estimate_text(cut)
        if tokens <= budget or size < 2:
            return replace(block, text=cut, tokens=tokens)
        size = size * 3 // 4
