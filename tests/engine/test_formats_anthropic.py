"""The anthropic format, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message as Response

from offturn_engine import formats
from offturn_engine.errors import InvalidMessage
from offturn_engine.messages import (
    Edit,
    MediaPart,
    OpaquePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

FORMAT = formats.get("anthropic")
SOURCE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
IMAGE = {"type": "image", "source": SOURCE}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
TEXT = {"type": "text", "text": "text"}


def use(id_: Any = "t1", name: Any = "bash", arguments: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": {"command": "ls"} if arguments is None else arguments}


def result(id_: Any = "t1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": "out"} | fields


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


USER = {"role": "user", "content": "hi"}


def test_assistant_blocks() -> None:
    compaction = {"type": "compaction", "content": "s", "encrypted_content": "e", "signature": "g"}
    server = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    blocks = [compaction, THINKING, {"type": "redacted_thinking", "data": "x"}, TEXT, use(), server, {"type": "new"}]
    parts = FORMAT.parse(assistant(*blocks)).parts
    assert parts[1:5] == (
        ThinkingPart("hm", signed=True),
        ThinkingPart("", signed=True),
        TextPart("text"),
        ToolCallPart("t1", "bash", {"command": "ls"}, '{"command": "ls"}'),
    )
    assert [p.kind for p in parts if isinstance(p, OpaquePart)] == ["compaction", "server_tool_use", "new"]


def test_user_blocks() -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    inner = [{"type": "text", "text": "one"}, IMAGE, {"type": "text", "text": "two"}, {"type": "tool_reference"}]
    message = FORMAT.parse(user(result(content=inner, is_error=True), TEXT, IMAGE, document))
    assert message.parts[0] == ToolResultPart("t1", "one\ntwo", True, 1, (MediaPart("image", 90, "AAAA"),))
    assert [type(part) for part in message.parts[1:]] == [TextPart, MediaPart, MediaPart]
    assert message.origin == "human"


def test_a_message_of_results_alone_is_a_tools() -> None:
    message = FORMAT.parse(user(result("a"), result("b")), origin="human")
    assert (message.role, message.origin) == ("user", "tool")


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (7, ""),
        ({"role": "system", "content": "x"}, "role"),
        ({"role": "tool", "content": "x"}, "role"),
        ({"content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": ""}, "content"),
        ({"role": "user", "content": " \n"}, "content"),
        (assistant(), "content"),
        (user({"type": "text", "text": ""}), "content[0].text"),
        (user(TEXT, {"type": "text"}), "content[1].text"),
        (user({"text": "x"}), "content[0].type"),
        (user("x"), "content[0]"),
        (user(use()), "content[0].type"),
        (user(THINKING), "content[0].type"),
        (assistant(result()), "content[0].type"),
        (assistant(use(id_=None)), "content[0].id"),
        (assistant(TEXT, use(name="")), "content[1].name"),
        (assistant(use(arguments="{}")), "content[0].input"),
        (assistant(use(arguments=[])), "content[0].input"),
        (assistant({"type": "thinking", "thinking": "hm"}, TEXT), "content[0].signature"),
        (user(TEXT, result(None)), "content[1].tool_use_id"),
        (user(result(is_error="yes")), "content[0].is_error"),
        (user(result(content=7)), "content[0].content"),
        (user(result(content=["x"])), "content[0].content[0]"),
        (user(result(content=[{"type": "text", "text": "\ud800"}])), "content[0].content[0].text"),
        (user({"type": "image"}), "content[0].source"),
        (assistant(use(arguments={"x": float("inf")})), "content[0].input.x"),
    ],
)
def test_refused(raw: Any, field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        FORMAT.parse(raw, index=2)
    assert (caught.value.index, caught.value.field) == (2, field)


def test_system_in_the_list_names_the_remedy() -> None:
    with pytest.raises(InvalidMessage, match=r"view\(system="):
        FORMAT.parse({"role": "system", "content": "x"})


@pytest.mark.parametrize(
    "raw",
    [
        user(result(content="")),
        user(result(content=[])),
        user({"type": "tool_result", "tool_use_id": "t1"}),
        user({"type": "text", "text": "a\0"}),
        assistant(use(arguments={})),
        assistant({"type": "thinking", "thinking": "", "signature": "s"}, TEXT),
    ],
)
def test_accepted(raw: dict[str, Any]) -> None:
    assert FORMAT.parse(raw).raw is raw


def test_edits_by_kind() -> None:
    marked = result(content=[TEXT, IMAGE], cache_control={"type": "ephemeral"})
    edited = FORMAT.edit(FORMAT.parse(user(marked)), [Edit(seq=0, part=0, rule="stub", text="cut")])
    assert edited == user(marked | {"content": [{"type": "text", "text": "cut"}]})
    message = FORMAT.parse(assistant(THINKING, use()))
    assert FORMAT.edit(message, [Edit(seq=0, part=1, rule="arguments", arguments={"a": 1})]) == assistant(
        THINKING, use(arguments={"a": 1})
    )
    with pytest.raises(ValueError, match="an object"):
        FORMAT.edit(message, [Edit(seq=0, part=1, rule="arguments", arguments=["a"])])
    with pytest.raises(ValueError, match="ThinkingPart"):
        FORMAT.edit(message, [Edit(seq=0, part=0, rule="stub", text="cut")])


def test_without_never_ends_in_reasoning() -> None:
    message = FORMAT.parse(assistant(THINKING, TEXT, THINKING, use()))
    assert FORMAT.without(message, frozenset({3})) == assistant(THINKING, TEXT)
    assert FORMAT.without(message, frozenset({1, 3})) is None
    assert FORMAT.without(FORMAT.parse(USER), frozenset({0})) is None


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([], ["empty"]),
        ([assistant(TEXT)], ["first-message"]),
        ([assistant({"type": "compaction", "content": "s"}), USER], []),
        ([USER, assistant()], []),
        ([USER, assistant(), USER], ["message"]),
        ([USER, user()], ["message"]),
        ([user()], ["message"]),
        ([{"role": "system", "content": "x"}, USER], ["message"]),
        ([USER, user(result())], ["orphan-result"]),
        ([USER, assistant(use()), user(result()), assistant(TEXT)], []),
        ([USER, assistant(use("a"), use("b")), user(result("a")), user(result("b"), TEXT)], []),
        ([USER, assistant(use("a")), assistant(use("b")), user(result("b"), result("a"))], []),
        ([USER, assistant(use("a"), use("b")), user(result("a")), assistant(TEXT)], ["unanswered-call"]),
        ([USER, assistant(use("a"), use("b")), user(result("a"))], ["pending"]),
        ([USER, assistant(use())], ["pending"]),
        ([USER, assistant(use()), USER], ["unanswered-call"]),
        ([USER, assistant(use()), USER, assistant(TEXT), user(result())], ["unanswered-call", "orphan-result"]),
        ([USER, assistant(use()), user(TEXT, result())], ["results-first"]),
        ([USER, assistant(use()), user(result(), result())], ["orphan-result"]),
        ([USER, {"role": "assistant", "content": "so: "}], ["trailing-whitespace"]),
        ([USER, {"role": "assistant", "content": "so: "}, USER], []),
    ],
)
def test_problems(messages: list[dict[str, Any]], rules: list[str]) -> None:
    assert [problem.rule for problem in FORMAT.problems(messages)] == rules


def test_request_keeps_the_system_prompt_outside() -> None:
    assert FORMAT.request([USER], None) == {"messages": [USER]}
    assert FORMAT.request([USER], [TEXT]) == {"messages": [USER], "system": [TEXT]}


def test_a_response_is_its_role_and_content() -> None:
    content = [TEXT | {"citations": None}, THINKING, use(arguments={"path": None})]
    fields = {"id": "msg_1", "type": "message", "model": "m", "stop_reason": "tool_use", "stop_sequence": None}
    response = fields | {"role": "assistant", "content": content, "usage": {"input_tokens": 1, "output_tokens": 2}}
    expected = assistant(TEXT, THINKING, use(arguments={"path": None}))
    model = Response.model_validate(response)
    assert formats.plain(model) == expected
    assert FORMAT.parse(model).raw == expected
    assert FORMAT.parse({"role": "assistant", "content": model.content}).raw == expected
    assert FORMAT.canonical(formats.plain(response)) == FORMAT.canonical(expected)
    assert FORMAT.canonical(response) == FORMAT.canonical(expected)


def test_canonical_keeps_what_matters() -> None:
    assert FORMAT.canonical(assistant(use(arguments={"a": None}))) != FORMAT.canonical(assistant(use(arguments={})))
    assert FORMAT.canonical(user(result(is_error=True))) != FORMAT.canonical(user(result()))
    assert FORMAT.canonical(user(result(content=[]))) == FORMAT.canonical(user(result(content="")))
    assert FORMAT.canonical(user(TEXT)) == FORMAT.canonical({"role": "user", "content": "text"})
