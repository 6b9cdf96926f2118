"""Sessions of Cline."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Earlier
from tests.engine.files.shown import parsed, recorded, shown
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, read_or_refused, sendable


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def answered(call: str, *answers: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "name": "read_files", "content": list(answers)}


SUMMARY = {
    "role": "user",
    "content": [text("Context summary: looked")],
    "metadata": {"kind": "compaction_summary", "summary": "looked", "tokensBefore": 900},
}
MESSAGES: list[dict[str, Any]] = [
    {
        "id": "m1",
        "role": "user",
        "content": [text("look at @a.py"), {"type": "file", "path": "a.py", "content": "x = 1"}],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "read_files", "input": {}}],
        "metrics": {"inputTokens": 900, "cacheReadTokens": 800, "outputTokens": 3},
    },
    {
        "role": "user",
        "content": [answered("t1", {"query": "a", "success": True}, {"query": "b", "success": False}, text("so"))],
    },
    {"role": "assistant", "content": [text("one file")]},
]
SESSION: dict[str, Any] = {"version": 1, "sessionId": "s1", "system_prompt": "You are Cline.", "messages": MESSAGES}


def test_messages() -> None:
    assert files.detect(json.dumps(SESSION)) == ("cline", "an object has messages, a version and a sessionId")
    (conversation,) = files.read(json.dumps(SESSION))
    assert (conversation.title, conversation.system, conversation.format) == ("s1", "You are Cline.", "anthropic")
    assert shown(conversation) == [
        ("human", "look at @a.py"),
        ("host", "a.py\nx = 1"),
        ("assistant", "t1"),
        ("tool", "=t1"),
        ("assistant", "one file"),
    ]
    assert conversation.reported == {2: 900}
    assert conversation.messages[3]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "is_error": True,
            "content": [text('{"query": "a", "success": true}'), text('{"query": "b", "success": false}'), text("so")],
        }
    ]
    sendable(conversation)


def test_a_compaction_in_the_list_is_a_boundary() -> None:
    (conversation,) = files.read(json.dumps(SESSION | {"messages": [*MESSAGES, SUMMARY, MESSAGES[0]]}))
    assert conversation.earlier == (Earlier(at=5, covered=5, summary="looked", tokens_before=900),)
    assert len(conversation.messages) == 7


def test_a_summary_that_begins_the_file_stays_a_message() -> None:
    (conversation,) = files.read(json.dumps(SESSION | {"messages": [SUMMARY, *MESSAGES]}))
    assert shown(conversation)[:2] == [("summary", "Context summary: looked"), ("human", "look at @a.py")]
    assert conversation.earlier == ()


@given(damaged(SESSION | {"messages": [SUMMARY, *MESSAGES, SUMMARY]}))
def test_a_damaged_session_is_read_or_refused(session: Any) -> None:
    read_or_refused(json.dumps(session, default=str), None)
    read_or_refused(json.dumps(session, default=str), "cline")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_the_recorded_ones() -> None:
    """32 messages, of which the first holds a file of 19 kB; and what its compaction has left: a summary, and two."""
    (session,) = recorded("cline_session.messages.json")
    (compacted,) = recorded("cline_agentic.compaction.json")
    assert Counter(m.origin for m in parsed(session)) == {"human": 5, "host": 1, "assistant": 16, "tool": 11}
    assert [origin for origin, _ in shown(compacted)] == ["summary", "human", "assistant"]
    assert session.reported[2] == 34334
    assert len(session.reported) == 16
    sendable(session)
    sendable(compacted)
