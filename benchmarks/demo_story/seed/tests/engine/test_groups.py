"""Calls and results are paired by occurrence; no cut goes through a unit."""

from __future__ import annotations

from offturn_engine.groups import pair, spans
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart


def said(seq: int) -> Message:
    return Message(role="assistant", parts=(TextPart("ok"),), raw={}, origin="assistant", tokens=5, seq=seq)


def called(seq: int, *ids: str) -> Message:
    parts = tuple(ToolCallPart(i, "bash", {"command": "ls"}, '{"command": "ls"}') for i in ids)
    return Message(role="assistant", parts=parts, raw={}, origin="assistant", tokens=5, seq=seq)


def answered(seq: int, call_id: str) -> Message:
    return Message(role="tool", parts=(ToolResultPart(call_id, "done"),), raw={}, origin="tool", tokens=5, seq=seq)


def test_repeated_ids_pair_in_order() -> None:
    pairs = pair([called(0, "x"), answered(1, "x"), called(2, "x"), answered(3, "x")])
    assert pairs.result_of == {(0, 0): (1, 0), (2, 0): (3, 0)}


def test_parallel_calls_are_one_unit() -> None:
    messages = [said(0), called(1, "x", "y"), answered(2, "y"), answered(3, "x"), said(4)]
    assert spans(messages) == [(0, 1), (1, 4), (4, 5)]


def test_an_orphan_is_told() -> None:
    assert pair([said(0), answered(1, "x")]).orphans == ((1, 0),)


def test_an_open_call_is_told() -> None:
    assert pair([called(0, "x", "y"), answered(1, "x")]).open_calls == ((0, 1),)
