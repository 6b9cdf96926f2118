"""Chunks: the transcript's blocks packed in order, each chunk small enough for one summarizer call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import Block


def chunks(blocks: Sequence[Block], *, budget: int) -> list[tuple[Block, ...]]:
    """Chunks whose blocks' tokens add up to at most `budget`; their texts joined are the blocks' texts joined.

    A block above the budget is split at line breaks, a line above it anywhere. Only a single character that alone
    exceeds the budget makes a chunk larger than that.
    """
    packed: list[tuple[Block, ...]] = []
    open_chunk: list[Block] = []
    used = 0
    for piece in (piece for block in blocks for piece in _pieces(block, budget)):
        if open_chunk and used + piece.tokens > budget:
            packed.append(tuple(open_chunk))
            open_chunk, used = [], 0
        open_chunk.append(piece)
        used += piece.tokens
    return [*packed, tuple(open_chunk)] if open_chunk else packed


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
