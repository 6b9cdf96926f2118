"""Sessions of pi and its kin: a miniature of the layout, and the long recorded one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files, formats
from offturn_engine.files import Conversation, Earlier
from offturn_engine.tokens import Calibration, prior
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, pi, read_or_refused, said, sendable

USAGE = {"input": 10, "output": 7, "cacheRead": 300, "cacheWrite": 20}
SESSION: list[Any] = [
    {"type": "session", "id": "s1", "cwd": "/project"},
    said("user", {"type": "text", "text": "look"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}),
    said(
        "assistant",
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}, "partialJson": "{"},
        stopReason="toolUse",
        usage=USAGE,
    ),
    said("toolResult", {"type": "text", "text": "no"}, toolCallId="t1", toolName="bash", isError=True),
    {"type": "message", "message": {"role": "bashExecution", "command": "make", "output": "no rule", "exitCode": 2}},
    said("assistant", {"type": "thinking", "thinking": "cut"}, stopReason="aborted"),
    {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 3, "tokensBefore": 900},
]


def one(*records: Any) -> Conversation:
    (conversation,) = files.read(lines(*records))
    return conversation


def texts(conversation: Conversation) -> list[str]:
    return [formats.get(conversation.format).parse(raw).text for raw in conversation.messages]


def test_messages() -> None:
    assert files.detect(lines(*SESSION)) == ("pi", "the first record is a session")
    conversation = one(*SESSION)
    user, called, answered, ran, output = conversation.messages
    assert conversation.title == "s1"
    assert user["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert called["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert called["content"][1] == {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
    assert answered["content"][0]["is_error"] is True
    assert ran["content"][0]["input"] == {"command": "make"}
    assert output["content"][0]["content"] == "no rule\n[exit code 2]"
    assert conversation.reported == {1: 330}
    sendable(conversation)


def test_a_compaction_covers_what_stands_before_the_entry_it_kept() -> None:
    assert one(*SESSION).earlier == (Earlier(at=5, covered=2, summary="s", tokens_before=900),)


def at(id_: str, parent: str | None, record: dict[str, Any]) -> dict[str, Any]:
    return record | {"id": id_, "parentId": parent}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def test_the_kept_entry_is_named_and_need_not_be_a_message() -> None:
    model = {"type": "model_change", "modelId": "m"}
    conversation = one(
        {"type": "session", "version": 3, "id": "s1"},
        at("a", None, said("user", text("one"))),
        at("b", "a", said("assistant", text("two"))),
        at("c", "b", model),
        at("d", "c", said("user", text("three"))),
        at("e", "d", {"type": "compaction", "summary": "s", "firstKeptEntryId": "c", "tokensBefore": 5}),
        at("f", "e", said("assistant", text("four"))),
        at("g", "f", {"type": "compaction", "summary": "t", "firstKeptEntryId": "gone"}),
    )
    first, second = conversation.earlier
    assert (first.at, first.covered) == (3, 2)
    assert (second.at, second.covered) == (4, 4)


def test_the_live_branch_is_followed() -> None:
    def branch(id_: str, parent: str | None, value: str, role: str = "user") -> dict[str, Any]:
        return at(id_, parent, said(role, text(value)))

    told = pi(
        branch("1", None, "a"), branch("2", "1", "b", "assistant"), branch("3", "2", "old"), branch("4", "2", "new")
    )
    (conversation,) = files.read(told)
    assert texts(conversation) == ["a", "b", "new"]
    assert "1 records of abandoned branches skipped" in conversation.notes


def test_what_extensions_and_the_host_put_in_is_no_human_word() -> None:
    conversation = one(
        {"type": "session", "id": "s1"},
        said("user", text("hello")),
        {"type": "custom_message", "customType": "memory", "content": "remember this", "display": False},
        {"type": "custom", "customType": "model-snapshot", "data": {"text": "state"}},
        {"type": "branch_summary", "summary": "what the other branch came to"},
        said("hookMessage", text("from a hook")),
        {"type": "message", "message": {"role": "fileMention", "files": []}},
        {
            "type": "message",
            "message": {"role": "bashExecution", "command": "env", "output": "x", "excludeFromContext": True},
        },
        {"type": "label", "targetId": "x"},
    )
    assert texts(conversation) == ["hello", "remember this", "what the other branch came to", "from a hook"]
    assert conversation.origins == {1: "host", 2: "summary", 3: "host"}
    assert set(conversation.notes) == {
        "1 custom records skipped",
        "1 messages of role fileMention skipped",
        "1 messages of role bashExecution skipped",
        "1 label records skipped",
    }


@given(damaged(SESSION))
def test_a_damaged_session_is_read_or_refused(records: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in records), None)


# the recorded one ------------------------------------------------------------------------------------------------

recorded = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)


@pytest.fixture(scope="module")
def long() -> Conversation:
    (conversation,) = files.read((TRANSCRIPTS / "pi_before-compaction.jsonl").read_bytes())
    return conversation


@recorded
def test_the_long_session(long: Conversation) -> None:
    """990 messages: 15 assistant's that say nothing go, 3 commands become two each, 6 interrupted calls are closed."""
    messages = [formats.get("anthropic").parse(raw) for raw in long.messages]
    assert len(messages) == 990 - 15 + 3 + 6
    assert sum(message.origin == "human" for message in messages) == 55
    assert sum(len(message.calls) for message in messages) == 454 + 3
    assert sum(len(message.results) for message in messages) == 448 + 6 + 3
    sendable(long)


@recorded
def test_case_04_calls_of_an_aborted_turn_are_closed(long: Conversation) -> None:
    assert "6 interrupted calls closed with a synthetic result" in long.notes
    assert "18 assistant messages that were aborted" in long.notes


@recorded
def test_case_07_empty_assistant_messages_are_left_out(long: Conversation) -> None:
    """13 hold nothing, 2 nothing but reasoning that was cut off."""
    assert "15 empty assistant messages skipped" in long.notes


@recorded
def test_case_08_two_compactions_are_inside(long: Conversation) -> None:
    """Entries 359 and 628, which kept the entries from 293 and 551 on: both are what a human said."""
    first, second = long.earlier
    assert (first.tokens_before, len(first.summary)) == (175004, 4269)
    assert (second.tokens_before, len(second.summary)) == (185014, 3637)
    assert texts(long)[first.covered] == "i reviwed what we have, it's good. continue"
    assert texts(long)[second.covered] == "can leave it"
    assert formats.get("anthropic").parse(long.messages[first.at]).origin == "human"


@recorded
def test_case_09_a_huge_message_is_kept_whole(long: Conversation) -> None:
    """Record 466, a result of 57 kB, the largest of all."""
    results = [part for raw in long.messages for _, part in formats.get("anthropic").parse(raw).results]
    assert max(len(part.text.encode()) for part in results) > 50_000


@recorded
def test_case_11_signed_reasoning_is_kept_as_it_was(long: Conversation) -> None:
    blocks = [b for raw in long.messages for b in raw["content"] if isinstance(b, dict)]
    assert sum(block["type"] == "thinking" for block in blocks) == 47
    assert "2 reasoning without a signature skipped" in long.notes


@recorded
def test_case_13_commands_of_the_user_are_evidence(long: Conversation) -> None:
    assert "3 commands the user ran shown as a call and its result" in long.notes


@recorded
def test_case_15_errors_are_marked(long: Conversation) -> None:
    results = [part for raw in long.messages for _, part in formats.get("anthropic").parse(raw).results]
    assert sum(part.is_error is True for part in results) == 12


@recorded
def test_usage_calibrates_the_estimate_to_within_10_percent(long: Conversation) -> None:
    """Before each reply its request is predicted from the ones before it; of system prompt and tools nothing is known.

    Measured: 0.9 % on average over 469 requests.
    """
    format_ = formats.get(long.format)
    tokens = [format_.parse(raw).tokens for raw in long.messages]
    learnt, errors = Calibration(factor=prior("claude-opus-4-5")), []
    for i, reported in sorted(long.reported.items()):
        made = [earlier for earlier in long.earlier if earlier.at <= i]
        summary = format_.estimate(format_.user(made[-1].summary)) if made else 0
        estimate = summary + sum(tokens[made[-1].covered if made else 0 : i])
        errors.append(abs(learnt.real(estimate) - reported) / reported)
        learnt = learnt.observe(estimate, reported)
    assert len(errors) == 469
    assert sum(errors) / len(errors) < 0.02
    assert sum(error > 0.10 for error in errors) <= 5  # among them the first, before anything was learnt
