"""Gemini CLI's sessions: one JSON value, or lines with corrections; calls and results inside one message."""

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
HEADER: Raw = {"sessionId": "s1", "projectHash": "h", "startTime": "t", "kind": "main"}


def user(id_: str, content: Any) -> Raw:
    return {"id": id_, "type": "user", "content": content}


def answered(id_: str, content: str = "", *calls: Raw, tokens: int = 100) -> Raw:
    thoughts = [{"subject": "So", "description": "I think."}]
    used = {"input": tokens, "output": 5, "cached": 60, "total": tokens + 5}
    made: Raw = {"id": id_, "type": "gemini", "content": content, "thoughts": thoughts, "tokens": used}
    return {**made, "toolCalls": [*calls]} if calls else made


def call(id_: str, name: str, output: str | None) -> Raw:
    made: Raw = {"id": id_, "name": name, "args": {"path": "a"}, "resultDisplay": "shown to the user"}
    response = {"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}
    return made | ({"status": "success", "result": [response]} if output is not None else {"status": "executing"})


MESSAGES: list[Raw] = [
    {"id": "i1", "type": "info", "content": "Update available"},
    user("u1", [{"text": "/init expanded"}]) | {"displayContent": [{"text": "/init"}]},
    answered("g1", "", call("c1", "read", "one"), call("c2", "list", "two")),
    user("u2", "System: Please continue."),
    answered("g2", "Done."),
    user("u3", ["now ", {"text": "this"}]),
    answered("g3", "", call("c3", "read", None), tokens=140),
]
RECORDS: list[Raw] = [
    HEADER,
    *MESSAGES[:2],
    {"$set": {"lastUpdated": "t2"}},
    answered("g1"),
    {"$set": {"lastUpdated": "t3", "summary": "Make a page"}},
    *MESSAGES[2:],
]


def read(*records: Raw) -> Conversation:
    (conversation,) = files.read(lines(*records))
    sendable(conversation)
    return conversation


def texts(conversation: Conversation) -> list[str]:
    return [next(iter(part.values())) for raw in conversation.messages for part in raw["parts"] if "text" in part]


def test_lines_with_corrections() -> None:
    assert files.detect(lines(*RECORDS))[0] == "gemini-cli"
    conversation = read(*RECORDS)
    assert (conversation.title, conversation.format) == ("Make a page", "gemini")
    first, called, results, nudge, done, second, last = conversation.messages
    assert first == {"role": "user", "parts": [{"text": "/init expanded"}]}
    assert called == {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}},
            {"functionCall": {"id": "c2", "name": "list", "args": {"path": "a"}}},
        ],
    }
    assert [part["functionResponse"]["response"] for part in results["parts"]] == [{"output": "one"}, {"output": "two"}]
    assert nudge["parts"] == [{"text": "System: Please continue."}]
    assert done == {"role": "model", "parts": [{"text": "Done."}]}
    assert second["parts"] == [{"text": "now "}, {"text": "this"}]
    assert last["parts"] == [{"functionCall": {"id": "c3", "name": "read", "args": {"path": "a"}}}]
    assert conversation.origins == {3: "host"}
    assert conversation.reported == {1: 100, 4: 100, 6: 140}
    assert set(conversation.notes) == {
        "1 records replaced by a later one of the same id",
        "1 messages of type info skipped",
        "3 summaries of reasoning skipped",
    }


def test_one_json_value() -> None:
    whole = files.read(json.dumps(HEADER | {"messages": MESSAGES}, indent=2))[0]
    assert whole.messages == read(*RECORDS).messages
    assert whole.title == "s1"


def test_going_back_takes_the_message_and_all_after_it() -> None:
    assert texts(read(*RECORDS, {"$rewindTo": "u3"}, user("u4", "that"))) == [*texts(read(*RECORDS))[:3], "that"]
    assert texts(read(*RECORDS, {"$rewindTo": "unknown"}, user("u4", "that"))) == ["that"]


def test_a_list_that_begins_with_a_summary_is_a_compaction() -> None:
    summary = user("n1", [{"text": "<state_snapshot>Goal: a page</state_snapshot>"}])
    compacted = {"$set": {"messages": [summary, answered("n2", "Got it."), MESSAGES[5], user("u4", "that")]}}
    conversation = read(*RECORDS[:-1], compacted)
    assert conversation.earlier == (
        Earlier(at=6, covered=5, summary="<state_snapshot>Goal: a page</state_snapshot>", tokens_before=100),
    )
    assert texts(conversation)[-1] == "that"
    assert "Got it." not in texts(conversation)


def test_another_list_takes_the_place_of_what_was_there() -> None:
    conversation = read(*RECORDS, {"$set": {"messages": [user("n1", "anew")]}})
    assert texts(conversation) == ["anew"]
    assert "7 messages replaced by a later list" in conversation.notes


@pytest.mark.parametrize(
    ("record", "where"),
    [
        (7, "line 2 is a int"),
        ({"$set": {"messages": [7]}}, "line 2, message 0 is a int"),
        (user("u1", 7), r"line 2, field 'parts\[0\]'"),
        (answered("g1", "", {"id": "c"}), r"line 2, field 'parts\[0\].functionCall.name'"),
    ],
)
def test_broken_records_are_refused(record: Any, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(lines(HEADER, record), format="gemini-cli")


@given(damaged(RECORDS))
def test_damaged_lines_are_read_or_refused(value: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in value), "gemini-cli")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_case_14_later_records_replace_earlier_ones() -> None:
    (conversation,) = files.read((TRANSCRIPTS / "gemini_tracker.jsonl").read_bytes())
    names = [
        [part["functionCall"]["name"] for part in raw["parts"] if "functionCall" in part]
        for raw in conversation.messages
    ]
    assert sum(map(len, names)) == 12
    answers = [
        part["functionResponse"]["name"]
        for raw in conversation.messages
        for part in raw["parts"]
        if "functionResponse" in part
    ]
    assert answers == [name for called in names for name in called]
    assert "5 records replaced by a later one of the same id" in conversation.notes
    assert [
        i for i, raw in enumerate(conversation.messages) if raw["parts"][0].get("text") and raw["role"] == "user"
    ] == [0, 9, 11]
    assert conversation.origins == {9: "host"}
    assert conversation.reported == {1: 13906, 3: 29082, 5: 38324, 7: 40914, 10: 40122, 12: 40238}
