"""Chats in which tools are called by text: which files they are, and who speaks in the user's place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import files, formats
from offturn_engine.files import Conversation
from tests.engine.strategies import damaged, transcripts
from tests.engine.test_files import MISSING, TRANSCRIPTS, read_or_refused, sendable

Raw = dict[str, Any]


def said(role: str, content: Any, **fields: Any) -> Raw:
    return {"role": role, "content": content, **fields}


TALK: list[Raw] = [
    said("system", "You are an agent."),
    said("user", "fix it"),
    said("assistant", "I look.\n<function=bash>\n<parameter=command>ls</parameter>\n</function>", extra={"cost": 1}),
    said("user", "OBSERVATION:\na"),
    said("assistant", "Which one?"),
    said("user", "the first"),
    said("assistant", "```mswea_bash_command\nmake\n```"),
    said("user", ""),
    said("assistant", ""),
    said("assistant", "<function=submit>\n</function>"),
]


def read(value: Any, format: str | None = None) -> Conversation:  # noqa: A002 -- the parameter of read()
    (conversation,) = files.read(json.dumps(value), format=format)
    sendable(conversation)
    return conversation


def test_observations_are_what_answers_an_action() -> None:
    conversation = read(TALK)
    assert conversation.format == "text-observation"
    kept = [{"role": m["role"], "content": m["content"]} for m in TALK if m != TALK[8]]
    assert list(conversation.messages) == kept
    assert conversation.origins == {3: "tool", 7: "tool"}
    assert conversation.notes == ("1 empty messages skipped",)


def test_how_a_run_ended_is_no_message() -> None:
    run = {"info": {}, "messages": [*TALK[:4], said("exit", "Submitted", extra={})], "trajectory_format": "x"}
    conversation = read(run)
    assert len(conversation.messages) == 4
    assert conversation.notes == ("1 records of how the run ended skipped",)


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        (TALK, "text-observation"),
        (TALK[1:4], "text-observation"),
        (
            [TALK[1], said("assistant", "```bash\nls\n```"), said("user", "<returncode>0</returncode>")],
            "text-observation",
        ),
        ([TALK[1], said("assistant", "Run this:\n```bash\nls\n```"), said("user", "thanks")], "openai-chat"),
        ([TALK[1], said("assistant", "`<function=a>` is a tag."), said("user", "thanks")], "openai-chat"),
    ],
)
def test_which_files_are_of_this_kind(messages: list[Raw], name: str) -> None:
    assert files.detect(json.dumps({"messages": messages}))[0] == name


@given(st.data())
def test_a_good_transcript_comes_back_unchanged(data: st.DataObject) -> None:
    messages = data.draw(transcripts("text-observation", unanswered=False, inside=False))
    kept = [m for m in messages if m["content"]]
    read = [raw for c in files.read(json.dumps(messages), format="text-observation") for raw in c.messages]
    assert [m for m in read if m["content"]] == kept


@given(damaged([TALK]))
def test_a_damaged_talk_is_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value[0], default=str), "text-observation")


RECORDED = [
    ("miniswe_github_issue.json", 22, 10, 10),
    ("swesmith_adp_0.json", 31, 15, 14),
    ("swesmith_adp_4.json", 77, 38, 37),
    ("swesmith_ftxml_0.json", 75, 37, 36),
    ("swesmith_ftxml_2.json", 45, 22, 21),
]


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
@pytest.mark.parametrize(("file", "messages", "calls", "results"), RECORDED)
def test_case_12_tool_results_that_wear_the_user_role(file: str, messages: int, calls: int, results: int) -> None:
    data = (TRANSCRIPTS / file).read_bytes()
    assert files.detect(data)[0] == "text-observation"
    (conversation,) = files.read(data)
    format_ = formats.get("text-observation")
    parsed = [format_.parse(raw, origin=conversation.origins.get(i)) for i, raw in enumerate(conversation.messages)]
    assert len(parsed) == messages
    assert sum(len(message.calls) for message in parsed) == calls
    assert sum(len(message.results) for message in parsed) == results
    assert [i for i, message in enumerate(parsed) if message.origin == "human"] == [1]
    assert conversation.notes == ()
