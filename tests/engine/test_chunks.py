"""Chunks lose nothing and fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offturn_engine.chunks import chunks
from offturn_engine.sampling import newest
from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import Block, text_of


def block(seq: int, text: str) -> Block:
    return Block(seq, seq + 1, text, estimate_text(text))


TEXTS = st.one_of(
    st.text(min_size=1, max_size=400),
    st.lists(st.text(max_size=30), min_size=1, max_size=40).map("\n".join).filter(bool),
    st.text("我们ab1 \n{}", min_size=1, max_size=400),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, max_size=12), st.integers(8, 200))
def test_nothing_is_lost_and_every_chunk_fits(texts: list[str], budget: int) -> None:
    blocks = [block(i, text) for i, text in enumerate(texts)]
    packed = list(chunks(blocks, budget=budget))
    assert "".join(map(text_of, packed)) == text_of(blocks)
    assert all(packed)
    for chunk in packed:
        assert sum(piece.tokens for piece in chunk) <= budget
        assert all(piece.tokens == estimate_text(piece.text) for piece in chunk)
    seqs = [piece.seq_low for chunk in packed for piece in chunk]
    assert seqs == sorted(seqs)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, max_size=8), st.integers(8, 200))
def test_neighbouring_chunks_could_not_have_been_one(texts: list[str], budget: int) -> None:
    packed = list(chunks([block(i, text) for i, text in enumerate(texts)], budget=budget))
    for chunk, after in pairwise(packed):
        assert sum(piece.tokens for piece in chunk) + after[0].tokens > budget


def test_a_block_that_fits_stays_whole() -> None:
    blocks = [block(i, f"[m{i} human]\nsome words to say\n\n") for i in range(9)]
    packed = list(chunks(blocks, budget=2 * blocks[0].tokens))
    assert [piece for chunk in packed for piece in chunk] == blocks
    assert [len(chunk) for chunk in packed] == [2, 2, 2, 2, 1]


def test_a_large_block_is_split_at_line_breaks() -> None:
    text = "".join(f"line number {i} of the log\n" for i in range(500))
    packed = list(chunks([block(7, text)], budget=300))
    pieces = [piece for chunk in packed for piece in chunk]
    assert len(pieces) > 5
    assert all(piece.text.endswith("\n") for piece in pieces)
    assert {(piece.seq_low, piece.seq_high) for piece in pieces} == {(7, 8)}


@given(st.lists(st.integers(1, 30), max_size=12), st.integers(0, 60))
def test_the_newest_are_as_many_as_fit_from_the_end(sizes: list[int], budget: int) -> None:
    blocks = [Block(i, i + 1, "x", tokens, messages=1) for i, tokens in enumerate(sizes)]
    fitting = [i for i in range(len(blocks)) if sum(sizes[i:]) <= budget]
    start = min([*fitting, max(len(blocks) - 1, 0)])
    assert newest(iter(blocks), budget=budget) == (blocks[start:], start)


def test_nothing_gives_no_chunks() -> None:
    assert list(chunks([], budget=100)) == []


def test_no_block_is_asked_for_before_its_chunk() -> None:
    made: list[int] = []

    def blocks() -> Iterator[Block]:
        for i in range(9):
            made.append(i)
            yield block(i, "some words to say\n\n")

    asked = chunks(blocks(), budget=2 * block(0, "some words to say\n\n").tokens)
    assert made == []
    assert [next(asked)[-1].seq_low, made[-1]] == [1, 2]
    assert [next(asked)[-1].seq_low, made[-1]] == [3, 4]


@pytest.mark.parametrize("unit", ["a", "\n", "a\n", "我", "{}", "1"])
def test_a_megabyte_ends(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert "".join(map(text_of, chunks([block(0, text)], budget=2_000))) == text
