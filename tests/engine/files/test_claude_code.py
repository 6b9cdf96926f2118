"""Sessions of Claude Code: each rule on a miniature."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import Conversation, Earlier
from tests.engine.files.claude_sample import (
    assistant,
    call,
    compaction,
    flat,
    line,
    parallel,
    result,
    text,
    thinking,
    user,
)
from tests.engine.files.shown import shown
from tests.engine.strategies import damaged
from tests.engine.test_files import lines, read_or_refused, sendable

FOLLOWED = [*parallel(), user("8", "7", "go on"), assistant("9", "8", text("done"), id_="m3")]


def one(*records: Any) -> Conversation:
    (conversation,) = files.read(lines(*records))
    return conversation


PARALLEL = [
    ("human", "look around"),
    ("assistant", "t1 t2"),
    ("tool", "=t1"),
    ("tool", "=t2"),
    ("assistant", "two files"),
]


def test_a_message_stands_on_several_lines() -> None:
    conversation = one(*parallel())
    assert shown(conversation) == PARALLEL
    assert [b["type"] for b in conversation.messages[1]["content"]] == ["thinking", "tool_use", "tool_use"]
    assert conversation.reported == {1: 543, 4: 543}
    assert (conversation.title, conversation.format, conversation.source_format) == ("s1", "anthropic", "claude-code")
    assert conversation.notes == ("1 progress lines skipped", "2 lines that are parts of one message")
    sendable(conversation)


def test_what_the_host_keeps_beside_a_message_is_not_read() -> None:
    assert "stdout" not in json.dumps(one(*parallel()).messages)


def test_the_branch_that_ends_in_the_newest_message_is_live() -> None:
    old = [user("8", "7", "first try"), assistant("9", "8", text("no"), id_="m3")]
    new = [user("10", "7", "second try"), assistant("11", "10", text("yes"), id_="m4")]
    late = line("progress", "12", "9", data={"type": "hook_progress"})
    conversation = one(*parallel(), *old, *new, late)
    assert shown(conversation) == [*PARALLEL, ("human", "second try"), ("assistant", "yes")]
    assert "2 lines of abandoned branches and repeated ones skipped" in conversation.notes


def test_a_resumed_session_copies_a_branch_and_leaves_out_what_ran_beside() -> None:
    """The copy has new names, one of two calls, and the same ids inside: nothing comes twice, nothing is lost."""
    copy = [record for record in parallel("r", None) if record["uuid"] not in ("r3", "rp", "r5")]
    copy[2]["parentUuid"] = "r2"
    conversation = one(*parallel(), *copy, user("8", "r7", "go on"))
    assert shown(conversation) == [*PARALLEL, ("human", "go on")]
    sendable(conversation)


def test_a_line_written_again_under_its_name_takes_the_old_ones_place() -> None:
    conversation = one(user("1", None, "frist"), assistant("2", "1", text("?"), id_="m"), user("1", None, "first"))
    assert shown(conversation) == [("human", "first"), ("assistant", "?")]
    assert "1 lines written again under the same name" in conversation.notes


def test_a_line_written_again_keeps_its_place_in_the_tree() -> None:
    again = user("8", None, "go on!")
    del again["parentUuid"]
    assert shown(one(*FOLLOWED, again))[5:] == [("human", "go on!"), ("assistant", "done")]


def test_a_compaction_becomes_a_boundary() -> None:
    conversation = one(*FOLLOWED, *compaction("9"), user("a", "c1", "and now?"))
    assert shown(conversation) == [*PARALLEL, ("human", "go on"), ("assistant", "done"), ("human", "and now?")]
    assert conversation.earlier == (Earlier(at=7, covered=7, summary="what was done", tokens_before=150_000),)


@pytest.mark.parametrize(
    "about",
    [
        {"preservedSegment": {"headUuid": "8", "anchorUuid": "c1", "tailUuid": "9"}},
        {"preservedMessages": {"anchorUuid": "c1", "uuids": ["8", "9"], "allUuids": ["8", "9"]}},
        {"preservedMessages": {"anchorUuid": "c1", "uuids": ["gone", "8"]}},
    ],
)
def test_messages_a_compaction_preserved_are_not_covered(about: dict[str, Any]) -> None:
    conversation = one(*FOLLOWED, *compaction("9", **about), user("a", "c1", "and now?"))
    assert [(e.at, e.covered) for e in conversation.earlier] == [(7, 5)]
    assert len(conversation.messages) == 8


def test_what_was_preserved_may_begin_inside_a_message() -> None:
    segment = {"headUuid": "4", "anchorUuid": "c1", "tailUuid": "9"}
    assert one(*FOLLOWED, *compaction("9", preservedSegment=segment), user("a", "c1", "so?")).earlier[0].covered == 1


def test_a_compaction_goes_on_with_the_line_it_names_else_with_the_one_before_it() -> None:
    aside = user("z", "7", "never mind")
    named = one(*FOLLOWED, aside, *compaction("9"), user("a", "c1", "so?"))
    assert [said for _, said in shown(named)][5:] == ["go on", "done", "so?"]
    boundary, summary = compaction("9")
    del boundary["logicalParentUuid"]
    unnamed = one(*FOLLOWED, boundary, summary, user("a", "c1", "so?"))
    assert [said for _, said in shown(unnamed)][5:] == ["go on", "done", "so?"]


def test_a_second_compaction_stands_behind_the_first() -> None:
    more = [user("a", "c1", "and now?"), assistant("b", "a", text("more"), id_="m5")]
    conversation = one(*FOLLOWED, *compaction("9"), *more, *compaction("b", 2, "all of it"), user("d", "c2", "end"))
    assert [(e.at, e.covered, e.summary) for e in conversation.earlier] == [
        (7, 7, "what was done"),
        (9, 9, "all of it"),
    ]


def test_a_summary_without_a_boundary_goes_on_with_what_stands_before() -> None:
    conversation = one(*FOLLOWED, user("c", None, "what was done", isCompactSummary=True), user("d", "c", "so?"))
    assert [(e.at, e.covered, e.tokens_before) for e in conversation.earlier] == [(7, 7, 0)]
    assert len(conversation.messages) == 8


def test_a_compaction_that_broke_off_is_none() -> None:
    conversation = one(*FOLLOWED, compaction("9")[0], user("a", "b1", "so?"))
    assert conversation.earlier == ()
    assert "1 compactions without a summary skipped" in conversation.notes


def test_the_summary_of_another_files_session_stays_a_message() -> None:
    told = "This session is being continued from a previous conversation that ran out of context. It was long."
    conversation = one(user("1", None, told), assistant("2", "1", text("I go on"), id_="m"))
    assert shown(conversation) == [("summary", told), ("assistant", "I go on")]
    assert conversation.earlier == ()


@pytest.mark.parametrize(
    ("content", "fields", "origin"),
    [
        ("fix it", {}, "human"),
        ("fix it", {"isMeta": True}, "host"),
        ("fix it", {"origin": {"kind": "human"}}, "human"),
        ("fix it", {"origin": {"kind": "task-notification"}}, "host"),
        ("<command-name>/clear</command-name>", {}, "host"),
        ("<local-command-stdout>x</local-command-stdout>", {}, "host"),
        ("<task-notification>\n<task-id>a</task-id>", {}, "host"),
        ("Caveat: The messages below were generated by the user while running local commands. DO NOT", {}, "host"),
        ([text("[Request interrupted by user for tool use]")], {}, "host"),
        ([text("<ide_opened_file>a.py</ide_opened_file>")], {}, "host"),
        ([text("<ide_opened_file>a.py</ide_opened_file>"), text("fix it")], {}, "human"),
        ("<div> is not closed", {}, "human"),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}], {}, "human"),
    ],
)
def test_who_wrote_what_stands_in_the_users_role(content: Any, fields: dict[str, Any], origin: str) -> None:
    conversation = one(user("1", None, "hi"), user("2", "1", content, **fields))
    assert shown(conversation)[1][0] == origin


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({"prompt": "use tabs", "commandMode": "prompt"}, "human"),
        ({"prompt": [text("use tabs")]}, "human"),
        ({"prompt": "use tabs", "commandMode": "task-notification"}, "host"),
        ({"prompt": "use tabs", "isMeta": True}, "host"),
    ],
)
def test_text_typed_while_the_agent_worked(fields: dict[str, Any], origin: str) -> None:
    records = parallel()
    queued = line("attachment", "q", "6", attachment={"type": "queued_command", **fields})
    other = line("attachment", "r", "q", attachment={"type": "deferred_tools_delta", "addedNames": ["x"]})
    records[-1]["parentUuid"] = "r"
    conversation = one(*records[:-1], queued, other, records[-1])
    assert shown(conversation) == [*PARALLEL[:4], (origin, "use tabs"), PARALLEL[4]]


def test_agents_are_conversations_of_their_own() -> None:
    side = {"isSidechain": True}
    records = [
        user("a1", None, "search", **side, agentId="a"),
        assistant("a2", "a1", text("found"), id_="ma", **side, agentId="a"),
        user("x1", None, "count", **side),
        assistant("x2", "x1", text("seven"), id_="mx", **side),
    ]
    main, first, second = files.read(lines(*parallel(), *records))
    assert shown(main) == PARALLEL
    assert (first.title, shown(first)) == ("agent a", [("host", "search"), ("assistant", "found")])
    assert (second.title, shown(second)) == ("agent x1", [("host", "count"), ("assistant", "seven")])


def test_agents_whose_work_is_reported_as_progress() -> None:
    said = {"type": "user", "uuid": "n1", "message": {"role": "user", "content": [text("search")]}}
    did = {"type": "assistant", "uuid": "n2", "message": assistant("", None, call("t9"), id_="mn")["message"]}
    data = [{"type": "agent_progress", "agentId": "n", "message": inner} for inner in (said, did)]
    main, agent = files.read(lines(*parallel(), *(line("progress", f"q{i}", "4", data=d) for i, d in enumerate(data))))
    assert shown(main) == PARALLEL
    assert shown(agent) == [("host", "search"), ("assistant", "t9")]


def test_reasoning_that_cannot_be_sent_is_dropped() -> None:
    unsigned = {"type": "thinking", "thinking": "hm"}
    conversation = one(
        user("1", None, "hi"),
        assistant("2", "1", unsigned, text("hello"), id_="m1"),
        user("3", "2", "and?"),
        assistant("4", "3", text("so"), thinking(), id_="m2"),
    )
    assert [b["type"] for raw in conversation.messages[1::2] for b in raw["content"]] == ["text", "text"]
    assert {"1 reasoning without a signature skipped", "1 unfinished reasoning skipped"} <= set(conversation.notes)


def test_lines_that_are_no_messages() -> None:
    error = assistant("e", "1", text("API Error: overloaded"), id_="me", isApiErrorMessage=True)
    seen = user("v", "1", "shown only", isVisibleInTranscriptOnly=True)
    conversation = one(user("1", None, "hi"), error, seen, "text", 42, [1], {"silly": "x"}, {"type": "summary"})
    assert shown(conversation) == [("human", "hi")]
    assert conversation.notes == (
        "1 lines of API errors skipped",
        "1 user lines that are no message skipped",
        "3 lines that are no objects skipped",
        "1 untyped lines skipped",
        "1 summary lines skipped",
    )


def test_a_broken_line_does_not_end_the_conversation() -> None:
    records = lines(*FOLLOWED).split("\n")
    records[-3] = records[-3][:40]  # the reply that the next human message names
    (conversation,) = files.read("\n".join(records))
    assert shown(conversation) == [*PARALLEL[:4], ("human", "go on"), ("assistant", "done")]


def test_a_recording_that_sets_in_with_a_reply() -> None:
    conversation = one(assistant("2", "1", call("t1"), id_="m"), user("3", "2", result("t1")))
    assert shown(conversation) == [
        ("host", "[what was said before this was not recorded]"),
        ("assistant", "t1"),
        ("tool", "=t1"),
    ]
    sendable(conversation)


def test_calls_without_ids_are_answered_in_order() -> None:
    use, answer = {"type": "tool_use", "name": "Bash", "input": {}}, {"type": "tool_result", "content": "x"}
    records = [user("1", None, "hi"), assistant("2", "1", use, {**use, "id": "t"}, use, id_="m")]
    conversation = one(*records, user("3", "2", [answer, *result("t"), answer]))
    assert shown(conversation)[1:] == [("assistant", "call_1 t call_2"), ("tool", "=call_1 =t =call_2")]
    assert "2 missing call ids given by order" in conversation.notes


def test_an_export_has_no_tree() -> None:
    records = flat(
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call("t1")]},
        {"role": "user", "content": result("t1")},
    )
    records.append({"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "said hi"}})
    value = json.dumps({"loglines": records})
    assert files.detect(value) == ("claude-code-loglines", "an object has a list of loglines")
    (conversation,) = files.read(value)
    assert shown(conversation) == [("human", "hi"), ("assistant", "t1"), ("tool", "=t1")]
    assert [(e.at, e.covered, e.summary) for e in conversation.earlier] == [(3, 3, "said hi")]


@given(damaged([*FOLLOWED, *compaction("9"), user("a", "c1", "so?")]))
def test_a_damaged_session_is_read_or_refused(records: list[Any]) -> None:
    read_or_refused("\n".join(json.dumps(record, default=str) for record in records), None)
    read_or_refused(json.dumps({"loglines": records}, default=str), None)
