"""What is particular to openai-responses: items, kinds of calls, reasoning, what the SDK hands out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseReasoningItem,
)

from offturn_engine import formats
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.errors import InvalidMessage
from offturn_engine.groups import spans
from offturn_engine.invariants import legal_cut_points
from offturn_engine.messages import Edit, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from offturn_engine.render import NO_RESULT, render

FORMAT = formats.get("openai-responses")
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
    ],
}


def human(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(id_: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": "bash", "arguments": "{}"}


def output(id_: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": text}


def thought(id_: str = "rs") -> dict[str, Any]:
    return {"type": "reasoning", "id": id_, "summary": [], "encrypted_content": "gAAA"}


def test_the_items_of_an_sdk_response_are_messages() -> None:
    response = Response.model_validate(RESPONSE)
    reasoning, said, search, function = [FORMAT.parse(item) for item in response.output]
    kinds = (ResponseReasoningItem, ResponseOutputMessage, ResponseFunctionWebSearch, ResponseFunctionToolCall)
    assert tuple(map(type, response.output)) == kinds
    assert [m.raw for m in (reasoning, said, function)] == [RESPONSE["output"][i] for i in (0, 1, 3)]
    assert search.raw == {**RESPONSE["output"][2], "action": {"type": "search", "query": "q"}}
    assert reasoning.parts == (ThinkingPart("", signed=True),)
    assert said.parts == (TextPart("I look."),)
    assert [type(part) for part in search.parts] == [OpaquePart]
    assert function.parts == (ToolCallPart("c1", "bash", {"command": "ls"}, '{"command": "ls"}'),)
    assert {m.origin for m in (reasoning, said, search, function)} == {"assistant"}


def test_a_whole_response_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidMessage, match=r"response\.output"):
        FORMAT.parse(Response.model_validate(RESPONSE))


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({}, "type"),
        ({"type": 7}, "type"),
        ({"role": "tool", "content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": "x"}]}, "content[0].type"),
        ({"role": "user", "content": [{"type": "input_text"}]}, "content[0].text"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "call_id"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "name"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}, "arguments"),
        ({"type": "function_call_output", "output": "x"}, "call_id"),
        ({"type": "function_call_output", "call_id": "c"}, "output"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "f"}, "input"),
    ],
)
def test_what_the_api_would_refuse(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        FORMAT.parse(raw, index=3)
    assert (caught.value.index, caught.value.field) == (3, field)


def test_a_tool_search_is_paired_with_its_output_and_closed_by_one() -> None:
    asked = {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"query": "mail"}}
    found = {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [{"type": "function"}]}
    items = [human("go"), asked, found]
    assert FORMAT.problems([FORMAT.parse(item).raw for item in items]) == []
    [(_, call_part)] = FORMAT.parse(asked).calls
    assert FORMAT.parse(found).results[0][1].call_id == call_part.id
    assert FORMAT.parse(found).origin == "tool"
    closed = FORMAT.result(call_part.id, call_part.name, "stopped")
    assert closed == {"type": "tool_search_output", "call_id": "c", "tools": []}
    assert FORMAT.redacted(found) == {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []}


@pytest.mark.parametrize("kind", ["custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "program"])
def test_a_call_of_any_kind_is_paired_with_its_output_and_closed_by_one(kind: str) -> None:
    asked = {"type": kind, "id": "x", "call_id": "c", "name": "patch", "input": "x", "action": {"commands": ["ls"]}}
    made = FORMAT.parse(asked)
    [(_, found)] = made.calls
    closed = FORMAT.result(found.id, found.name, "stopped")
    answer = FORMAT.parse(closed)
    assert (closed["type"], closed["call_id"]) == (f"{kind}_output", "c")
    assert answer.results[0][1].call_id == found.id
    assert answer.results[0][1].text == "stopped"
    assert answer.origin == "tool"
    other = FORMAT.parse({"type": "function_call_output", "call_id": "c", "output": "x"})
    assert other.results[0][1].call_id != found.id


def test_outputs_are_edited_in_their_own_shape() -> None:
    run = {"stdout": "line\n" * 50, "stderr": "bad", "outcome": {"type": "exit", "exit_code": 2}}
    cases: list[tuple[dict[str, Any], Any]] = [
        (output("c", "long"), "cut"),
        ({**output("c"), "output": [{"type": "input_text", "text": "long"}]}, [{"type": "input_text", "text": "cut"}]),
        (
            {"type": "shell_call_output", "call_id": "c", "output": [run]},
            [{"stdout": "cut", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}],
        ),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "completed", "output": "long"}, "cut"),
    ]
    for raw, expected in cases:
        message = FORMAT.parse(raw)
        edited = FORMAT.edit(message, [Edit(seq=0, part=0, rule="stub", text="cut")])
        assert edited == {**raw, "output": expected}
        assert FORMAT.parse(edited).results[0][1].text == "cut"


def test_opaque_items_and_reasoning_take_no_edit() -> None:
    for raw in (
        thought(),
        {"type": "compaction", "id": "c", "encrypted_content": "x"},
        {"type": "of_tomorrow", "id": 1},
    ):
        message = FORMAT.parse(raw)
        with pytest.raises(ValueError, match="seq 0"):
            FORMAT.edit(message, [Edit(seq=0, part=0, rule="stub", text="cut")])
        with pytest.raises(ValueError, match="seq 0"):
            FORMAT.edit(message, [Edit(seq=0, part=0, rule="reasoning")])


def test_reasoning_stays_with_the_reply_it_led_to() -> None:
    raws = [human("a"), thought(), {"role": "assistant", "content": "I look."}, call("c"), output("c"), thought("2")]
    path = formats.parse_all(FORMAT, [*raws, {"role": "assistant", "content": "Done."}, human("b")])
    assert spans(path) == [(0, 1), (1, 5), (5, 7), (7, 8)]
    assert not {2, 3, 4, 6} & set(legal_cut_points(path))


def test_parallel_calls_stay_side_by_side() -> None:
    raws = [human("a"), thought(), call("c"), call("d"), output("d"), output("c"), human("b"), call("e"), human("c")]
    view = render(formats.parse_all(FORMAT, raws), NOTHING, FORMAT)
    assert view.messages == [*raws[:8], output("e", NO_RESULT), raws[8]]
    late = [human("a"), call("c"), call("d"), output("c"), human("wait"), output("d")]
    view = render(formats.parse_all(FORMAT, late), NOTHING, FORMAT)
    assert view.messages == [*late[:4], late[5], late[4]]
    assert FORMAT.problems(view.messages) == []


def test_a_summary_in_the_middle_of_a_reply_stays_there() -> None:
    raws = [human("a"), *({"role": "assistant", "content": f"step {n}"} for n in range(4))]
    path = formats.parse_all(FORMAT, raws)
    record = Compaction(number=1, covered=((2, 4),), summary="[what happened]")
    assert render(path, record, FORMAT).messages == [*raws[:2], human("[what happened]"), raws[4]]


@pytest.mark.parametrize(
    ("raws", "rules"),
    [
        ([], ["empty"]),
        ([human("a"), call("c"), output("c")], []),
        ([human("a"), call("c"), human("b"), output("c")], []),
        ([human("a"), call("c"), call("d"), output("d")], ["pending"]),
        ([human("a"), call("c"), human("b")], ["unanswered-call"]),
        ([human("a"), output("c")], ["orphan-result"]),
        ([human("a"), thought(), human("b")], ["lone-reasoning"]),
        ([human("a"), thought()], ["lone-reasoning"]),
        ([human("a"), thought(), call("c"), output("c")], []),
        ([{"role": "user"}], ["message"]),
    ],
)
def test_problems(raws: list[Any], rules: list[str]) -> None:
    assert [problem.rule for problem in FORMAT.problems(raws)] == rules


def test_request() -> None:
    said = [human("a")]
    assert FORMAT.request(said, None) == {"input": said}
    assert FORMAT.request(said, "Be brief.") == {"input": said, "instructions": "Be brief."}
    prompt = {"role": "developer", "content": "Be brief."}
    assert FORMAT.request(said, prompt) == {"input": [prompt, *said]}


def test_what_does_not_count_in_comparisons() -> None:
    same: Callable[[Any], Any] = FORMAT.canonical
    said = RESPONSE["output"][1]
    assert same(said) == same({"role": "assistant", "content": "I look.", "phase": "commentary"})
    assert same(said) != same({"role": "assistant", "content": "I look."})
    assert same({**call("c"), "id": "fc_1", "status": "completed"}) == same(call("c"))
    assert same({"type": "item_reference", "id": "a"}) != same({"type": "item_reference", "id": "b"})


def test_an_image_of_an_output_is_counted() -> None:
    shot = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    message = FORMAT.parse({"type": "function_call_output", "call_id": "c", "output": [shot]})
    assert message.parts == (ToolResultPart("c", "", media=1),)
    assert message.tokens > 1_000
