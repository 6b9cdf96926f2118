"""OpenHands' events: with the models' answers, without ids, in pairs, and with condensations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

Raw = dict[str, Any]


def read(value: Any) -> Conversation:
    (conversation,) = files.read(json.dumps(value))
    sendable(conversation)
    return conversation


def call(id_: str, name: str, arguments: str = "{}") -> Raw:
    return {"index": 1, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer(id_: str, *calls: Raw, tokens: int = 100) -> Raw:
    """What an event keeps of the model's answer, for the first of its calls."""
    message = {"role": "assistant", "content": "I look.", "tool_calls": [*calls], "function_call": None}
    response = {"id": id_, "choices": [{"message": message}], "usage": {"prompt_tokens": tokens}}
    return {"tool_call_id": calls[0]["id"], "function_name": calls[0]["function"]["name"], "model_response": response}


LS, CAT = call("c1", "execute_bash", '{"command": "ls"}'), call("c2", "execute_bash", '{"command": "cat a"}')
BOTH = answer("r1", LS, CAT)
SECOND = BOTH | {"tool_call_id": "c2"}
SHELL = {"metadata": {"exit_code": 0, "prefix": "", "suffix": "\n[exited with 0]"}}
EVENTS: list[Raw] = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": "You are an agent.", "tools": []}},
    {
        "id": 1,
        "source": "user",
        "action": "message",
        "args": {"content": "fix it", "image_urls": ["https://example.com/a.png"]},
    },
    {"id": 2, "source": "user", "action": "recall", "args": {"query": "fix it"}},
    {
        "id": 3,
        "source": "environment",
        "cause": 2,
        "observation": "recall",
        "content": "Added workspace context",
        "extras": {"repo_instructions": "Run make.", "microagent_knowledge": [{"content": "git knowledge"}]},
    },
    {"id": 4, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
    {
        "id": 5,
        "source": "agent",
        "action": "run",
        "args": {"command": "ls", "thought": "I look."},
        "tool_call_metadata": BOTH,
    },
    {
        "id": 6,
        "source": "agent",
        "cause": 5,
        "observation": "run",
        "content": "a",
        "extras": SHELL,
        "tool_call_metadata": BOTH,
    },
    {"id": 7, "source": "agent", "action": "run", "args": {"command": "cat a"}, "tool_call_metadata": SECOND},
    {"id": 8, "source": "agent", "cause": 7, "observation": "run", "content": "x", "tool_call_metadata": SECOND},
    {"id": 9, "source": "agent", "observation": "error", "content": "bad command", "extras": {}},
    {"id": 10, "source": "user", "action": "run", "args": {"command": "pwd", "thought": "", "hidden": False}},
    {
        "id": 11,
        "source": "user",
        "cause": 10,
        "observation": "run",
        "content": "no",
        "extras": {"exit_code": 2},
    },
    {"id": 12, "source": "agent", "action": "message", "args": {"content": "Which one?"}},
    {"id": 13, "source": "agent", "action": "finish", "args": {"thought": "Done.", "final_thought": "Fixed a."}},
]


def test_events() -> None:
    conversation = read(EVENTS)
    system, human, recalled, both, first, second, error, ran, output, asked, done = conversation.messages
    assert conversation.format == "openai-chat"
    assert system == {"role": "system", "content": "You are an agent."}
    assert human["content"] == [
        {"type": "text", "text": "fix it"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]
    assert recalled["content"] == "Run make.\n\ngit knowledge"
    assert both["content"] == "I look."
    assert [c["id"] for c in both["tool_calls"]] == ["c1", "c2"]
    assert set(both["tool_calls"][0]) == {"id", "type", "function"}
    assert first == {"role": "tool", "tool_call_id": "c1", "content": "a\n[exited with 0]"}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "x"}
    assert error == {"role": "user", "content": "bad command"}
    assert ran["tool_calls"][0]["function"] == {"name": "run", "arguments": '{"command": "pwd"}'}
    assert output == {"role": "tool", "tool_call_id": "event_10", "content": "no\n[exit code 2]"}
    assert asked == {"role": "assistant", "content": "Which one?"}
    assert done == {"role": "assistant", "content": "Done.\n\nFixed a."}
    assert conversation.origins == {2: "host", 6: "host"}
    assert conversation.reported == {3: 100}
    assert set(conversation.notes) == {
        "1 recall actions skipped",
        "1 agent_state_changed observations skipped",
        "1 actions the user took shown as a call and its result",
    }


def test_a_call_whose_answer_was_not_kept_is_made_of_its_action() -> None:
    metadata = {"tool_call_id": "t1", "function_name": "str_replace_editor", "model_response": None}
    action = {
        "id": 2,
        "source": "agent",
        "action": "edit",
        "args": {"path": "a", "content": "", "thought": "So.", "impl_source": "x"},
        "tool_call_metadata": metadata,
    }
    result = {"id": 3, "cause": 2, "observation": "edit", "content": "done", "tool_call_metadata": metadata}
    made = read([*EVENTS[:2], action, result]).messages[2]
    function = {"name": "str_replace_editor", "arguments": '{"path": "a", "content": ""}'}
    assert made == {
        "role": "assistant",
        "content": "So.",
        "tool_calls": [{"type": "function", "function": function, "id": "t1"}],
    }


OLD: list[Raw] = [
    {"content": "fix it", "images_urls": None, "wait_for_response": False, "action": "message", "action_risk": None},
    {"command": "ls", "thought": "I look.", "keep_prompt": True, "action": "run", "is_confirmed": "confirmed"},
    {"content": "a", "command_id": -1, "command": "ls", "exit_code": 1, "observation": "run"},
    {"outputs": {}, "thought": "Done.", "action": "finish"},
]


def test_events_without_ids_and_sources() -> None:
    conversation = read({"instance_id": "issue-7", "history": OLD})
    human, called, result, done = conversation.messages
    assert conversation.title == "issue-7"
    assert human["role"] == "user"
    assert called["tool_calls"][0]["function"] == {"name": "run", "arguments": '{"command": "ls"}'}
    assert result["content"] == "a\n[exit code 1]"
    assert result["tool_call_id"] == called["tool_calls"][0]["id"]
    assert done == {"role": "assistant", "content": "Done."}
    assert conversation.notes == ("2 missing tool ids given by order",)


def test_pairs_of_an_action_and_its_observation() -> None:
    nothing = {"observation": "null", "content": ""}
    paired = {"history": [[OLD[0], nothing], [OLD[1], OLD[2]], [OLD[3], nothing]]}
    assert files.detect(json.dumps(paired)) == ("openhands", "actions and observations in a history")
    assert read(paired).messages == read({"history": OLD}).messages
    assert "2 null observations skipped" in read(paired).notes


def test_lines_of_results_are_conversations_of_their_own() -> None:
    found = files.read(lines({"instance_id": "a", "history": OLD}, {"instance_id": "b", "history": EVENTS}))
    assert [(c.title, len(c.messages)) for c in found] == [("a", 4), ("b", 11)]
    assert len(files.read(lines(*EVENTS))) == 1


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3, 4, 5, 6, 7, 8]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 8}],
)
def test_a_condensation_is_a_boundary(forgotten: Raw) -> None:
    condensed = {"id": 14, "source": "agent", "action": "condensation", "args": forgotten | {"summary": "Looked."}}
    conversation = read(
        [*EVENTS, condensed, {"id": 15, "source": "user", "action": "message", "args": {"content": "on"}}]
    )
    assert conversation.earlier == (Earlier(at=11, covered=6, summary="Looked.", tokens_before=100),)
    assert len(conversation.messages) == 12


def test_a_condensation_that_only_forgets_is_told() -> None:
    condensed = {"id": 14, "action": "condensation", "args": {"forgotten_event_ids": [5, 6]}}
    conversation = read([*EVENTS, condensed])
    assert conversation.earlier == ()
    assert "1 condensations without a summary skipped" in conversation.notes


@given(damaged(EVENTS))
def test_damaged_events_are_read_or_refused(value: list[Any]) -> None:
    read_or_refused(json.dumps(value, default=str), "openhands")


@given(damaged([{"history": OLD}, {"history": [[OLD[1], OLD[2]]]}]))
def test_a_damaged_history_is_read_or_refused(value: list[Any]) -> None:
    read_or_refused(json.dumps(value, default=str), "openhands")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
@pytest.mark.parametrize(
    ("file", "messages", "calls", "origins", "reported"),
    [
        ("openhands_basic.json", 4, 1, {}, 3486),
        ("openhands_resolver_1.json", 44, 21, {}, 0),
        ("openhands_mswe_1.json", 68, 32, {26: "host"}, 19164),
        ("openhands_mswe_2.json", 101, 49, {52: "host"}, 27127),
    ],
)
def test_recorded(file: str, messages: int, calls: int, origins: dict[int, str], reported: int) -> None:
    """The last word of an agent is a call in these files, and a text to its model: so it is here."""
    (conversation,) = files.read((TRANSCRIPTS / file).read_bytes())
    called = [c["id"] for m in conversation.messages for c in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in conversation.messages if m["role"] == "tool"]
    assert len(conversation.messages) == messages
    assert called == answered
    assert len(called) == calls
    assert conversation.origins == origins
    assert sum(m["role"] == "user" for m in conversation.messages) == 1 + len(origins)
    assert max(conversation.reported.values(), default=0) == reported
