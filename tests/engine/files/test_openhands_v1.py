"""Events of OpenHands' SDK: answers of several calls, rejections, what its context adds, and condensations."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from tests.engine.files.shown import shown
from tests.engine.strategies import damaged
from tests.engine.test_files import read_or_refused, sendable

Raw = dict[str, Any]


def texts(*said: str) -> list[Raw]:
    return [{"type": "text", "text": text} for text in said]


def action(id_: str, call: str, answer: str, thought: str = "") -> Raw:
    told = {"id": call, "name": "terminal", "arguments": '{"command": "ls"}', "origin": "completion"}
    return {
        "kind": "ActionEvent",
        "id": id_,
        "source": "agent",
        "thought": texts(thought) if thought else [],
        "thinking_blocks": [],
        "action": {"kind": "TerminalAction", "command": "ls"},
        "tool_name": "terminal",
        "tool_call_id": call,
        "tool_call": told,
        "llm_response_id": answer,
    }


def observation(id_: str, call: str, **seen: Any) -> Raw:
    about = {"tool_name": "terminal", "tool_call_id": call, "action_id": "x"}
    return {"kind": "ObservationEvent", "id": id_, "source": "environment", "observation": seen, **about}


def message(id_: str, source: str, role: str, text: str, **more: Any) -> Raw:
    told = {"role": role, "content": texts(text)}
    return {"kind": "MessageEvent", "id": id_, "source": source, "llm_message": told, **more}


SYSTEM: Raw = {"kind": "SystemPromptEvent", "id": "e0", "source": "agent", "system_prompt": texts("Be careful.")[0]}
EVENTS: list[Raw] = [
    SYSTEM,
    message("e1", "user", "user", "Fix the test.", extended_content=texts("A skill.")),
    {"kind": "ConversationStateUpdateEvent", "id": "s", "source": "environment", "key": "status", "value": "running"},
    action("e2", "c1", "r1", "I look."),
    action("e3", "c2", "r1"),
    observation("e4", "c1", kind="TerminalObservation", content=texts("a.py"), is_error=False),
    {
        "kind": "UserRejectObservation",
        "id": "e5",
        "source": "user",
        "tool_name": "terminal",
        "tool_call_id": "c2",
        "action_id": "e3",
        "rejection_reason": "not there",
    },
    action("e6", "c3", "r2"),
    {"kind": "AgentErrorEvent", "id": "e7", "source": "agent", "tool_call_id": "c3", "error": "no such tool"},
    message("e8", "agent", "assistant", "Done."),
    message("e9", "environment", "user", "A hook says no."),
]


def read(*events: Raw) -> Conversation:
    (conversation,) = files.read("\n".join(map(json.dumps, events)))
    sendable(conversation)
    return conversation


def test_calls_of_one_answer_are_one_message_and_results_wear_their_calls_names() -> None:
    conversation = read(*EVENTS)
    assert conversation.source_format == "openhands-v1"
    assert shown(conversation) == [
        ("system", "Be careful."),
        ("human", "Fix the test."),
        ("host", "A skill."),
        ("assistant", "I look. | c1 c2"),
        ("tool", "=c1"),
        ("tool", "=c2"),
        ("assistant", "c3"),
        ("tool", "=c3"),
        ("assistant", "Done."),
        ("host", "A hook says no."),
    ]
    results = [raw["content"] for raw in conversation.messages if raw["role"] == "tool"]
    assert results == ["a.py", "Action rejected: not there", "no such tool"]
    assert "1 ConversationStateUpdateEvent records skipped" in conversation.notes


def test_older_observations_have_fields_of_their_own() -> None:
    seen = observation("e4", "c1", kind="ExecuteBashObservation", output="a.py", exit_code=0)
    other = observation("e4", "c1", kind="FileEditorObservation", path="a.py", prev_exist=True)
    for event, told in ((seen, "a.py"), (other, '{"path": "a.py", "prev_exist": true}')):
        assert read(EVENTS[1], action("e2", "c1", "r1"), event).messages[-1]["content"] == told


def test_an_image_stays_an_image() -> None:
    seen = [*texts("a page"), {"type": "image", "image_urls": ["data:image/png;base64,AAAA"]}]
    conversation = read(EVENTS[1], action("e2", "c1", "r1"), observation("e4", "c1", content=seen))
    assert conversation.messages[-1]["content"][1]["image_url"] == {"url": "data:image/png;base64,AAAA"}


def test_a_condensation_is_an_earlier_compaction() -> None:
    told: Raw = {
        "kind": "Condensation",
        "id": "k",
        "source": "environment",
        "forgotten_event_ids": ["e2", "e3", "e4", "e5"],
        "summary": "Looked at a.py.",
        "llm_response_id": "r9",
    }
    conversation = read(*EVENTS[:9], told, *EVENTS[9:])
    assert conversation.earlier == (Earlier(at=8, covered=6, summary="Looked at a.py."),)
    without = read(*EVENTS[:9], told | {"summary": None}, *EVENTS[9:])
    assert without.earlier == ()
    assert "1 condensations without a summary skipped" in without.notes


@given(damaged(EVENTS))
def test_damaged_events_are_read_or_refused(value: list[Any]) -> None:
    read_or_refused(json.dumps(value, default=str), "openhands-v1")
