"""Rules of thumb: exact figures, because policies are tuned with them."""

from __future__ import annotations

from typing import get_args

import pytest

from offturn_config.groups import Trigger
from offturn_engine.formats import get
from offturn_engine.messages import Json
from offturn_engine.rules_of_thumb import Estimator, bytes4_text, chars4_message, chars4_text
from offturn_engine.tokens import IMAGE

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": "b"}'}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        pytest.param({"role": "user", "content": "x" * 43}, 10 + 10, id="rounded-down"),
        pytest.param({"role": "user", "content": "é" * 40}, 10 + 10, id="characters-not-bytes"),
        pytest.param(
            {"role": "tool", "tool_call_id": "c" * 400, "content": "x" * 40}, 10 + 10, id="ids-of-results-are-free"
        ),
        pytest.param(
            {"role": "assistant", "content": None, "tool_calls": [CALL]}, 10 + len(str(CALL)) // 4, id="a-call"
        ),
        pytest.param(
            {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]},
            10 + 2 * (len(str(CALL)) // 4),
            id="each-call",
        ),
        pytest.param(
            {"role": "user", "content": [{"type": "text", "text": "x" * 40}, PICTURE]}, 10 + 10 + IMAGE, id="image"
        ),
        pytest.param({"role": "assistant", "content": "", "reasoning_content": "x" * 400}, 10 + 100, id="reasoning"),
        pytest.param({"role": "assistant", "content": "", "reasoning_details": [{"x": 1}]}, 10 + 2, id="its-json"),
        pytest.param("x" * 40, 10 + 10, id="not-a-message"),
    ],
)
def test_chars4_of_a_message(raw: Json, tokens: int) -> None:
    assert chars4_message(raw) == tokens


def test_chars4_counts_what_anthropics_blocks_hold() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "x" * 400}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "y" * 400}]}
    assert chars4_message({"role": "assistant", "content": [use]}) > 110
    assert chars4_message({"role": "user", "content": [answer]}) > 110


def test_texts() -> None:
    assert (chars4_text("é" * 9), bytes4_text("é" * 9)) == (2, 5)


def test_a_policy_can_name_every_estimator_and_no_other() -> None:
    assert get_args(Trigger.model_fields["estimator"].annotation) == get_args(Estimator)
    raw = {"role": "user", "content": "x" * 400}
    assert {name: get("openai-chat", name).estimate(raw) for name in get_args(Estimator)} == {
        "calibrated": 94,
        "bytes4": 104,
        "chars4": 110,
    }
