"""SWE-agent's trajectories: the history and not the steps, with tools called by API and by text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files, formats
from offturn_engine.files import Conversation, UnreadableFile
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

Raw = dict[str, Any]


def said(role: str, content: Any, **fields: Any) -> Raw:
    return {"role": role, "content": content, "agent": "main", **fields}


CALL = {"index": 1, "id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
DEMO = said("user", "Here is a demonstration.", is_demo=True, message_type="demonstration")
CALLED: list[Raw] = [
    said("system", "You are an agent.", message_type="system_prompt"),
    DEMO,
    said("user", [{"type": "text", "text": "fix it"}], message_type="observation"),
    said("assistant", "I look.", thought="I look.", action="ls", tool_calls=[CALL], message_type="action"),
    said("tool", "a", tool_call_ids=["c1"], message_type="observation", cache_control={"type": "ephemeral"}),
    said("user", "You have spent your budget.", message_type="observation"),
]
TEXTUAL: list[Raw] = [
    said("system", "You are an agent."),
    said("user", "find the flag"),
    said("assistant", "I look.\n```\nls\n```", thought="I look.\n", action="ls\n"),
    said("user", "a\n(Open file: n/a)"),
    said("assistant", "No command."),
    said("user", "Your output was not formatted correctly."),
    said("assistant", "I submit.\n```\nsubmit\n```", thought="I submit.\n", action="submit\n"),
]


def trajectory(history: list[Raw], environment: str = "issue-7") -> Raw:
    steps = [{"action": "ls", "observation": "a", "messages": history}, {"action": "submit", "query": history}]
    return {"environment": environment, "trajectory": steps, "history": history, "info": {"exit_status": "submitted"}}


def read(history: list[Raw]) -> Conversation:
    (conversation,) = files.read(json.dumps(trajectory(history)))
    sendable(conversation)
    return conversation


def test_tools_called_by_api() -> None:
    data = json.dumps(trajectory(CALLED))
    assert files.detect(data) == ("swe-agent", "an object has a trajectory and a history of messages")
    conversation = read(CALLED)
    assert (conversation.title, conversation.format) == ("issue-7", "openai-chat")
    call = {key: CALL[key] for key in ("id", "type", "function")}
    assert conversation.messages[3:5] == (
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "content": "a", "tool_call_id": "c1"},
    )
    assert conversation.origins == {1: "host", 5: "host"}
    assert conversation.notes == ("2 steps that repeat the history not read",)


def test_tools_called_by_text() -> None:
    conversation = read(TEXTUAL)
    assert conversation.format == "text-observation"
    assert conversation.messages == tuple({"role": m["role"], "content": m["content"]} for m in TEXTUAL)
    assert conversation.origins == {3: "tool", 5: "host"}


def test_several_trajectories() -> None:
    found = files.read(lines(trajectory(CALLED, "a"), trajectory(TEXTUAL, "b")))
    assert [(c.title, c.format) for c in found] == [("a", "openai-chat"), ("b", "text-observation")]


@pytest.mark.parametrize(
    ("value", "where"),
    [({"trajectory": [], "history": 7}, "record 0, field 'history'"), (trajectory([*CALLED, 7]), "message 6 is a int")],  # type: ignore[list-item]
)
def test_broken_trajectories_are_refused(value: Any, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(json.dumps(value), format="swe-agent")


@given(damaged([trajectory(CALLED)]))
def test_a_damaged_trajectory_is_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value, default=str), "swe-agent")


@given(damaged([trajectory(TEXTUAL)]))
def test_a_damaged_textual_trajectory_is_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value, default=str), "swe-agent")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
@pytest.mark.parametrize(
    ("file", "messages", "calls", "results"),
    [
        ("sweagent_fc_marshmallow.json", 28, 13, 13),
        ("swesmith_pandas-dev__pandas.pr_53652.traj.json", 76, 37, 37),
        ("swesmith_pandas-dev__pandas.pr_53856.traj.json", 36, 17, 17),
        ("sweagent_ctf_crypto_katy.traj.json", 37, 18, 17),
        ("sweagent_ctf_forensics_flash.traj.json", 9, 4, 3),
    ],
)
def test_recorded(file: str, messages: int, calls: int, results: int) -> None:
    data = (TRANSCRIPTS / file).read_bytes()
    (conversation,) = files.read(data)
    format_ = formats.get(conversation.format)
    parsed = [format_.parse(raw, origin=conversation.origins.get(i)) for i, raw in enumerate(conversation.messages)]
    assert len(parsed) == messages
    assert sum(len(message.calls) for message in parsed) == calls
    assert sum(len(message.results) for message in parsed) == results
    assert [i for i, message in enumerate(parsed) if message.origin == "human"] == [1]
    steps = [step["observation"] for step in json.loads(data)["trajectory"]][:results]
    texts = [result.text for message in parsed for _, result in message.results]
    assert all(step.strip()[:50] in text for step, text in zip(steps, texts, strict=True))
