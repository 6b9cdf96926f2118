"""What is particular to gemini: spellings, pairs by name, signatures, joined roles, the SDK's own types."""

from __future__ import annotations

from typing import Any

import pytest

from offturn_engine import formats
from offturn_engine.errors import InvalidMessage
from offturn_engine.groups import pair
from offturn_engine.messages import Edit, MediaPart, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

FORMAT = formats.get("gemini")


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "bash", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"command": "ls"}, **more}}


def answer(text: str = "ok", name: str = "bash", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": text}, **more}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "hi"}, TextPart("hi")),
        ({"text": "hm", "thought": True}, ThinkingPart("hm", signed=False)),
        ({"text": "hm", "thought": True, "thought_signature": "AA"}, ThinkingPart("hm", signed=True)),
        ({"text": "", "thoughtSignature": "AA"}, ThinkingPart("", signed=True)),
        ({"thoughtSignature": "AA"}, ThinkingPart("", signed=True)),
        ({"text": "so", "thoughtSignature": "AA"}, TextPart("so")),
        (call(), ToolCallPart("bash", "bash", {"command": "ls"}, '{"command": "ls"}')),
        ({"function_call": {"name": "now", "args": None}}, ToolCallPart("now", "now", {}, "{}")),
        ({"inline_data": {"mime_type": "image/png", "data": "AA"}}, MediaPart("image", 57)),
        ({"fileData": {"fileUri": "gs://a", "mimeType": "application/pdf"}}, MediaPart("document", 66)),
        ({"executableCode": {"code": "1", "language": "PYTHON"}}, OpaquePart("executableCode", 55)),
        ({"code_execution_result": {"outcome": "OUTCOME_OK"}}, OpaquePart("codeExecutionResult", 52)),
    ],
)
def test_parts_in_both_spellings(part: dict[str, Any], expected: object) -> None:
    assert FORMAT.parse(model(part)).parts == (expected,)


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "a"}, "a", None),
        ({"result": "a"}, "a", None),
        ({"error": "no"}, "no", True),
        ({"rows": [1]}, '{"rows": [1]}', None),
        ({"output": "a", "code": 1}, '{"output": "a", "code": 1}', None),
        ({}, "", None),
        (None, "", None),
    ],
)
def test_what_a_function_answered(response: Any, text: str, failed: bool | None) -> None:
    raw = user({"functionResponse": {"id": "7", "name": "bash", "response": response}})
    message = FORMAT.parse(raw)
    assert message.parts == (ToolResultPart("bash", text, failed),)
    assert message.origin == "tool"
    edited = FORMAT.edit(message, [Edit(seq=0, part=0, rule="stub", text="cut")])
    [part] = edited["parts"]
    assert (part["functionResponse"]["id"], FORMAT.parse(edited).results[0][1].text) == ("7", "cut")


def test_pairs_go_by_name_and_order_whatever_the_ids() -> None:
    """The SDK's helper makes responses without the ids its calls have."""
    path = formats.parse_all(
        FORMAT,
        [
            user({"text": "a"}),
            model(call(id="1"), call("read", id="2"), call(id="3")),
            user(answer("first"), answer("file", "read"), answer("second")),
        ],
    )
    assert pair(path).result_of == {(1, 0): (2, 0), (1, 1): (2, 1), (1, 2): (2, 2)}
    assert FORMAT.problems([m.raw for m in path]) == []


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"role": "system", "parts": [{"text": "x"}]}, "role"),
        ({"role": "user"}, "parts"),
        ({"role": "user", "parts": []}, "parts"),
        (user({}), "parts[0]"),
        (user({"text": ""}), "parts[0].text"),
        (user({"text": 7}), "parts[0].text"),
        (user(call()), "parts[0].functionCall"),
        (model(answer()), "parts[0].functionResponse"),
        (user({"text": "x", "thought": True}), "parts[0].thought"),
        (model({"functionCall": {"args": {}}}), "parts[0].functionCall.name"),
        (model({"functionCall": {"name": "f", "args": []}}), None),
        (model({"functionCall": {"name": "f", "args": "{}"}}), "parts[0].functionCall.args"),
    ],
)
def test_what_the_api_would_refuse(raw: dict[str, Any], field: str | None) -> None:
    if field is None:
        assert FORMAT.parse(raw).calls[0][1].arguments == {}
        return
    with pytest.raises(InvalidMessage) as caught:
        FORMAT.parse(raw)
    assert caught.value.field == field


def test_a_content_without_a_role_is_the_users() -> None:
    message = FORMAT.parse({"parts": [{"text": "hi"}]})
    assert (message.role, message.origin) == ("user", "human")
    assert FORMAT.canonical(message.raw) == FORMAT.canonical(user({"text": "hi"}))


def test_a_signature_goes_with_the_text_it_signs_and_stays_on_a_call() -> None:
    message = FORMAT.parse(model({"text": "so", "thoughtSignature": "AA"}, {**call(), "thought_signature": "BB"}))
    cut = Edit(seq=0, part=0, rule="middle-cut", text="s")
    shrunk = Edit(seq=0, part=1, rule="arguments", arguments={"command": "l"})
    assert FORMAT.edit(message, [cut, shrunk])["parts"] == [
        {"text": "s"},
        {"functionCall": {"name": "bash", "args": {"command": "l"}}, "thought_signature": "BB"},
    ]


@pytest.mark.parametrize(
    ("raws", "rules"),
    [
        ([], ["empty"]),
        ([user({"text": "a"}), model({"text": "b"}), user({"text": "c"})], []),
        ([model({"text": "b"})], ["first-message"]),
        ([user({"text": "a"}), model(call()), user(answer())], []),
        ([user({"text": "a"}), model(call(), call()), user(answer()), user(answer())], []),
        ([user({"text": "a"}), model(call(), call()), user(answer())], ["pending"]),
        ([user({"text": "a"}), model(call()), user({"text": "b"})], ["unanswered-call"]),
        ([user({"text": "a"}), model(call()), user({"text": "b"}, answer())], ["results-first"]),
        ([user({"text": "a"}, answer())], ["orphan-result"]),
    ],
)
def test_problems(raws: list[Any], rules: list[str]) -> None:
    assert [problem.rule for problem in FORMAT.problems(raws)] == rules


def test_a_request_joins_neighbours_of_one_role() -> None:
    raws = [user({"text": "a"}), user({"text": "b"}), model(call()), user(answer()), {"parts": [{"text": "c"}]}]
    assert FORMAT.request(raws, "Be brief.") == {
        "contents": [user({"text": "a"}, {"text": "b"}), model(call()), user(answer(), {"text": "c"})],
        "config": {"system_instruction": "Be brief."},
    }
    assert raws[0] == user({"text": "a"})
    assert FORMAT.request(raws[:1], None) == {"contents": raws[:1]}


def test_inline_data_costs_what_it_shows_and_not_its_base64() -> None:
    picture = FORMAT.parse(user({"inlineData": {"mimeType": "image/png", "data": "A" * 400_000}}))
    pages = FORMAT.parse(user({"inline_data": {"mime_type": "application/pdf", "data": "A" * 400_000}}))
    assert 1_000 < picture.tokens < 2_000
    assert 5_000 < pages.tokens < 20_000


def test_a_response_of_the_sdk_is_its_first_candidate() -> None:
    types = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    raw = {
        "candidates": [{"content": model({"text": "hm", "thought": True, "thought_signature": "AAEC"}, call(id="1"))}],
        "usage_metadata": {"prompt_token_count": 4},
    }
    message = FORMAT.parse(types.GenerateContentResponse.model_validate(raw))
    assert [type(part) for part in message.parts] == [ThinkingPart, ToolCallPart]
    assert FORMAT.canonical(message.raw) == FORMAT.canonical(raw["candidates"][0]["content"])  # type: ignore[index]


def test_a_request_is_what_the_sdk_takes() -> None:
    types = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    raws = [
        user({"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AAEC"}}),
        model(call()),
        user(answer()),
    ]
    request = FORMAT.request(raws, "Be brief.")
    sent = [types.Content.model_validate(content) for content in request["contents"]]
    assert sent[0].parts[1].inline_data.data == b"\0\1\2"
    assert types.GenerateContentConfig.model_validate(request["config"]).system_instruction == "Be brief."
    assert [FORMAT.canonical(FORMAT.parse(content).raw) for content in sent] == [FORMAT.canonical(raw) for raw in raws]
