"""Wire files of the Kimi CLI: a miniature of each record, and the recorded one."""

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
USAGE = {"inputOther": 10, "output": 5, "inputCacheRead": 200, "inputCacheCreation": 3}


def typed(text: str, kind: str = "turn.prompt", origin: str = "user") -> Raw:
    return {"type": kind, "input": [{"type": "text", "text": text}], "origin": {"kind": origin}}


def appended(text: str, origin: str = "user") -> Raw:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": {"kind": origin}}
    return {"type": "context.append_message", "message": message}


def event(kind: str, step: str, **fields: Any) -> Raw:
    named = {"uuid": step} if kind.startswith("step") else {"stepUuid": step}
    return {"type": "context.append_loop_event", "event": {"type": kind, **named, **fields}}


def step(name: str, *parts: Raw, **ended: Any) -> list[Raw]:
    return [event("step.begin", name), *parts, event("step.end", name, usage=USAGE, **ended)]


def part(name: str, kind: str, value: str) -> Raw:
    return event("content.part", name, part={"type": kind, kind: value})


def called(name: str, call: str) -> list[Raw]:
    result = {
        "type": "tool.result",
        "toolCallId": call,
        "result": {"output": "a.py", "note": "<system>1 line</system>"},
    }
    return [
        event("tool.call", name, toolCallId=call, name="Bash", args={"command": "ls"}, description="Running"),
        {"type": "context.append_loop_event", "event": result},
    ]


BEGIN: list[Raw] = [
    {"type": "metadata", "protocol_version": "1.4"},
    {"type": "config.update", "systemPrompt": "You are Kimi."},
]
WIRE: list[Raw] = [
    *BEGIN,
    typed("look"),
    appended("look"),
    appended("<system-reminder>plan</system-reminder>", "injection"),
    *step("s1", part("s1", "think", "hm"), part("s1", "text", "I look."), *called("s1", "c1")),
    {"type": "usage.record", "usage": USAGE},
    *step("s2", part("s2", "text", "one file")),
]
LOOKED = [
    ("human", "look"),
    ("host", "<system-reminder>plan</system-reminder>"),
    ("assistant", "I look. | c1"),
    ("tool", "=c1"),
    ("assistant", "one file"),
]


def one(*records: Raw) -> Conversation:
    (conversation,) = files.read(lines(*records))
    return conversation


def compaction(covered: int, kept: int) -> Raw:
    return {
        "type": "context.apply_compaction",
        "summary": "looked",
        "contextSummary": "The conversation so far: looked",
        "compactedCount": covered,
        "keptUserMessageCount": kept,
        "tokensBefore": 900,
    }


def test_a_step_is_a_message() -> None:
    assert files.detect(lines(*WIRE)) == ("kimi", "the metadata of a wire protocol")
    conversation = one(*WIRE)
    assert shown(conversation) == LOOKED
    assert conversation.system == "You are Kimi."
    assert conversation.messages[2]["reasoning_content"] == "hm"
    assert conversation.messages[3]["content"] == "a.py\n<system>1 line</system>"
    assert conversation.reported == {2: 213, 4: 213}
    sendable(conversation)


def test_a_compaction_of_everything() -> None:
    conversation = one(*WIRE, compaction(5, 1), appended("go on"))
    assert conversation.earlier == (Earlier(at=5, covered=5, summary="looked", tokens_before=900),)
    assert shown(conversation) == [*LOOKED, ("human", "go on")]


def test_a_compaction_counts_the_hosts_own_list() -> None:
    """The second one's list begins with a kept message and the summary: its third is the first of ours."""
    conversation = one(
        *WIRE, compaction(4, 1), appended("go on"), *step("s3", part("s3", "text", "ok")), compaction(3, 1)
    )
    assert [(e.at, e.covered) for e in conversation.earlier] == [(5, 4), (7, 5)]


def test_what_was_typed_in_mid_turn_is_taken_once() -> None:
    steer = typed("use tabs", "turn.steer")
    assert shown(one(*WIRE, steer, appended("use tabs"))) == [*LOOKED, ("human", "use tabs")]


def test_what_was_typed_and_never_sent_is_kept_where_it_was_typed() -> None:
    conversation = one(*WIRE, typed("use tabs", "turn.steer"), *step("s3", part("s3", "text", "ok")))
    assert shown(conversation) == [*LOOKED, ("human", "use tabs"), ("assistant", "ok")]
    assert "1 prompts that were typed and not sent" in conversation.notes
    assert shown(one(*WIRE, typed("a task ended", "turn.steer", "background_task"))) == LOOKED


def test_a_cancelled_turn_keeps_what_was_said() -> None:
    begun = [event("step.begin", "s3"), part("s3", "text", "I w"), called("s3", "c2")[0], {"type": "turn.cancel"}]
    conversation = one(*WIRE, *begun, appended("stop"))
    assert shown(conversation)[5:] == [("assistant", "I w | c2"), ("tool", "=c2"), ("human", "stop")]
    assert "1 turn.cancel records skipped" in conversation.notes
    sendable(conversation)


@pytest.mark.parametrize(("count", "left"), [(1, 5), (2, 0), (3, 7), (0, 7)])
def test_turns_that_were_undone_are_gone(count: int, left: int) -> None:
    records = [*WIRE, appended("more"), *step("s3", part("s3", "text", "ok"))]
    conversations = files.read(lines(*records, {"type": "context.undo", "count": count}))
    assert [len(c.messages) for c in conversations] == ([left] if left else [])


def test_no_turn_is_undone_behind_a_compaction() -> None:
    records = [*WIRE, compaction(5, 1), appended("more"), {"type": "context.undo", "count": 2}]
    assert shown(one(*records)) == [*LOOKED, ("human", "more")]


def test_a_cleared_context_is_a_conversation_of_its_own() -> None:
    now, before = files.read(lines(*WIRE, {"type": "context.clear"}, appended("new")))
    assert (now.title, shown(now)) == ("", [("human", "new")])
    assert (before.title, shown(before)) == ("cleared 1", LOOKED)


def test_parts_that_are_no_text() -> None:
    message = {"role": "user", "content": [{"type": "image_url", "imageUrl": {"url": "data:image/png;base64,AA"}}]}
    conversation = one(*BEGIN, {"type": "context.append_message", "message": message})
    assert conversation.messages[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    ]


@given(
    damaged(
        [*WIRE, typed("x", "turn.steer"), compaction(5, 1), appended("go on"), {"type": "context.undo", "count": 1}]
    )
)
def test_a_damaged_wire_is_read_or_refused(records: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in records), None)


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_the_recorded_one() -> None:
    """24 steps, two of them cut off before they said anything."""
    (conversation,) = recorded("kimi_tools_compaction.jsonl")
    messages = parsed(conversation)
    assert Counter(m.origin for m in messages) == {"human": 8, "host": 5, "assistant": 22, "tool": 19}
    assert sum(len(m.calls) for m in messages) == sum(len(m.results) for m in messages) == 19
    assert len(conversation.reported) == 22
    assert conversation.reported[3] == 9431 + 14848
    sendable(conversation)


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_08_a_compaction_is_inside() -> None:
    (conversation,) = recorded("kimi_tools_compaction.jsonl")
    assert [(e.at, e.covered, e.tokens_before) for e in conversation.earlier] == [(54, 54, 15912)]
