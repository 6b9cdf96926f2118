"""Events of the Copilot CLI: a miniature of each, and the recorded ones."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from tests.engine.files.shown import parsed, recorded, shown
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

Raw = dict[str, Any]


def event(kind: str, **data: Any) -> Raw:
    return {"type": kind, "data": data, "id": "e", "timestamp": "2026-04-23T17:08:08Z", "parentId": None}


def request(call: str) -> Raw:
    return {"toolCallId": call, "name": "bash", "arguments": {"command": "ls"}, "type": "function"}


def done(call: str, **fields: Any) -> Raw:
    result = {"content": "a.py", "detailedContent": "a.py " * 99}
    return event("tool.execution_complete", **({"toolCallId": call, "success": True, "result": result} | fields))


EVENTS: list[Raw] = [
    event("session.start", sessionId="s1", producer="copilot-agent"),
    event("system.message", role="system", content="You are Copilot."),
    event("user.message", content="look", transformedContent="<now>12:00</now>\n\nlook", attachments=[{"path": "a"}]),
    event("assistant.turn_start", turnId="0"),
    event(
        "assistant.message",
        content="",
        toolRequests=[request("c1"), request("c2")],
        reasoningText="hm",
        reasoningOpaque="x",
    ),
    event("tool.execution_start", toolCallId="c1", toolName="bash", arguments={}),
    done("c2", success=False, result=None, error={"message": "no such file"}),
    done("c1"),
    event("assistant.message", content="one file", toolRequests=[]),
]
LOOKED = [
    ("system", "You are Copilot."),
    ("human", "look"),
    ("assistant", "c1 c2"),
    ("tool", "=c2"),
    ("tool", "=c1"),
    ("assistant", "one file"),
]


def one(*records: Raw) -> Conversation:
    (conversation,) = files.read(lines(*records))
    return conversation


def test_messages() -> None:
    assert files.detect(lines(*EVENTS)) == ("copilot", "events such as user.message hold data")
    conversation = one(*EVENTS)
    assert shown(conversation) == LOOKED
    assert conversation.title == "s1"
    assert conversation.messages[2]["reasoning_content"] == "hm"
    assert [raw["content"] for raw in conversation.messages[3:5]] == ["no such file", "a.py"]
    assert {"1 attachments of messages not read", "1 marks of failed results not carried"} <= set(conversation.notes)
    sendable(conversation)


def test_the_host_speaks_where_the_user_has_no_words() -> None:
    conversation = one(*EVENTS, event("user.message", content="", transformedContent="You are not done."))
    assert shown(conversation)[-1] == ("host", "You are not done.")


def test_a_system_prompt_is_taken_when_it_changes() -> None:
    again = event("system.message", content="You are Copilot.")
    conversation = one(*EVENTS, again, event("system.message", content="You are a pilot."))
    assert shown(conversation)[6:] == [("system", "You are a pilot.")]
    assert "1 system prompts repeated word for word skipped" in conversation.notes


def test_a_call_that_nobody_asked_for_is_known_by_its_start() -> None:
    start = event("tool.execution_start", toolCallId="c9", toolName="glob", arguments={"pattern": "*"})
    conversation = one(*EVENTS, start, done("c9"))
    assert shown(conversation)[6:] == [("assistant", "c9"), ("tool", "=c9")]
    assert conversation.messages[6]["tool_calls"][0]["function"] == {"name": "glob", "arguments": '{"pattern": "*"}'}


def test_a_compaction_becomes_a_boundary() -> None:
    made = event("session.compaction_complete", success=True, preCompactionTokens=900, summaryContent="looked")
    failed = event("session.compaction_complete", success=False)
    conversation = one(*EVENTS, failed, made, event("user.message", content="go on"))
    assert conversation.earlier == (Earlier(at=6, covered=6, summary="looked", tokens_before=900),)


def test_an_agent_is_a_conversation_of_its_own() -> None:
    side = {"parentToolCallId": "c1"}
    records = [
        event("assistant.message", content="", toolRequests=[request("n1")], **side),
        event("tool.execution_start", toolCallId="n1", toolName="bash", arguments={}, **side),
        done("n1", **side),
    ]
    main, agent = files.read(lines(*EVENTS, *records))
    assert shown(main) == LOOKED
    assert (agent.title, shown(agent)) == ("agent of c1", [("assistant", "n1"), ("tool", "=n1")])


@given(damaged(EVENTS))
def test_damaged_events_are_read_or_refused(records: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in records), None)


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_05_results_without_a_request_find_their_call() -> None:
    """11 calls were asked for; two more, records 34 and 36, are known by their start."""
    (conversation,) = recorded("copilot_tracker.jsonl")
    messages = parsed(conversation)
    assert Counter(m.origin for m in messages) == {"system": 1, "human": 1, "host": 1, "assistant": 6 + 2, "tool": 13}
    names = [call.name for m in messages for _, call in m.calls]
    assert len(names) == 11 + 2
    assert names.count("glob") == names.count("web_fetch") == 1
    sendable(conversation)


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_13_a_system_message_in_mid_conversation_is_the_first_one_again() -> None:
    (conversation,) = recorded("copilot_tracker.jsonl")
    assert [m.origin for m in parsed(conversation)].index("system") == 0
    assert "1 system prompts repeated word for word skipped" in conversation.notes
