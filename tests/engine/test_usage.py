"""Usage out of whatever the SDKs report: the input counts cached tokens, whoever reports it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offturn import InvalidSetting, Usage

OPENAI = {"prompt_tokens": 40, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
ANTHROPIC = {
    "input_tokens": 10,
    "output_tokens": 7,
    "cache_read_input_tokens": 25,
    "cache_creation_input_tokens": 5,
}
RESPONSES_API = {"input_tokens": 40, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 30}}
GEMINI = {
    "prompt_token_count": 40,
    "candidates_token_count": 4,
    "thoughts_token_count": 3,
    "cached_content_token_count": 30,
}


def objects(value: Any) -> Any:
    """The same with attributes in place of keys."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(item) for key, item in value.items()})
    return value


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (OPENAI, Usage(40, 7, 30)),
        (ANTHROPIC, Usage(40, 7, 25)),
        (RESPONSES_API, Usage(40, 7, 30)),
        (GEMINI, Usage(40, 7, 30)),
        ({"promptTokenCount": 40, "candidatesTokenCount": 7}, Usage(40, 7)),
        ({"prompt_tokens": 40, "completion_tokens": 7}, Usage(40, 7)),
        ({"prompt_tokens": 40, "completion_tokens": None, "prompt_tokens_details": None}, Usage(40)),
        ({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": None}, Usage(10, 1)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage(0)),
    ],
)
def test_all_sdks_as_dicts_objects_and_whole_responses(reported: dict[str, Any], usage: Usage) -> None:
    assert Usage.from_response(reported) == usage
    assert Usage.from_response(objects(reported)) == usage
    assert Usage.from_response({"usage": reported}) == usage
    assert Usage.from_response(objects({"usage": reported})) == usage


def test_gemini_calls_it_usage_metadata() -> None:
    assert Usage.from_response(objects({"usage_metadata": GEMINI})) == Usage(40, 7, 30)
    assert Usage.from_response({"usageMetadata": {"promptTokenCount": 40}}) == Usage(40)


@pytest.mark.parametrize("nothing", [None, {}, {"usage": None}, SimpleNamespace(usage=None), 17, "text", object()])
def test_where_there_is_none_it_says_so(nothing: Any) -> None:
    assert Usage.from_response(nothing) is None


def test_a_usage_is_its_own() -> None:
    assert Usage.from_response(Usage(1, 2, 3)) == Usage(1, 2, 3)


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1, "9", 1.5, None, True, 10**30])
def test_what_is_no_number_of_tokens_is_named(count: Any) -> None:
    for name in ("input_tokens", "output_tokens", "cached_tokens"):
        with pytest.raises(InvalidSetting, match=f"usage: {name} .*: use a whole number of tokens from 0"):
            Usage(**{"input_tokens": 5, name: count})
    for reported in (OPENAI, ANTHROPIC, RESPONSES_API, GEMINI):
        asked, *others = reported
        assert Usage.from_response({**reported, asked: count}) is None
        assert isinstance(Usage.from_response({**reported, others[0]: count}), Usage)
