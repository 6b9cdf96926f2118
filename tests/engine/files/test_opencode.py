"""OpenCode's exports, documents and events: one session, read alike from all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from tests.engine.files import opencode_sample as sample
from tests.engine.files.opencode_sample import EXPORT, MESSAGES, SESSION, message, text, tool
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable


def read(value: Any) -> Conversation:
    (conversation,) = files.read(json.dumps(value))
    return conversation


def blocks(conversation: Conversation) -> list[list[Any]]:
    return [list(raw["content"]) for raw in conversation.messages]


def test_an_export() -> None:
    conversation = read(EXPORT)
    sendable(conversation)
    assert (conversation.title, conversation.format, conversation.source_format) == (
        "Port the parser",
        "anthropic",
        "opencode",
    )
    human, host, worked, answers, again, shot, continued, going, closed, other, last = blocks(conversation)
    assert human == [
        {"type": "text", "text": "port the parser"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ]
    assert host == [{"type": "text", "text": "<file>a.py</file>"}]
    assert worked[:2] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "I look."},
    ]
    assert [block["id"] for block in worked[2:]] == ["c1", "c2", "c3"]
    assert [(b["tool_use_id"], b["content"], b.get("is_error")) for b in answers] == [
        ("c1", "a.py", None),
        ("c2", "no such file", True),
        ("c3", "half", None),
    ]
    assert [block["id"] for block in again] == ["c4"]
    assert [block["type"] for block in shot[0]["content"]] == ["text", "image"]
    assert continued == [{"type": "text", "text": "Continue."}]
    assert [block["type"] for block in going] == ["text", "tool_use", "tool_use"]
    assert [block["tool_use_id"] for block in (*closed, *other)] == ["c5", "c6"]
    assert last[-1]["text"] == "stop"


def test_who_wrote_what_and_what_was_counted() -> None:
    conversation = read(EXPORT)
    assert conversation.origins == {1: "host", 6: "host"}
    assert conversation.reported == {2: 130, 4: 150}


def test_compactions_are_boundaries_and_no_messages() -> None:
    conversation = read(EXPORT)
    assert conversation.earlier == (Earlier(at=6, covered=2, summary="Goal: port.", tokens_before=155),)
    assert "Goal: port." not in json.dumps(conversation.messages)
    assert "half a sum" not in json.dumps(conversation.messages)


def test_what_was_left_out_is_told() -> None:
    assert set(read(EXPORT).notes) == {
        "1 failed summaries skipped",
        "1 ignored texts skipped",
        "1 reasoning without a signature skipped",
        "1 results the host no longer showed kept",
        "1 messages that ended in an error skipped",
        "2 interrupted calls closed with a synthetic result",
    }


def test_documents_lists_and_events_hold_the_same_session() -> None:
    export = read(EXPORT)
    pretty = "\n".join(json.dumps(document, indent=2) for document in [SESSION, *sample.documents(MESSAGES)])
    assert files.read(pretty) == [export]
    assert files.read(json.dumps(SESSION, indent=2) + "\n" + json.dumps(MESSAGES, indent=2)) == [export]
    (told,) = files.read(lines(*sample.events()))
    assert told.messages == export.messages
    assert told.earlier == export.earlier
    assert set(told.notes) - set(export.notes) == {"1 events without messages skipped"}


def test_events_that_end_in_the_middle_of_a_text_keep_what_was_told() -> None:
    told = sample.events()
    at = next(i for i, e in enumerate(told) if e["event"]["properties"].get("delta") == "k")  # of "I look."
    (conversation,) = files.read(lines(*told[:at]))
    assert conversation.messages[-1]["content"][-1] == {"type": "text", "text": "I loo"}


def test_removed_messages_and_parts_are_gone() -> None:
    told = sample.events()
    gone = {"sessionID": "ses_1", "messageID": "msg_10"}
    part = {"sessionID": "ses_1", "messageID": "msg_01", "partID": "prt_01_1"}
    told.append({"event": {"type": "message.removed", "properties": gone}})
    told.append({"event": {"type": "message.part.removed", "properties": part}})
    (conversation,) = files.read(lines(*told))
    assert conversation.messages[0]["content"] == [{"type": "text", "text": "port the parser"}]
    assert "stop" not in json.dumps(conversation.messages[-1])


def test_a_reverted_session_ends_where_the_user_went_back_to() -> None:
    reverted = EXPORT | {"info": SESSION | {"revert": {"messageID": "msg_08"}}}
    assert len(read(reverted).messages) == 6
    assert "3 reverted messages skipped" in read(reverted).notes
    half = EXPORT | {"info": SESSION | {"revert": {"messageID": "msg_02", "partID": "prt_02_7"}}}
    assert [m["role"] for m in read(half).messages] == ["user", "user", "assistant", "user"]


def test_an_aborted_message_that_says_something_stays() -> None:
    aborted = message(2, "assistant", text("I was"), error={"name": "MessageAbortedError"})
    empty = message(3, "assistant", {"type": "step-start"}, error={"name": "MessageAbortedError"})
    assert len(read({"info": SESSION, "messages": [sample.FIRST, aborted, empty]}).messages) == 3


def test_calls_that_run_at_the_end_stay_open() -> None:
    running = message(2, "assistant", tool("c1", "completed", output="x"), tool("c2", "running"))
    conversation = read({"info": SESSION, "messages": [message(1, "user", text("go")), running]})
    assert [len(raw["content"]) for raw in conversation.messages] == [1, 2, 1]


def test_a_compaction_that_kept_nothing_covers_everything() -> None:
    asked = message(4, "user", {"type": "compaction", "auto": False})
    summed = message(5, "assistant", text("sum"), summary=True, finish="stop", parentID="msg_04")
    conversation = read({"info": SESSION, "messages": [sample.FIRST, sample.WORKED, asked, summed, sample.LAST]})
    assert conversation.earlier == (Earlier(at=6, covered=6, summary="sum", tokens_before=155),)


def test_sub_agents_follow_the_session_that_started_them() -> None:
    documents = [sample.SUB, sample.CHILD, {"id": "ses_0", "title": "Other"}, SESSION, *MESSAGES[:1]]
    other = message(12, "user", text("other"), session="ses_0")
    found = files.read(lines(*documents, other))
    assert [c.title for c in found] == ["Other", "Port the parser", "sub-agent: Look around"]


def test_parts_of_a_message_that_was_not_recorded_are_told() -> None:
    part = message(9, "assistant", text("lost"))["parts"][0]
    conversation = files.read(lines(sample.FIRST, part))[0]
    assert "1 messages of unknown role skipped" in conversation.notes


def test_what_was_recognised_is_said() -> None:
    assert files.detect(lines(*sample.events()))[1] == "records are events of OpenCode's sessions and messages"
    assert files.detect(json.dumps(EXPORT))[1] == "an object has info and messages, or parts, beside it"
    assert files.detect(lines(*sample.documents(MESSAGES)))[1] == "records name a session with sessionID"


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (7, "line 2 holds a int"),
        ({"id": 7, "sessionID": "s", "role": "user"}, "line 2, field 'id'"),
        ({"id": "m", "role": "user"}, "line 2, field 'sessionID'"),
        ({"id": "p", "messageID": "other"}, "line 2, field 'sessionID'"),
        (message(3, "assistant", {"type": "tool", "callID": "c", "tool": "t"}), "line 2, field 'state'"),
        (message(3, "assistant", tool("c1", "running") | {"tool": 7}), r"line 2, field 'content\[0\].name'"),
    ],
)
def test_broken_documents_are_refused(document: Any, where: str) -> None:
    with pytest.raises(files.UnreadableFile, match=where):
        files.read(lines(sample.FIRST, document))


@given(damaged([EXPORT]))
def test_a_damaged_export_is_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value, default=str), "opencode")


@given(damaged(sample.events()[:40]))
def test_damaged_events_are_read_or_refused(value: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in value), "opencode")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_recorded_events_of_parallel_tasks() -> None:
    data = (TRANSCRIPTS / "opencode_ev_real-session-task-three-parallel-sleeps.jsonl").read_bytes()
    (conversation,) = files.read(data)
    assert [m["role"] for m in conversation.messages] == ["user", "user", "assistant", "user", "assistant"]
    assert conversation.origins == {1: "host"}
    calls, results = conversation.messages[2]["content"], conversation.messages[3]["content"]
    assert [block["id"] for block in calls] == [block["tool_use_id"] for block in results]
    assert len(calls) == 3
    assert conversation.reported == {2: 45922, 4: 1217 + 45824}


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_recorded_events_with_a_queued_message() -> None:
    (conversation,) = files.read((TRANSCRIPTS / "opencode_ev_session-voice-queued-followup.jsonl").read_bytes())
    assert [m["role"] for m in conversation.messages] == ["user", "user", "assistant"] * 2
    assert conversation.origins == {1: "host", 4: "host"}
    assert conversation.messages[5]["content"] == [{"type": "text", "text": "session-reply"}]
