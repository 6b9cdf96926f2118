"""Laws of all formats over generated transcripts and arbitrary JSON."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine import formats
from offturn_engine.errors import InvalidMessage, UnknownFormat
from offturn_engine.messages import Edit, Message, TextPart, ToolCallPart, ToolResultPart
from tests.engine.strategies import damaged, json_values, transcripts

NAMES = formats.names()
CONTENT = ("content", "tool_calls", "parts", "arguments", "output", "input")
TRANSCRIPTS = {name: transcripts(name, orphans=True) for name in NAMES}
ANYTHING = {
    name: st.one_of(
        json_values(),
        st.fixed_dictionaries({"role": st.just("user"), "parts" if name == "gemini" else "content": json_values()}),
    )
    for name in NAMES
}


def parse(name: str, messages: list[dict[str, Any]]) -> list[Message]:
    return formats.parse_all(formats.get(name), messages)


def edits_of(message: Message) -> list[Edit]:
    """One edit for each part that takes one."""
    edits = []
    for i, part in enumerate(message.parts):
        if isinstance(part, TextPart | ToolResultPart):
            edits.append(Edit(seq=0, part=i, rule="stub", text="cut"))
        elif isinstance(part, ToolCallPart) and part.arguments is not None:
            edits.append(Edit(seq=0, part=i, rule="arguments", arguments=_cut(part)))
    return edits


def _cut(call: ToolCallPart) -> dict[str, str]:
    return dict.fromkeys(call.arguments or ["shrunk"], "路径")


def test_names() -> None:
    assert NAMES == ("openai-chat", "openai-responses", "anthropic", "gemini", "text-observation")
    assert [formats.get(name).name for name in NAMES] == list(NAMES)


def test_unknown_format_lists_those_that_exist() -> None:
    with pytest.raises(UnknownFormat, match="openai-chat, openai-responses, anthropic"):
        formats.get("yaml")


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_an_unedited_message_is_the_same_value(name: str, data: st.DataObject) -> None:
    messages = data.draw(TRANSCRIPTS[name])
    before = copy.deepcopy(messages)
    for raw, message in zip(messages, parse(name, messages), strict=True):
        assert message.raw is raw
        assert formats.get(name).edit(message, ()) is raw
        assert formats.get(name).without(message, frozenset()) is raw
    assert messages == before


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_an_edit_changes_only_the_part_it_names(name: str, data: st.DataObject) -> None:
    format_ = formats.get(name)
    for message in parse(name, data.draw(TRANSCRIPTS[name])):
        before = copy.deepcopy(message.raw)
        for edit in edits_of(message):
            edited = format_.parse(format_.edit(message, [edit]), origin=message.origin)
            changed = [i for i, (a, b) in enumerate(zip(message.parts, edited.parts, strict=True)) if a != b]
            assert changed in ([edit.part], [])
            assert (edited.role, edited.origin) == (message.role, message.origin)
            part = edited.parts[edit.part]
            assert part.arguments == edit.arguments if isinstance(part, ToolCallPart) else part.text == "cut"  # type: ignore[union-attr]
            assert {k: v for k, v in edited.raw.items() if k not in CONTENT} == {
                k: v for k, v in before.items() if k not in CONTENT
            }
        assert message.raw == before


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_all_edits_at_once_equal_one_after_the_other(name: str, data: st.DataObject) -> None:
    format_ = formats.get(name)
    for message in parse(name, data.draw(TRANSCRIPTS[name])):
        step = message
        for edit in edits_of(message):
            step = format_.parse(format_.edit(step, [edit]), origin=message.origin)
        assert step.raw == format_.edit(message, edits_of(message))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_an_edit_no_part_takes_is_refused(name: str, data: st.DataObject) -> None:
    message = formats.get(name).parse(formats.get(name).user("hi"))
    for edit in (
        Edit(seq=4, part=1, rule="stub", text="x"),
        Edit(seq=4, part=-1, rule="stub", text="x"),
        Edit(seq=4, part=0, rule="arguments", arguments={}),
        Edit(seq=4, part=0, rule="stub"),
    ):
        with pytest.raises(ValueError, match="seq 4"):
            formats.get(name).edit(message, [edit])


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_without_takes_exactly_these_parts(name: str, data: st.DataObject) -> None:
    format_ = formats.get(name)
    for message in parse(name, data.draw(TRANSCRIPTS[name])):
        gone = data.draw(st.frozensets(st.integers(0, len(message.parts) - 1)))
        raw = format_.without(message, gone)
        kept = [part for i, part in enumerate(message.parts) if i not in gone]
        if raw is None:
            assert not any(isinstance(part, TextPart | ToolCallPart | ToolResultPart) for part in kept)
            continue
        left = list(format_.parse(raw, origin=message.origin).parts)
        assert left == kept[: len(left)]
        assert not any(isinstance(part, TextPart | ToolCallPart | ToolResultPart) for part in kept[len(left) :])
    assert format_.without(message, frozenset(range(len(message.parts)))) is None


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_parse_raises_nothing_but_invalid_message(name: str, data: st.DataObject) -> None:
    raw = data.draw(ANYTHING[name])
    refused: list[InvalidMessage] = []
    try:
        message = formats.get(name).parse(raw, index=7)
    except InvalidMessage as error:
        refused.append(error)
    if refused:
        assert refused[0].index == 7
        assert refused[0].problem
        return
    assert json.loads(json.dumps(message.raw).encode()) == message.raw
    assert formats.get(name).problems([message.raw]) == []


@pytest.mark.parametrize("raw", [{"tool_calls": True}, {"function_call": {}, "content": "x"}, {"tool_calls": [{}]}])
@pytest.mark.parametrize("name", NAMES)
def test_calls_of_nobody_are_refused(name: str, raw: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage) as told:
        formats.get(name).parse(raw, index=7)
    assert told.value.index == 7


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_damaged_message_is_parsed_or_refused(name: str, data: st.DataObject) -> None:
    """Any value in any place of a good message."""
    raw = data.draw(st.sampled_from(data.draw(TRANSCRIPTS[name])).flatmap(damaged))
    try:
        message = formats.get(name).parse(raw)
    except InvalidMessage:
        return
    assert message.raw == raw or raw.get("type") == "message" or "choices" in raw


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_canonical_is_idempotent_and_blind_to_noise(name: str, data: st.DataObject) -> None:
    canonical = formats.get(name).canonical
    for raw in data.draw(TRANSCRIPTS[name]):
        value = canonical(raw)
        assert canonical(value) == value
        assert canonical(noisy(name, raw, data)) == value


def noisy(name: str, raw: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """The message as SDKs and hosts hand it back."""
    value = copy.deepcopy(raw)
    noise: dict[str, Any] = NOISE[name]
    if name == "gemini":
        value["parts"] = [
            {_other_spelling(k): v for k, v in part.items()} | {"thought": part.get("thought", False)}
            for part in value["parts"]
        ]
        return dict(reversed(list(({"role": "user"} | value | noise).items())))
    if name == "openai-responses":
        return _noisy_item(value)
    if isinstance(value.get("content"), str) and data.draw(st.booleans()):
        value["content"] = [{"type": "text", "text": value["content"]}]
    for part in value["content"] if isinstance(value.get("content"), list) else ():
        part["cache_control"] = {"type": "ephemeral"}
    if name != "anthropic":
        for i, call in enumerate(value.get("tool_calls", ())):
            call["index"] = i
            call.pop("type")
    else:
        for block in value["content"] if isinstance(value["content"], list) else ():
            block |= {"citations": None} if block["type"] == "text" else {}
            block.setdefault("is_error", False) if block["type"] == "tool_result" else None
    return dict(reversed(list((value | noise).items())))


CHAT: dict[str, Any] = {"name": None, "refusal": None, "annotations": [], "audio": None, "function_call": None}
NOISE: dict[str, dict[str, Any]] = {
    "openai-chat": CHAT,
    "text-observation": CHAT,
    "anthropic": {"id": "msg_1", "model": "m", "usage": {}, "stop_reason": "end_turn"},
    "gemini": {"cacheControl": None},
    "openai-responses": {"status": "completed", "phase": None},
}


def _noisy_item(value: dict[str, Any]) -> dict[str, Any]:
    if "role" in value:
        kind = "output_text" if value["role"] == "assistant" else "input_text"
        text = value["content"]
        value["content"] = [{"type": kind, "text": text, "annotations": []}] if isinstance(text, str) else text
        value |= {"type": "message", "id": "msg_2"}
    return dict(reversed(list((value | NOISE["openai-responses"]).items())))


def _other_spelling(name: str) -> str:
    spelt = {"functionCall": "function_call", "functionResponse": "function_response", "inlineData": "inline_data"}
    return (spelt | {v: k for k, v in spelt.items()}).get(name, name)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_canonical_tells_different_texts_apart(name: str, data: st.DataObject) -> None:
    canonical, format_ = formats.get(name).canonical, formats.get(name)
    for message in parse(name, data.draw(TRANSCRIPTS[name])):
        for edit in edits_of(message):
            edited = format_.edit(message, [edit])
            changed = format_.parse(edited, origin=message.origin).parts != message.parts
            assert (canonical(edited) != canonical(message.raw)) == changed


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_transcript_without_oddities_has_no_problems(name: str, data: st.DataObject) -> None:
    messages = data.draw(transcripts(name, unanswered=False, inside=False))
    found = {problem.rule for problem in formats.get(name).problems(messages)}
    assert found <= {"trailing-whitespace"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "text-observation"])
@given(data=st.data())
def test_a_call_cut_from_its_results_is_a_problem(name: str, data: st.DataObject) -> None:
    messages = data.draw(transcripts(name, unanswered=False, inside=False))
    parsed = parse(name, messages)
    callers = [i for i, message in enumerate(parsed) if message.calls]
    if not callers:
        return
    i = data.draw(st.sampled_from(callers))
    count = len(parsed[i].calls)
    without_call = [p.rule for p in formats.get(name).problems(messages[:i] + messages[i + 1 :])]
    assert without_call.count("orphan-result") >= count
    answered = (k for k in range(i + 1, len(parsed)) if all(m.results for m in parsed[i + 1 : k + 1]))
    end = max(answered, default=i)
    reply = formats.get(name).assistant("x")
    without_results = formats.get(name).problems([*messages[: i + 1], reply, *messages[end + 1 :]])
    if name == "openai-chat":
        assert [p.index for p in without_results if p.rule == "unanswered-call"] == [i] * count
    at_end = [p.rule for p in formats.get(name).problems(messages[: i + 1])]
    assert set(at_end) == {"pending"}
    assert len(at_end) == count or (name == "openai-responses" and len(at_end) > count)


@pytest.mark.parametrize("name", NAMES)
def test_origin(name: str) -> None:
    format_ = formats.get(name)
    assert format_.parse(format_.user("hi")).origin == "human"
    assert format_.parse(format_.user("hi"), origin="host").origin == "host"
    assert format_.parse(format_.assistant("hi"), origin="human").origin == "assistant"
    if not format_.by_place:
        assert format_.parse(format_.result("c1", "bash", "out"), origin="human").origin == "tool"
    assert format_.parse(format_.user("hi")).text == "hi"


@pytest.mark.parametrize("name", NAMES)
def test_large_messages_and_nul_are_accepted(name: str) -> None:
    message = formats.get(name).parse(formats.get(name).user("a\0b " * 2_500_000))
    assert message.tokens > 1_000_000
    assert formats.get(name).problems([message.raw]) == []


@pytest.mark.parametrize("name", NAMES)
def test_nesting_has_an_end(name: str) -> None:
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidMessage, match="nested deeper"):
        formats.get(name).parse({"role": "user", "content": value})


@pytest.mark.parametrize("name", NAMES)
def test_errors_hold_no_content(name: str) -> None:
    secret = "hunter2 hunter2"
    for raw in (
        {"role": "user", "content": [{"type": "text", "text": secret + "\ud800"}]},
        {"role": "user", "content": [secret]},
        {"role": secret, "content": "x"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": 7, "note": secret}, {"type": "image", "x": secret}],
        },
    ):
        with pytest.raises(InvalidMessage) as caught:
            formats.get(name).parse(raw)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_overhead_grows_with_system_and_tools(name: str) -> None:
    overhead = formats.get(name).overhead
    tools = [{"name": "bash", "description": "run a command " * 20, "parameters": {"type": "object"}}]
    assert overhead(None, None) == 0
    assert 0 < overhead("You are careful.", None) < overhead("You are careful.", tools)
    assert overhead([{"type": "text", "text": "You are careful."}], None) > 0
