"""Rollouts of Codex: a miniature of each record, the recorded ones, and the log of its screen."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier, UnreadableFile
from tests.engine.files.shown import parsed, recorded, shown
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, lines, read_or_refused, sendable

Raw = dict[str, Any]
SEALED = {"type": "compaction", "encrypted_content": "gAAAA"}
PREFIX = "Another language model started to solve this problem and left this:"


def item(kind: str, **fields: Any) -> Raw:
    return {
        "timestamp": "t",
        "type": "response_item",
        "payload": {"type": kind, **fields, "metadata": {"turn_id": "1"}},
    }


def said(role: str, text: str) -> Raw:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def called(call: str, **fields: Any) -> Raw:
    return item("function_call", **({"name": "shell", "arguments": '{"command": ["ls"]}', "call_id": call} | fields))


def output(call: str, value: Any = "a.py") -> Raw:
    return item("function_call_output", call_id=call, output=value)


def event(kind: str, **fields: Any) -> Raw:
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, **fields}}


def usage(tokens: int) -> Raw:
    return event("token_count", info={"last_token_usage": {"input_tokens": tokens, "cached_input_tokens": 5}})


def compacted(message: str, *history: Raw) -> Raw:
    return {"type": "compacted", "payload": {"message": message, "replacement_history": list(history)}}


META: Raw = {
    "type": "session_meta",
    "payload": {"id": "s1", "source": "cli", "base_instructions": {"text": "You are Codex."}},
}
THOUGHT = item("reasoning", summary=[], content=None, encrypted_content="gAAAA")
ROLLOUT: list[Raw] = [
    META,
    said("user", "<environment_context>\n<cwd>/project</cwd>"),
    event("user_message", message="look"),
    said("user", "look"),
    THOUGHT,
    called("c1"),
    item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    usage(900),
    output("c1"),
    item("custom_tool_call_output", call_id="c2", output=[{"type": "input_text", "text": "ok"}]),
    said("assistant", "one file"),
    usage(1000),
    usage(1001),
]
LOOKED = [
    ("host", "<environment_context>\n<cwd>/project</cwd>"),
    ("human", "look"),
    ("assistant", ""),
    ("assistant", "c1"),
    ("assistant", "custom_tool_call:c2"),
    ("tool", "=c1"),
    ("tool", "=custom_tool_call:c2"),
    ("assistant", "one file"),
]


def one(*records: Raw) -> Conversation:
    (conversation,) = files.read(lines(*records))
    return conversation


def test_items() -> None:
    assert files.detect(lines(*ROLLOUT)) == ("codex", "records such as session_meta hold a payload")
    conversation = one(*ROLLOUT)
    assert shown(conversation) == LOOKED
    assert (conversation.title, conversation.system, conversation.format) == (
        "s1",
        "You are Codex.",
        "openai-responses",
    )
    assert conversation.messages[2] == {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
    sendable(conversation)


def test_usage_is_of_the_request_that_the_first_item_of_a_reply_answers() -> None:
    assert one(*ROLLOUT).reported == {2: 900, 7: 1000}


def test_what_is_repaired_of_items() -> None:
    conversation = one(
        META,
        item(
            "message",
            role="user",
            content=[{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": None}],
        ),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        called("c1", arguments=None),
        output("c1", {"type": "input_text", "text": "a.py"}),
        called("c2", arguments={"command": "ls"}),
        output("c2", {"content": "b.py", "success": True}),
        item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}),
        output("c3"),
        item("ghost_snapshot", ghost_commit={}),
        item(
            "agent_message", author="a", content=[{"type": "input_text", "text": "done"}, {"type": "encrypted_content"}]
        ),
        item("message", role="assistant", content=[]),
        THOUGHT,
    )
    assert shown(conversation) == [
        ("human", "hi"),
        ("assistant", "c1"),
        ("tool", "=c1"),
        ("assistant", "c2"),
        ("tool", "=c2"),
        ("assistant", "c3"),
        ("tool", "=c3"),
        ("host", "done"),
    ]
    assert [raw["output"] for raw in conversation.messages[2:7:2]] == [
        [{"type": "input_text", "text": "a.py"}],
        "b.py",
        "a.py",
    ]
    assert set(conversation.notes) == {
        "1 ghost_snapshot items skipped",
        "1 messages between agents, shown as the host's",
        "1 images without data skipped",
        "1 reasoning that is not encrypted skipped",
        "2 arguments that were objects written as JSON text",
        "1 empty assistant messages skipped",
        "1 unfinished reasoning skipped",
    }
    sendable(conversation)


def test_calls_and_outputs_that_stand_alone_are_paired() -> None:
    conversation = one(
        META, said("user", "hi"), item("custom_tool_call_output", call_id="c1", output="x"), said("user", "and?")
    )
    assert shown(conversation)[1:3] == [("assistant", "custom_tool_call:c1"), ("tool", "=custom_tool_call:c1")]
    conversation = one(META, said("user", "hi"), called("c1"), said("user", "and?"))
    assert shown(conversation)[1:3] == [("assistant", "c1"), ("tool", "=c1")]
    sendable(conversation)


@pytest.mark.parametrize(
    ("records", "summary", "opaque"),
    [
        ([compacted("looked")], "looked", None),
        ([compacted(f"{PREFIX}\nlooked", said("user", "look")["payload"])], "looked", None),
        ([compacted("", said("user", f"{PREFIX}\nlooked")["payload"])], "looked", None),
        ([said("assistant", "looked"), compacted(f"{PREFIX}\nlooked")], "looked", None),
        ([compacted("", said("user", "look")["payload"], SEALED)], "", SEALED),
        (
            [item("compaction", encrypted_content="gAAAA"), compacted("", said("user", "look")["payload"], SEALED)],
            "",
            SEALED,
        ),
        ([item("compaction", encrypted_content="gAAAA")], "", SEALED),
    ],
)
def test_a_compaction_becomes_a_boundary(records: list[Raw], summary: str, opaque: Any) -> None:
    conversation = one(*ROLLOUT, *records, said("user", "go on"))
    assert conversation.earlier == (Earlier(at=8, covered=8, summary=summary, opaque=opaque),)
    assert shown(conversation) == [*LOOKED, ("human", "go on")]


def test_every_compaction_is_one() -> None:
    conversation = one(
        *ROLLOUT, compacted("", SEALED), compacted("", SEALED), compacted("", said("user", "x")["payload"])
    )
    assert [(e.at, e.covered) for e in conversation.earlier] == [(8, 8), (8, 8)]
    assert "1 compactions without a summary skipped" in conversation.notes


def test_turns_rolled_back_are_gone_with_what_the_host_put_before_them() -> None:
    more = [said("user", "# AGENTS.md instructions\nno"), said("user", "more"), said("assistant", "ok")]
    back = event("thread_rolled_back", num_turns=1)
    conversation = one(*ROLLOUT, *more, back, said("user", "else"))
    assert shown(conversation) == [*LOOKED, ("human", "else")]
    assert "3 items of turns rolled back skipped" in conversation.notes


def test_a_rollback_undoes_a_compaction_it_goes_behind() -> None:
    records = [*ROLLOUT, said("user", "more"), compacted("looked"), said("assistant", "ok")]
    conversation = one(*records, event("thread_rolled_back", num_turns=1))
    assert (shown(conversation), conversation.earlier) == (LOOKED, ())


def test_another_agent_speaks_in_the_users_role() -> None:
    meta = {"type": "session_meta", "payload": {"id": "s2", "source": {"subagent": {"other": "x"}}}}
    conversation = one(meta, META, said("user", "count"), said("assistant", "7"))
    assert (conversation.title, shown(conversation)) == ("s2", [("host", "count"), ("assistant", "7")])


@given(
    damaged(
        [
            *ROLLOUT,
            item("compaction", encrypted_content="gAAAA"),
            compacted("", SEALED),
            said("user", "go on"),
            event("thread_rolled_back", num_turns=1),
        ]
    )
)
def test_a_damaged_rollout_is_read_or_refused(records: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in records), None)


def test_the_log_of_a_screen_is_refused_by_name() -> None:
    log = lines({"ts": "t", "dir": "meta", "kind": "session_start"}, {"ts": "t", "dir": "to_tui", "kind": "key_event"})
    assert files.detect(log)[0] == "codex-screen-log"
    with pytest.raises(UnreadableFile, match="log of Codex's screen"):
        files.read(log)


# recorded ones ---------------------------------------------------------------------------------------------------

recorded_only = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)


@recorded_only
def test_case_08_six_compactions_are_inside() -> None:
    """Records 25, 46, 68, 80, 88, 110: the first has no text."""
    (conversation,) = recorded("codex_stage0_compacted.jsonl")
    assert [e.at for e in conversation.earlier] == sorted(e.at for e in conversation.earlier)
    assert [(bool(e.summary), bool(e.opaque)) for e in conversation.earlier] == [
        (False, True),
        (True, True),
        (True, True),
        (True, True),
        (True, True),
        (True, True),
    ]


@recorded_only
def test_a_sanitised_rollout() -> None:
    """Five calls have their output, a search for tools among them; one search has none, one output comes without its call."""
    (conversation,) = recorded("codex_stage0_compacted.jsonl")
    messages = parsed(conversation)
    assert Counter(m.origin for m in messages) == {"human": 1, "host": 2, "system": 1, "assistant": 12, "tool": 7}
    assert sum(len(m.calls) for m in messages) == sum(len(m.results) for m in messages) == 7
    assert conversation.reported == {7: 16341}
    assert "1 results without a call given one" in conversation.notes
    sendable(conversation)


@recorded_only
def test_a_rollout_of_short_turns() -> None:
    (conversation,) = recorded("codex_stage0_large.jsonl")
    assert Counter(m.origin for m in parsed(conversation)) == {"human": 6, "host": 1, "assistant": 7}
    assert conversation.system == "large"
    assert conversation.reported == {1: 12091}


@recorded_only
def test_the_recorded_log_of_a_screen_is_never_taken_for_a_session() -> None:
    data = (TRANSCRIPTS / "codex_tui_oss_story.jsonl").read_bytes()
    assert files.detect(data)[0] == "codex-screen-log"
    with pytest.raises(UnreadableFile, match=r"rollout-\*\.jsonl"):
        files.read(data)
