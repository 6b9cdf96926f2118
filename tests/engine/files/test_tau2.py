"""tau2 results: simulations, the policy beside them, and a user who has tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import UnreadableFile
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, read_or_refused, sendable

Raw = dict[str, Any]


def call(id_: str, name: str, requestor: str = "assistant") -> Raw:
    return {"id": id_, "name": name, "arguments": {"line": "L1"}, "requestor": requestor}


MESSAGES: list[Raw] = [
    {"role": "assistant", "content": "Hi!", "tool_calls": None, "turn_idx": 0, "cost": 0.0, "usage": None},
    {"role": "user", "content": "no data", "tool_calls": None, "usage": {"prompt_tokens": 7}, "raw_data": {"id": "x"}},
    {"role": "assistant", "content": None, "tool_calls": [call("c1", "look")], "usage": {"prompt_tokens": 50}},
    {"role": "tool", "id": "c1", "content": "{}", "requestor": "assistant", "error": False},
    {"role": "user", "content": "I check.", "tool_calls": [call("u1", "status", "user"), call("u2", "bar", "user")]},
    {"role": "tool", "id": "u1", "content": "on", "requestor": "user", "error": False},
    {"role": "tool", "id": "u2", "content": "4G", "requestor": "user", "error": False},
    {"role": "user", "content": "It is on.", "tool_calls": None},
]
RESULTS: Raw = {
    "info": {"environment_info": {"policy": "Be kind."}},
    "tasks": [{"id": "t1"}],
    "simulations": [
        {"task_id": "t1", "trial": 0, "messages": MESSAGES},
        {"task_id": "t1", "trial": 1, "messages": MESSAGES[:2], "policy": "Be quick."},
        {"task_id": "t2", "trial": 0, "messages": []},
    ],
}


def test_simulations() -> None:
    assert files.detect(json.dumps(RESULTS)) == ("tau2", "an object has simulations with messages")
    first, second = files.read(json.dumps(RESULTS))
    sendable(first)
    assert (first.title, first.system, first.format) == ("task t1", "Be kind.", "openai-chat")
    assert (second.title, second.system) == ("task t1, trial 1", "Be quick.")
    assert first.reported == {2: 50}
    function = {"name": "look", "arguments": '{"line": "L1"}'}
    assert first.messages[:4] == (
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "no data"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "{}", "tool_call_id": "c1"},
    )


def test_calls_of_the_user_are_calls_and_their_words_are_theirs() -> None:
    said, calls, on, bar, told = files.read(json.dumps(RESULTS))[0].messages[4:]
    assert said == {"role": "user", "content": "I check."}
    assert [c["id"] for c in calls["tool_calls"]] == ["u1", "u2"]
    assert (on["tool_call_id"], bar["tool_call_id"]) == ("u1", "u2")
    assert told["content"] == "It is on."
    assert files.read(json.dumps(RESULTS))[0].notes == (
        "1 messages with calls of the user shown as two",
        "1 system prompt beside the messages, not part of the transcript",
    )


@pytest.mark.parametrize(
    ("simulations", "where"),
    [
        ([{"messages": [], "task_id": 1}, {"messages": 7}], "record 0, simulation 1, field 'messages'"),
        ([{"messages": [MESSAGES[0], 7]}], "record 0, simulation 0, message 1 is a int"),
    ],
)
def test_broken_simulations_are_refused(simulations: Any, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(json.dumps({"simulations": simulations}))


@given(damaged([RESULTS]))
def test_damaged_results_are_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value, default=str), "tau2")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
@pytest.mark.parametrize(
    ("file", "messages", "calls", "human"),
    [
        ("tau2_20260601-033543.json", [12, 24, 20, 12, 32], 27, 25),
        ("tau2_20260601-041221.json", [28 + 3], 9, 9),
    ],
)
def test_recorded(file: str, messages: list[int], calls: int, human: int) -> None:
    conversations = files.read((TRANSCRIPTS / file).read_bytes())
    said = [m for c in conversations for m in c.messages]
    called = [call["id"] for m in said for call in m.get("tool_calls", ())]
    assert [len(c.messages) for c in conversations] == messages
    assert called == [m["tool_call_id"] for m in said if m["role"] == "tool"]
    assert len(called) == calls
    assert sum(m["role"] == "user" for m in said) == human
    assert all(c.system and not c.origins for c in conversations)


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_13_a_conversation_that_opens_with_a_greeting_and_a_user_with_tools() -> None:
    (conversation,) = files.read((TRANSCRIPTS / "tau2_20260601-041221.json").read_bytes())
    assert conversation.messages[0] == {"role": "assistant", "content": "Hi! How can I help you today?"}
    assert conversation.messages[15]["role"] == "user"
    assert [c["function"]["name"] for c in conversation.messages[16]["tool_calls"]] == [
        "check_network_status",
        "check_status_bar",
    ]
    sendable(conversation)
