"""A message is a value, however it was made."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from offturn_engine.formats import get
from offturn_engine.messages import Message, TextPart, ToolCallPart, ToolResultPart

CALL = ToolCallPart("c1", "run", {}, "{}")
RESULT = ToolResultPart("c1", "done")


def test_calls_and_results_are_found_when_it_is_made() -> None:
    message = Message(role="assistant", parts=(TextPart("a"), CALL, RESULT, CALL), raw={}, origin="assistant", tokens=3)

    assert message.calls == ((1, CALL), (3, CALL))
    assert message.results == ((2, RESULT),)
    assert replace(message, parts=(CALL,)).calls == ((0, CALL),)
    assert not replace(message, parts=()).calls
    assert not replace(message, parts=(TextPart("a"),)).results


def test_a_placed_message_differs_in_its_place_and_keeps_nothing() -> None:
    message = replace(get("openai-chat").parse({"role": "user", "content": "a"}), pinned=True)
    message.kept["found"] = 1

    placed = message.placed(7, 9)

    assert placed == replace(message, seq=7, at=9)
    assert (placed.kept, message.kept, message.seq) == ({}, {"found": 1}, -1)
    assert type(placed) is Message


def test_it_cannot_be_changed_and_can_be_copied() -> None:
    message = get("openai-chat").parse({"role": "user", "content": "a"})

    for one in (message, message.placed(3), copy.copy(message), copy.deepcopy(message)):
        assert replace(one, seq=-1) == message
        for field in fields(Message):
            with pytest.raises(FrozenInstanceError):
                setattr(one, field.name, None)
    with pytest.raises(TypeError, match="tokens"):
        Message(role="user", parts=(), raw={}, origin="human")  # type: ignore[call-arg]
