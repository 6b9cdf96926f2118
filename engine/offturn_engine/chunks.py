"""Chunks: the transcript's blocks packed in order, each chunk small enough for one summarizer call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import Block


def chunks(blocks: Iterable[Block], *, budget: int) -> Iterator[tuple[Block, ...]]:
    """Chunks whose blocks' tokens add up to at most `budget`; their texts joined are the blocks' texts joined.

    A block above the budget is split at line breaks, a line above it anywhere. Only a single character that alone
    exceeds the budget makes a chunk larger than that. No block is asked for before the chunk it is in, or the one before.
    """
    open_chunk: list[Block] = []
    used = 0
    for piece in (piece for block in blocks for piece in _pieces(block, budget)):
        if open_chunk and used + piece.tokens > budget:
            yield _taken(open_chunk)
            used = 0
        open_chunk.append(piece)
        used += piece.tokens
    if open_chunk:
        yield _taken(open_chunk)


def _taken(blocks: list[Block]) -> tuple[Block, ...]:
    """All of them, out of the list: who asked for a chunk is the only one that holds it."""
    taken = tuple(blocks)
    blocks.clear()
    return taken


def _pieces(block: Block, budget: int) -> Iterator[Block]:
    if block.tokens <= budget:
        yield block
        return
    start = 0
    guess = max(1, len(block.text) * budget // block.tokens)
    while start < len(block.text):
        text, tokens = _fitting(block.text[start : start + guess], budget)
        yield Block(block.seq_low, block.seq_high, text, tokens)
        start += len(text)


def _fitting(text: str, budget: int) -> tuple[str, int]:
    """The longest start of the text found to be within the budget, ending in a line break where it can."""
    tokens = estimate_text(text)
    while tokens > budget and len(text) > 1:
        text = text[: max(1, len(text) * 3 // 4)]
        tokens = estimate_text(text)
    line = text.rfind("\n") + 1
    return (text[:line], estimate_text(text[:line])) if 0 < line < len(text) else (text, tokens)
