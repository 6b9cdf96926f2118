"""Qwen Code's sessions: a tree with an abandoned branch, a message in two records, a compaction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier, UnreadableFile
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

Raw = dict[str, Any]


def record(uuid: str, parent: str | None, kind: str, *parts: Raw, **fields: Any) -> Raw:
    role = "model" if kind == "assistant" else "user"
    message = {"message": {"role": role, "parts": [*parts]}} if parts else {}
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s1", "type": kind, **message, **fields}


CALL = {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}}
RESPONSE = {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "text of a"}}}
RECORDS: list[Raw] = [
    record("1", None, "user", {"text": "begin"}),
    record("2", "1", "assistant", {"text": "gone"}),
    record("3", "2", "system", subtype="custom_title", systemPayload={"customTitle": "Gone"}),
    record("4", "1", "system", subtype="rewind", systemPayload={"targetUuid": "1"}),
    record("5", "4", "user", {"text": "again"}, subtype="mid_turn_user_message"),
    record("6", "5", "assistant", {"text": "hm", "thought": True}),
    record("6", "5", "assistant", CALL, {"text": "I read."}, usageMetadata={"promptTokenCount": 12}),
    record("7", "6", "tool_result", RESPONSE),
    record("8", "7", "system", subtype="ui_telemetry"),
    record("9", "8", "assistant", {"text": "Done."}, usageMetadata={"promptTokenCount": 30}),
    record("10", "9", "system", subtype="custom_title", systemPayload={"customTitle": "Reading"}),
    record("11", "10", "system", subtype="session_artifact_snapshot", systemPayload={"summary": "s"}),
]


def read(records: list[Raw]) -> Conversation:
    (conversation,) = files.read(lines(*records))
    sendable(conversation)
    return conversation


def test_the_live_branch() -> None:
    assert files.detect(lines(*RECORDS)) == ("qwen-code", "records have a uuid and a message with parts")
    conversation = read(RECORDS)
    assert (conversation.title, conversation.format) == ("Reading", "gemini")
    assert conversation.messages == (
        {"role": "user", "parts": [{"text": "begin"}]},
        {"role": "user", "parts": [{"text": "again"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, CALL, {"text": "I read."}]},
        {"role": "user", "parts": [RESPONSE]},
        {"role": "model", "parts": [{"text": "Done."}]},
    )
    assert conversation.reported == {2: 12, 4: 30}
    assert set(conversation.notes) == {
        "1 records of one message joined",
        "1 messages of abandoned branches skipped",
        "1 ui_telemetry records skipped",
    }


def test_going_back_at_the_end() -> None:
    back = record("12", "1", "system", subtype="rewind", systemPayload={"targetUuid": "1"})
    assert len(read([*RECORDS, back]).messages) == 1


def test_a_compaction() -> None:
    history = [
        {"role": "user", "parts": [{"text": "Goal: read"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        RECORDS[9]["message"],
    ]
    payload = {"info": {"originalTokenCount": 500, "newTokenCount": 50}, "compressedHistory": history}
    compacted = record("12", "9", "system", subtype="chat_compression", systemPayload=payload)
    conversation = read([*RECORDS, compacted, record("13", "12", "user", {"text": "on"})])
    assert conversation.earlier == (Earlier(at=5, covered=4, summary="Goal: read", tokens_before=500),)
    assert len(conversation.messages) == 6


def test_a_circle_of_parents_ends() -> None:
    assert len(read([record("1", "2", "user", {"text": "a"}), record("2", "1", "user", {"text": "b"})]).messages) == 2


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        (7, "line 13 is a int"),
        ({"type": "user"}, "line 13, field 'uuid'"),
        (record("12", "9", "user") | {"message": 7}, "line 13 is a int"),
    ],
)
def test_broken_records_are_refused(broken: Any, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(lines(*RECORDS, broken))


@given(damaged(RECORDS))
def test_damaged_lines_are_read_or_refused(value: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(one, default=str) for one in value), "qwen-code")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_14_an_abandoned_branch_and_one_uuid_twice() -> None:
    (conversation,) = files.read((TRANSCRIPTS / "qwen_stage0.jsonl").read_bytes())
    assert [raw["role"] for raw in conversation.messages] == ["user", "user", "model"]
    said = json.dumps(conversation.messages)
    assert "Discarded branch answer." not in said
    assert "Reason over the active branch." in said
    assert "Active branch answer." in said
    assert said.count("functionCall") == 1
    assert conversation.title == "Active branch title"
    assert conversation.reported == {2: 12}
