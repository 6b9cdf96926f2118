"""The openai-chat format, case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from offturn_engine import formats
from offturn_engine.errors import InvalidMessage
from offturn_engine.formats import openai_chat
from offturn_engine.formats._openai_parts import read
from offturn_engine.messages import (
    Edit,
    MediaPart,
    OpaquePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

FORMAT = formats.get("openai-chat")


def call(id_: Any = "c1", name: Any = "bash", arguments: Any = '{"command": "ls"}') -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Any, content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answer(id_: str = "c1", content: Any = "out") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


USER = {"role": "user", "content": "hi"}


def test_part_order() -> None:
    raw = {
        "role": "assistant",
        "refusal": "no",
        "reasoning_content": "hm",
        "tool_calls": [call("a"), call("b")],
        "content": [{"type": "text", "text": "one"}, {"type": "refusal", "refusal": "two"}],
    }
    parts = FORMAT.parse(raw).parts
    arguments = {"command": "ls"}
    assert parts == (
        TextPart("one"),
        TextPart("two"),
        ToolCallPart("a", "bash", arguments, '{"command": "ls"}'),
        ToolCallPart("b", "bash", arguments, '{"command": "ls"}'),
        TextPart("no"),
        ThinkingPart("hm", signed=False),
    )


def test_media_and_unknown_parts() -> None:
    content = [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
    ]
    parts = FORMAT.parse({"role": "user", "content": content}).parts
    assert [(type(part), part.kind) for part in parts] == [  # type: ignore[union-attr]
        (MediaPart, "image"),
        (MediaPart, "audio"),
        (MediaPart, "document"),
        (OpaquePart, "video_url"),
    ]


def test_a_result_joins_text_and_counts_media() -> None:
    image: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    content = [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}]
    attached = (MediaPart("image", len(json.dumps(image)), image["image_url"]["url"]),)
    assert FORMAT.parse(answer(content=content)).parts == (ToolResultPart("c1", "one\ntwo", None, 1, attached),)


def test_developer_is_system_and_function_is_tool() -> None:
    assert FORMAT.parse({"role": "developer", "content": "x"}).role == "system"
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    result = {"role": "function", "name": "ls", "content": None}
    (called,), (answered,) = FORMAT.parse(legacy).parts, FORMAT.parse(result).parts
    assert isinstance(called, ToolCallPart)
    assert isinstance(answered, ToolResultPart)
    assert called.id == answered.call_id
    assert FORMAT.problems([USER, legacy, result]) == []
    assert FORMAT.result(called.id, "ls", "out") == {"role": "function", "name": "ls", "content": "out"}
    edited = FORMAT.edit(FORMAT.parse(legacy), [Edit(seq=0, part=0, rule="arguments", arguments={"a": 1})])
    assert edited["function_call"] == {"name": "ls", "arguments": '{"a": 1}'}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], ""),
        ("hi", ""),
        (None, ""),
        ({"content": "hi"}, "role"),
        ({"role": "robot", "content": "hi"}, "role"),
        ({"role": ["user"], "content": "hi"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": ["hi"]}, "content[0]"),
        ({"role": "user", "content": [{"text": "hi"}]}, "content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, "content[0].text"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": None}]}, "content[0].image_url"),
        ({"role": "assistant"}, "content"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "content"),
        ({"role": "assistant", "content": None, "reasoning_content": "hm"}, "content"),
        ({"role": "assistant", "content": "x", "tool_calls": {}}, "tool_calls"),
        (calling(call(id_=None)), "tool_calls[0].id"),
        (calling(call(), call(id_="")), "tool_calls[1].id"),
        (calling(call(name=None)), "tool_calls[0].function.name"),
        (calling(call(arguments={"a": 1})), "tool_calls[0].function.arguments"),
        (calling(call(arguments=None)), "tool_calls[0].function.arguments"),
        (calling("ls"), "tool_calls[0]"),
        (calling({"id": "a", "type": "magic"}), "tool_calls[0].type"),
        ({"role": "tool", "content": "x"}, "tool_call_id"),
        ({"role": "tool", "tool_call_id": "a"}, "content"),
        (answer(content=[]), "content"),
        ({"role": "user", "content": "\udfff"}, "content"),
        ({"role": "user", "content": "x", "name": "\udfff"}, "name"),
        ({"role": "user", "content": "x", "score": float("nan")}, "score"),
        ({"role": "user", "content": "x", "at": [1, {"x": b"1"}]}, "at[1].x"),
        ({"role": "user", "content": "x", 7: 1}, ""),
        ({"role": "user", "content": "x", "n": 1 << 5000}, "n"),
    ],
)
def test_refused(raw: Any, field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        FORMAT.parse(raw, index=3)
    assert (caught.value.index, caught.value.field) == (3, field)


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": "a\0b"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "assistant", "content": "x", "tool_calls": None},
        {"role": "assistant", "refusal": "no"},
        {"role": "assistant", "content": None, "audio": {"id": "a1"}},
        answer(content=""),
        calling(call(arguments="")),
        calling(call(arguments='{"a": 1')),
        calling({"id": "c1", "function": {"name": "f", "arguments": "{}"}}),
    ],
)
def test_accepted(raw: dict[str, Any]) -> None:
    message = FORMAT.parse(raw)
    assert message.raw is raw
    assert message.tokens > 0


@pytest.mark.parametrize("source", ["", "{", "NaN", "1e999", '{"a": -Infinity}', '"\\ud800"', "[" * 100_000])
def test_arguments_that_cannot_be_written_back_are_none(source: str) -> None:
    assert FORMAT.parse(calling(call(arguments=source))).calls[0][1] == ToolCallPart("c1", "bash", None, source)


def test_edited_arguments_stay_json() -> None:
    message = FORMAT.parse(calling(call(arguments='{"content": "很长"}')))
    edited = FORMAT.edit(message, [Edit(seq=0, part=0, rule="arguments", arguments={"content": '"短"\n'})])
    source = edited["tool_calls"][0]["function"]["arguments"]
    assert json.loads(source) == {"content": '"短"\n'}
    assert "短" in source


def test_a_custom_call_takes_no_arguments() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    message = FORMAT.parse(calling(custom))
    assert message.parts == (ToolCallPart("c1", "patch", None, "*** Begin"),)
    with pytest.raises(ValueError, match="custom tool"):
        FORMAT.edit(message, [Edit(seq=0, part=0, rule="arguments", arguments={})])


def test_an_edit_keeps_other_fields() -> None:
    raw = answer(content=[{"type": "text", "text": "long"}, {"type": "text", "text": "longer"}]) | {"name": "bash"}
    edited = FORMAT.edit(FORMAT.parse(raw), [Edit(seq=0, part=0, rule="stub", text="short")])
    assert edited == raw | {"content": [{"type": "text", "text": "short"}]}


def test_without() -> None:
    message = FORMAT.parse(calling(call("a"), call("b"), content="text"))
    assert FORMAT.without(message, frozenset({0})) == calling(call("a"), call("b"), content=None)
    assert FORMAT.without(message, frozenset({1})) == calling(call("b"), content="text")
    assert FORMAT.without(message, frozenset({1, 2})) == {"role": "assistant", "content": "text"}
    assert FORMAT.without(message, frozenset({0, 1, 2})) is None


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([], ["empty"]),
        ([USER, {"role": "robot"}], ["message"]),
        ([USER, {"role": "assistant", "content": None}], ["message"]),
        ([USER, answer()], ["orphan-result"]),
        ([USER, calling(call()), answer("other")], ["orphan-result", "pending"]),
        ([USER, calling(call()), answer(), answer()], ["orphan-result"]),
        ([USER, calling(call()), USER, answer()], ["unanswered-call", "orphan-result"]),
        ([USER, calling(call("a"), call("b")), answer("b"), USER], ["unanswered-call"]),
        ([USER, calling(call("a"), call("b")), answer("b")], ["pending"]),
        ([USER, calling(call("a"), call("b")), answer("b"), answer("a"), USER], []),
        ([USER, calling(call("a"), call("a")), answer("a"), answer("a")], []),
        ([USER, calling(call("a")), answer("a"), calling(call("a")), answer("a")], []),
        ([calling(call("a")), answer("a")], []),
    ],
)
def test_problems(messages: list[dict[str, Any]], rules: list[str]) -> None:
    assert [problem.rule for problem in FORMAT.problems(messages)] == rules


def test_request_puts_the_system_prompt_first() -> None:
    assert FORMAT.request([USER], None) == {"messages": [USER]}
    assert FORMAT.request([USER], "be kind") == {"messages": [{"role": "system", "content": "be kind"}, USER]}
    given = {"role": "developer", "content": "be kind"}
    assert FORMAT.request([USER], given) == {"messages": [given, USER]}


def test_a_response_is_its_message() -> None:
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": [call()]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    response = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    expected = {"role": "assistant", "tool_calls": [call()]}
    model = ChatCompletion.model_validate(response)
    assert formats.plain(model) == expected
    assert formats.plain(model.choices[0].message) == expected
    assert FORMAT.parse(model).raw == expected
    assert FORMAT.canonical(formats.plain(response)) == FORMAT.canonical(expected)
    host = {"role": "assistant", "content": None, "tool_calls": model.choices[0].message.tool_calls}
    assert FORMAT.parse(host).raw == {"role": "assistant", "content": None, "tool_calls": [call()]}


def test_canonical_keeps_nulls_inside_arguments_and_order_of_calls() -> None:
    one, two = calling(call("a"), call("b")), calling(call("b"), call("a"))
    assert FORMAT.canonical(one) != FORMAT.canonical(two)
    assert FORMAT.canonical(calling(call(), content="")) == FORMAT.canonical(calling(call(), content=None))
    assert FORMAT.canonical(USER) != FORMAT.canonical(USER | {"name": "dev"})


@pytest.mark.parametrize(
    "content", [None, "", "words", [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]]
)
@pytest.mark.parametrize(
    "calls", [None, [], [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * 2]
)
@pytest.mark.parametrize(
    "more", [{}, {"refusal": "no"}, {"reasoning_content": "hm"}, {"function_call": {"name": "f", "arguments": "{}"}}]
)
def test_places_are_those_that_parsing_found(content: object, calls: object, more: dict[str, object]) -> None:
    for raw in (
        {"role": "assistant", "content": content, "tool_calls": calls, **more},
        {"role": "tool", "tool_call_id": "c", "content": content or ""},
        {"role": "function", "name": "f", "content": content if isinstance(content, str) else None},
        {"role": "user", "content": content or "hi"},
        {"role": "user", "content": content or "hi", "tool_calls": 5},
    ):
        try:
            message = FORMAT.parse(raw)
        except InvalidMessage:
            continue
        assert openai_chat._placed(message) == read(message.raw, 0)
