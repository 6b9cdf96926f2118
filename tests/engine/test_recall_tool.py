"""The recall tool in each dialect: definitions and results as the SDKs type them, and answers to whatever a model sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import ToolParam, ToolResultBlockParam, ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import (
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionToolMessageParam,
)
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

from offturn_engine.errors import UnknownFormat
from offturn_engine.handles import parse_ranges
from offturn_engine.recall_tool import DIALECTS, asked, checked_dialect, definition, result
from offturn_engine.recalling import TOOL, Archive, Asked, NotThere, answer, recall
from tests.engine.talk import call, calls, human, log, ran, results, says
from tests.engine.talk import result as given_result

LOG = log(
    human("Fix the login bug."),
    ran("cat app.py", "def login(): ...\n" * 400),
    says("The login is in app.py."),
    calls(call("bash", {"command": "a"}, "c1"), call("bash", {"command": "b"}, "c2")),
    results(given_result("first", call_id="c1"), given_result("second", call_id="c2")),
)
ARCHIVE = Archive(LOG, redacted=frozenset({3}), path=frozenset(range(5)))
WANTED = Asked(handle="m181", query="", start=20)
ARGUMENTS = {"handle": "m181", "start": 20}

CALLS: list[tuple[str, Any]] = [
    ("openai-chat", {"id": "c1", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(ARGUMENTS)}}),
    (
        "openai-chat",
        ChatCompletionMessageFunctionToolCall.model_validate(
            {"id": "c1", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(ARGUMENTS)}}
        ),
    ),
    (
        "openai-responses",
        ResponseFunctionToolCall(
            id="fc_1", call_id="c1", type="function_call", name=TOOL, arguments=json.dumps(ARGUMENTS)
        ),
    ),
    ("anthropic", ToolUseBlock(id="c1", type="tool_use", name=TOOL, input=ARGUMENTS, caller={"type": "direct"})),
    ("gemini", {"functionCall": {"id": "c1", "name": TOOL, "args": ARGUMENTS}}),
    ("gemini", {"function_call": {"id": "c1", "name": TOOL, "args": ARGUMENTS}}),
    ("gemini", {"id": "c1", "name": TOOL, "args": ARGUMENTS}),
]


def test_definitions_and_results_are_what_the_sdks_take() -> None:
    kinds: dict[str, tuple[Any, Any]] = {
        "openai-chat": (ChatCompletionFunctionToolParam, ChatCompletionToolMessageParam),
        "openai-responses": (FunctionToolParam, FunctionCallOutput),
        "anthropic": (ToolParam, ToolResultBlockParam),
    }
    for dialect, (tool, told) in kinds.items():
        TypeAdapter(tool).validate_python(tool(**definition(dialect)), strict=True)
        for error in (False, True):
            made = result(dialect, "c1", "text", error=error)
            TypeAdapter(told).validate_python(told(**made))
            assert set(made) <= {*told.__annotations__}


def test_gemini_takes_them_too() -> None:
    types = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    tool = types.Tool(**definition("gemini"))
    assert tool.function_declarations[0].parameters.properties["start"].type == types.Type.INTEGER
    part = types.Part(**result("gemini", "c1", "text", error=False))
    assert part.function_response.response == {"output": "text"}
    called = types.Part(function_call=types.FunctionCall(id="c1", name=TOOL, args=ARGUMENTS))
    assert asked("gemini", called) == ("c1", WANTED)
    assert asked("gemini", called.function_call) == ("c1", WANTED)


@pytest.mark.parametrize(("dialect", "called"), CALLS)
def test_calls_are_read_as_objects_and_as_json(dialect: str, called: Any) -> None:
    assert asked(dialect, called) == ("c1", WANTED)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"Let me look.\n<function={TOOL}>\n<parameter=handle>m181</parameter>\n<parameter=start>20</parameter>\n</function>", WANTED),
        (f"Let me look.\n```bash\n{TOOL} m181\n```", Asked(handle="m181")),
        (f"{TOOL} login bug", Asked(query="login bug")),
        ("[m3] to [m40]", Asked(handle="[m3] to [m40]")),
        ("", Asked()),
    ],
)  # fmt: skip
def test_calls_by_text(text: str, wanted: Asked) -> None:
    assert asked("text", text) == ("", wanted)


@pytest.mark.parametrize(
    "given",
    [
        {"handle": "M0"},
        {"handle": 0},
        {"handle": "0"},
        {"handle": "m0."},
        {"handle": "`[m0]`"},
        {"query": "m0"},
        {"handle": "the first message", "query": "login bug fix"},
        {"handle": "none", "query": "m0"},
    ],
)
def test_one_call_is_enough_however_a_model_writes_it(given: dict[str, Any]) -> None:
    _, wanted = asked("anthropic", {"id": "c1", "name": TOOL, "input": given})
    text, error = answer(ARCHIVE, wanted, 1_000)
    assert "Fix the login bug." in text
    assert not error


def test_a_format_without_a_tool_is_refused() -> None:
    assert checked_dialect("text-observation") == "text"
    for name in ("klingon", None, 5):
        with pytest.raises(UnknownFormat, match="openai-chat"):
            checked_dialect(name)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(
    sent=st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "function",
                        "arguments",
                        "handle",
                        "query",
                        "start",
                        "input",
                        "args",
                        "id",
                        "name",
                        "function_call",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_a_model_sends_is_answered(dialect: str, sent: Any) -> None:
    call_id, wanted = asked(dialect, sent)
    text, error = answer(ARCHIVE, wanted, 1_000)
    told = result(dialect, call_id, text, error=error)
    assert text
    json.dumps(told)


DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "text"])
@pytest.mark.parametrize(
    "sent",
    [
        {"name": TOOL, "arguments": "[" * 100_000},
        {"name": TOOL, "arguments": {"handle": DEEP}},
        {"name": TOOL, "arguments": {"query": 10**5_000}},
        {"name": TOOL, "id": DEEP, "arguments": {}},
    ],
    ids=["json", "handle", "query", "id"],
)
def test_what_is_nested_too_deep_or_too_long_a_number_is_answered(dialect: str, sent: Any) -> None:
    call_id, wanted = asked(dialect, sent)
    text, error = answer(ARCHIVE, wanted, 1_000)
    assert len(text) < 300
    json.dumps(result(dialect, call_id, text, error=error))


def test_a_message_without_text_is_said_to_have_none() -> None:
    empty = Archive(log(human("Fix it."), says("")), path=frozenset({0, 1}))
    assert answer(empty, Asked(handle="m1"), 1_000) == ("[m1 holds no text]", False)


def test_a_handle_gives_the_text_in_pieces() -> None:
    text = given_result("def login(): ...\n" * 400).text
    first, error = answer(ARCHIVE, Asked(handle="m2"), 1_000)
    assert not error
    assert first == text[:1000] + "\n[… 5,800 more characters: ask for handle m2 with start 1000]"
    second, _ = answer(ARCHIVE, Asked(handle="m2", start=6_000), 1_000)
    assert second == "[… 6,000 characters before this]\n" + text[6000:]
    assert answer(ARCHIVE, Asked(handle="m2", start=9_000), 1_000) == ("[m2 has 6,800 characters]", False)


def test_a_search_gives_the_best_place_and_names_the_others() -> None:
    text, error = answer(ARCHIVE, Asked(query='"login bug"'), 1_000)
    assert (text, error) == ("[m0, human]\nFix the login bug.", False)
    text, error = answer(ARCHIVE, Asked(query="login"), 1_000)
    assert not error
    assert len(text) < 1_200
    assert text.startswith("[m2, tool]\n")
    assert "\nm0 (human): Fix the login bug." in text
    assert "m3" not in text  # redacted
    assert answer(ARCHIVE, Asked(query="kubernetes"), 1_000) == ("Nothing was found. Try fewer or other words.", False)


@pytest.mark.parametrize("wanted", [Asked(), Asked(handle="m99"), Asked(handle="m1.5"), Asked(handle="x"), Asked(handle="m5"), Asked(query="a" * 1_001)])  # fmt: skip
def test_what_cannot_be_told_says_why(wanted: Asked) -> None:
    text, error = answer(ARCHIVE, wanted, 1_000)
    assert error
    assert 10 < len(text) < 300


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("m3-m5", ((3, 6),)),
        ("[m3] to [m5]", ((3, 6),)),
        ("0-2, 4", ((0, 3), (4, 5))),
        ("m3 \u2013 m5", ((3, 6),)),
        ("5", None),
        ("m5-m3", None),
        ("m3-x", None),
        ("", None),
    ],
)
def test_ranges(text: str, ranges: Any) -> None:
    assert parse_ranges(text) == ranges


def test_a_range_gives_the_messages_of_the_path() -> None:
    told = recall(ARCHIVE, "m0-m5")
    assert isinstance(told, str)
    assert told.startswith("[m0, human]\nFix the login bug.\n\n[m1, assistant, calls bash]\nbash {")
    assert told.endswith("[m4, assistant, calls bash, bash]\n" + 'bash {"command": "a"}\n\nbash {"command": "b"}')
    assert isinstance(recall(ARCHIVE, "m0-m6"), NotThere)
