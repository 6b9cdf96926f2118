"""Readers of transcript files: recorded ones, small ones of each shape, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import files, formats
from offturn_engine.files import Conversation, UnreadableFile
from offturn_engine.groups import pair
from tests.engine.strategies import damaged, json_values, transcripts

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"
MISSING = "the folder shared/transcripts is not beside this checkout"
READ_FROM = {
    "openai_chat": "openai-chat",
    "taubench": "taubench",
    "taubench_bundle": "taubench",
    "pi_session": "pi",
    "opencode_events": "opencode",
    "gemini_cli": "gemini-cli",
    "qwen_code": "qwen-code",
    "openhands_events": "openhands",
    "sweagent_traj": "swe-agent",
    "chat_textobs": "text-observation",
    "tau2_results": "tau2",
    "inspect_log": "inspect",
    "claude_code": "claude-code",
    "claude_code_loglines": "claude-code-loglines",
    "codex_rollout": "codex",
    "copilot_events": "copilot",
    "kimi_wire": "kimi",
    "hermes_session": "hermes",
    "cline_session": "cline",
}
EMPTY = ("cc_episodic_medium.jsonl",)
"""Recorded files without a conversation."""


def recorded(kind: str = "") -> list[Any]:
    """The recorded files whose format starts like `kind`."""
    manifest = TRANSCRIPTS / "MANIFEST.json"
    if not manifest.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=MISSING), id="none")]
    entries = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    chosen = [entry for entry in entries if entry["format"] in READ_FROM and entry["format"].startswith(kind)]
    return [pytest.param(entry, id=entry["file"]) for entry in chosen]


def data_of(entry: dict[str, Any]) -> bytes:
    path: Path = TRANSCRIPTS / entry["file"]
    return path.read_bytes()


def one(value: Any, format: str | None = None) -> Conversation:  # noqa: A002 -- the parameter of read()
    (conversation,) = files.read(json.dumps(value), format=format)
    return conversation


def lines(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records)


def sendable(conversation: Conversation) -> None:
    """Accepted message by message, and as a list, but for calls that end it."""
    format_ = formats.get(conversation.format)
    messages = [format_.parse(raw, index=i) for i, raw in enumerate(conversation.messages)]
    assert pair(messages).orphans == ()
    assert {problem.rule for problem in format_.problems(conversation.messages)} <= {"pending"}


@pytest.mark.parametrize("entry", recorded())
def test_recorded_files_read_and_parse(entry: dict[str, Any]) -> None:
    data = data_of(entry)
    assert files.detect(data)[0] == READ_FROM[entry["format"]]
    conversations = files.read(data)
    assert bool(conversations) == (entry["file"] not in EMPTY)
    assert all(conversation.messages for conversation in conversations)
    for conversation in conversations:
        sendable(conversation)
    assert files.read(data.decode().splitlines()) == conversations


@pytest.mark.parametrize("entry", recorded("taubench"))
def test_taubench_is_unchanged(entry: dict[str, Any]) -> None:
    data = json.loads(data_of(entry))
    recordings = data if isinstance(data, list) else [data]
    conversations = files.read(data_of(entry))
    assert [list(c.messages) for c in conversations] == [r["traj"] for r in recordings]
    assert {c.notes for c in conversations} == {()}


USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "hello"}


@pytest.mark.parametrize(
    "value",
    [
        [USER, REPLY],
        {"messages": [USER, REPLY]},
        [{"messages": [USER, REPLY]}],
        [[USER, REPLY]],
        {"messages": [USER, REPLY], "tools": [], "kwargs": {}, "response": {}},
    ],
)
def test_shapes_of_openai_chat(value: Any) -> None:
    assert files.detect(json.dumps(value))[0] == "openai-chat"
    conversation = one(value)
    assert conversation.messages == (USER, REPLY)
    assert (conversation.format, conversation.source_format) == ("openai-chat", "openai-chat")


def test_what_stands_beside_the_messages_is_noted() -> None:
    conversation = one({"id": "s1", "messages": [USER], "tools": [], "response": {}, "system_prompt": "be kind"})
    assert conversation.title == "s1"
    assert conversation.system == "be kind"
    assert conversation.notes == (
        "1 tools beside the messages not read",
        "1 response beside the messages not read",
        "1 system prompt beside the messages, not part of the transcript",
    )


def test_json_lines() -> None:
    text = "# recorded by hand\n\n" + lines(USER, REPLY) + "\n"
    (conversation,) = files.read(text)
    assert conversation.messages == (USER, REPLY)
    assert conversation.notes == ("1 comment lines skipped",)
    several = files.read(lines({"messages": [USER]}, {"messages": [REPLY, USER]}))
    assert [len(c.messages) for c in several] == [1, 2]


def test_a_last_line_cut_while_written_is_skipped() -> None:
    (conversation,) = files.read(lines(USER, REPLY) + '\n{"role": "us')
    assert conversation.messages == (USER, REPLY)
    assert conversation.notes == ("1 last line cut short, skipped",)


@pytest.mark.parametrize(
    "value",
    [
        {"system": "be kind", "messages": [USER, REPLY]},
        [USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}],
    ],
)
def test_shapes_of_anthropic(value: Any) -> None:
    conversation = one(value)
    assert conversation.format == "anthropic"
    assert conversation.system == (value["system"] if isinstance(value, dict) else None)
    sendable(conversation)


def test_anthropic_repairs() -> None:
    use = {"type": "tool_use", "id": "t", "name": "ls", "input": '{"path": "."}'}
    text = {"type": "text", "text": "so"}
    messages = [
        {"role": "system", "content": "be kind"},
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": ""}, use]},
        {"role": "user", "content": [text]},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "lost", "content": "x"}]},
    ]
    conversation = one(messages, "anthropic")
    assert conversation.system == "be kind"
    assert conversation.notes == (
        "1 system messages moved out of the list",
        "1 inputs that were not objects made one",
        "1 blank text blocks skipped",
        "1 empty assistant messages skipped",
        "1 interrupted calls closed with a synthetic result",
        "1 results without a call given one",
    )
    assert conversation.messages[1]["content"] == [use | {"input": {"path": "."}}]
    sendable(conversation)


def test_openai_repairs() -> None:
    messages = [
        USER,
        {"role": "tool", "content": "seen before any call"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a", "arguments": {"x": 1}}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": "b", "arguments": {}}]},
        {"role": "tool", "content": None},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": {"a": 1}},
        {"role": "user", "content": None},
        {"role": "session_meta", "usage": 7},
    ]
    conversation = one(messages)
    sendable(conversation)
    assert set(conversation.notes) == {
        "2 arguments that were objects written as JSON text",
        "1 calls with a bare function name reshaped",
        "1 results without content made empty text",
        "1 empty lists of calls dropped",
        "1 empty assistant messages skipped",
        "1 contents that were not text written as JSON text",
        "1 empty user messages skipped",
        "1 trailing records that are no messages skipped",
        "4 missing tool ids given by order",
        "1 interrupted calls closed with a synthetic result",
        "1 results without a call given one",
    }
    names = [call["function"]["name"] for m in conversation.messages for call in m.get("tool_calls", ())]
    assert names == ["unrecorded_call", "a", "b"]
    assert conversation.messages[-1]["content"] == '{"a": 1}'


def test_a_result_without_an_id_answers_the_nearest_open_call() -> None:
    def calling(*names: str) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": n, "arguments": "{}"}} for n in names],
        }

    out = {"role": "tool", "content": "out"}
    conversation = one([USER, calling("a"), calling("b", "c"), out, out, USER])
    format_ = formats.get("openai-chat")
    messages = [format_.parse(raw) for raw in conversation.messages]
    ids = {call.name: call.id for message in messages for _, call in message.calls}
    answers = [result.call_id for message in messages for _, result in message.results]
    assert answers == [ids["a"], ids["b"], ids["c"]]
    assert messages[2].text == ""


def test_a_call_before_an_orphan_at_the_end_is_closed() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    conversation = one([USER, calling, {"role": "tool", "tool_call_id": "lost", "content": "x"}])
    assert [m["role"] for m in conversation.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    sendable(conversation)


def test_calls_that_end_a_file_stay_open() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert one(messages).messages == tuple(messages)


def test_lone_surrogates_are_replaced() -> None:
    assert one([{"role": "user", "content": "a\ud800b 😀"}]).messages[0]["content"] == "a\ufffdb 😀"


def pi(*records: dict[str, Any]) -> str:
    return lines({"type": "session", "id": "s1", "cwd": "/project"}, *records)


def said(role: str, *content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": list(content)} | fields}


@pytest.mark.parametrize("data", ["", " \n", b"", "[]", "{}", '{"messages": []}', "[[]]", pi(), '{"traj": []}'])
def test_no_conversation(data: str | bytes) -> None:
    assert files.read(data) == []


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ("not json", "line 1, column 1"),
        ('{"messages": [', "line 1"),
        ('{"role": "user", "content": "hi"}\n{oops}\n{"role": "user", "content": "hi"}', "line 2"),
        (b'{"messages": []}\n\xff', "line 2 is not UTF-8"),
        ("7", "no transcript"),
        ("null", "no transcript"),
        ('{"a": 1}', "no transcript"),
        ("[NaN]", "NaN"),
        ("[" * 100_000, "nested too deeply"),
        (json.dumps([USER, "hi"]), "message 1"),
        (json.dumps([USER, {"role": "robot", "content": "x"}, USER]), "message 1, field 'role'"),
        (json.dumps([{"role": "robot", "content": "x"}]), "message 0, field 'role'"),
        (json.dumps({"messages": [{"role": "robot"}]}), "message 0, field 'role'"),
        (json.dumps({"system": "be kind", "messages": [{"role": "robot"}]}), "message 0, field 'role'"),
        (
            json.dumps([{"role": "user", "content": None}, USER, {"role": "user", "content": [7]}]),
            r"message 2, field 'content\[0\]'",
        ),
        (json.dumps([{"tool_calls": 1}, USER]), "message 0, field 'tool_calls'"),
        (json.dumps({"traj": 7}), "no transcript"),
        (json.dumps([{"traj": []}, {"traj": 7}]), "'traj'"),
        (json.dumps([{"messages": [USER]}, {"messages": 7}]), "record 1"),
        (pi({"type": "message"}), "line 2, field 'message'"),
        (pi(said("user", 7)), r"line 2, field 'message.content\[0\]'"),
        (pi(said("toolResult", {"type": "text", "text": "x"})), "tool_use_id"),
    ],
)
def test_unreadable(data: str | bytes, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(data)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"claude-code, .*pi, .*openai-chat"):
        files.read("[]", format="word")


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
@given(data=st.data())
def test_a_good_transcript_comes_back_unchanged(name: str, data: st.DataObject) -> None:
    messages = data.draw(transcripts(name, unanswered=False))
    kept = [m for m in messages if m["role"] != "assistant" or m["content"] or "tool_calls" in m]
    kept = [m for m in kept if m["role"] != "user" or m["content"]]
    read = [raw for c in files.read(json.dumps(messages), format=name) for raw in c.messages]
    assert read == kept


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
@given(data=st.data())
def test_what_is_read_has_no_orphans_and_no_open_calls_but_last(name: str, data: st.DataObject) -> None:
    messages = data.draw(transcripts(name, orphans=True))
    for conversation in files.read(json.dumps(messages), format=name):
        parsed = [formats.get(name).parse(raw) for raw in conversation.messages]
        pairs = pair(parsed)
        assert pairs.orphans == ()
        assert all(m.origin == "tool" for i, _ in pairs.open_calls for m in parsed[i + 1 :])


@pytest.mark.parametrize("name", files.NAMES)
@given(value=json_values())
def test_any_json_is_read_or_refused(name: str, value: Any) -> None:
    try:
        text = json.dumps(value)
    except TypeError:  # bytes
        return
    for format_ in (name, None):
        read_or_refused(text, format_)
        read_or_refused(f"[{json.dumps(USER)}, {text}]", format_)


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    messages = data.draw(transcripts(name).flatmap(damaged))
    read_or_refused(json.dumps(messages, default=str), name)


def read_or_refused(text: str, format_: str | None) -> None:
    try:
        conversations = files.read(text, format=format_)
    except UnreadableFile:
        return
    for conversation in conversations:
        for raw in conversation.messages:
            formats.get(conversation.format).parse(raw)
