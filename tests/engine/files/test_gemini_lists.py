"""Lists of gemini contents, as Gemini's checkpoints and hosts of that API keep them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import files, formats
from offturn_engine.groups import pair
from tests.engine.strategies import damaged, transcripts
from tests.engine.test_files import read_or_refused

USER = {"role": "user", "parts": [{"text": "hi"}]}


def test_a_list_of_contents() -> None:
    call = {"role": "model", "parts": [{"text": ""}, {"functionCall": {"name": "ls", "args": {}}}]}
    lost = {"role": "user", "parts": [{"functionResponse": {"name": "cat", "response": {"output": "x"}}}]}
    data = json.dumps([USER, call, {"role": "model", "parts": [{}]}, USER, lost])
    assert files.detect(data) == ("gemini", "a list of messages, which have parts")
    (conversation,) = files.read(data)
    names = [next(iter(part)) for raw in conversation.messages for part in raw["parts"]]
    assert names == ["text", "functionCall", "functionResponse", "text", "functionCall", "functionResponse"]
    assert formats.get("gemini").problems(conversation.messages) == []
    assert conversation.notes == (
        "1 empty parts skipped",
        "1 empty contents skipped",
        "1 interrupted calls closed with a synthetic result",
        "1 results without a call given one",
    )


@given(st.data())
def test_a_good_transcript_comes_back_unchanged(data: st.DataObject) -> None:
    messages = data.draw(transcripts("gemini", unanswered=False))
    read = [raw for c in files.read(json.dumps(messages), format="gemini") for raw in c.messages]
    assert read == messages


@given(st.data())
def test_what_is_read_has_no_orphans_and_no_open_calls_but_last(data: st.DataObject) -> None:
    messages = data.draw(transcripts("gemini", orphans=True))
    for conversation in files.read(json.dumps(messages), format="gemini"):
        parsed = [formats.get("gemini").parse(raw) for raw in conversation.messages]
        pairs = pair(parsed)
        assert pairs.orphans == ()
        assert all(m.origin == "tool" for i, _ in pairs.open_calls for m in parsed[i + 1 :])


@given(st.data())
def test_a_damaged_list_is_read_or_refused(data: st.DataObject) -> None:
    messages: Any = data.draw(transcripts("gemini").flatmap(damaged))
    read_or_refused(json.dumps(messages, default=str), "gemini")
