"""Which request is still waiting for an answer."""

from __future__ import annotations

import pytest

from offturn_engine.messages import Message, TextPart
from offturn_engine.turns import is_answer, last_unanswered


def asked(seq: int) -> Message:
    return Message(role="user", parts=(TextPart("please"),), raw={}, origin="human", tokens=5, seq=seq)


def said(seq: int, text: str = "done") -> Message:
    return Message(role="assistant", parts=(TextPart(text),), raw={}, origin="assistant", tokens=5, seq=seq)


def test_an_answered_request_is_not_waiting() -> None:
    assert last_unanswered([asked(0), said(1)]) is None


def test_the_newest_request_waits() -> None:
    assert last_unanswered([asked(0), said(1), asked(2)]) == 2


@pytest.mark.parametrize(("text", "expected"), [("done", True), ("  ", False), ("", False)])
def test_blank_text_is_no_answer(text: str, expected: bool) -> None:
    assert is_answer(said(0, text)) is expected
