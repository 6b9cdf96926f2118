"""Sessions of Hermes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from tests.engine.files.shown import recorded, shown
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

CALL = {"id": "c1", "call_id": "c1", "response_item_id": "rs", "type": "function"}
SESSION: dict[str, Any] = {
    "session_id": "s1",
    "platform": "telegram",
    "system_prompt": "You are Hermes.",
    "tools": [{"name": "shell"}],
    "messages": [
        {"role": "user", "content": "[CONTEXT COMPACTION] Earlier turns: it was long."},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning": "hm",
            "reasoning_content": "hm",
            "codex_reasoning_items": [{"type": "reasoning"}],
            "finish_reason": "tool_calls",
            "tool_calls": [CALL | {"function": {"name": "shell", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "a.py", "tool_call_id": "c1", "tool_name": "shell"},
        {"role": "assistant", "content": "one file", "reasoning": "so"},
        {"role": "session_meta"},
    ],
}


def test_messages() -> None:
    assert files.detect(json.dumps(SESSION)) == ("hermes", "an object has messages and the session of a platform")
    (conversation,) = files.read(json.dumps(SESSION))
    assert (conversation.title, conversation.system) == ("s1", "You are Hermes.")
    assert shown(conversation) == [
        ("summary", "[CONTEXT COMPACTION] Earlier turns: it was long."),
        ("human", "look"),
        ("assistant", "I look. | c1"),
        ("tool", "=c1"),
        ("assistant", "one file"),
    ]
    assert conversation.messages[2] == {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}],
    }
    assert conversation.messages[4]["reasoning_content"] == "so"
    assert conversation.notes == (
        "1 summary of an earlier session kept as a message",
        "1 reasoning items of the provider dropped",
        "1 session_meta messages skipped",
    )
    sendable(conversation)


def test_what_the_host_writes_in_the_users_role() -> None:
    told = "[Your active task list was preserved across context compression]\n1. look"
    (conversation,) = files.read(json.dumps(SESSION | {"messages": [{"role": "user", "content": told}]}))
    assert shown(conversation) == [("host", told)]


def test_several_sessions() -> None:
    first, second = files.read(lines(SESSION, SESSION | {"session_id": "s2"}))
    assert (first.title, second.title) == ("s1", "s2")
    assert first.notes == second.notes


@given(damaged(SESSION))
def test_a_damaged_session_is_read_or_refused(session: Any) -> None:
    read_or_refused(json.dumps(session, default=str), None)
    read_or_refused(json.dumps(session, default=str), "hermes")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_13_a_last_message_of_role_session_meta() -> None:
    (conversation,) = recorded("hermes_stage0.json")
    assert [origin for origin, _ in shown(conversation)] == ["human", "assistant", "tool", "assistant"]
    assert "1 session_meta messages skipped" in conversation.notes
    sendable(conversation)
