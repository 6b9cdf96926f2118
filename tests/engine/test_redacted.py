"""What is left of a redacted message: its place among calls and results, and nothing it said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offturn_engine.formats import get
from offturn_engine.match import Form, Match, match, path_shape
from offturn_engine.messages import Message
from tests.integration.host import FORMATS, calls, human, result, says, turns

SAID = "green lamp"
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"x": SAID})}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "grep", "input": SAID}}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"x": SAID}}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": SAID}}
THINKING = {"type": "thinking", "thinking": SAID, "signature": SAID}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": SAID}}
LEFT_CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
LEFT_USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
LEFT_RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "[redacted]"}
LEFT_TEXT = {"type": "text", "text": "[redacted]"}

OPENAI: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"role": "user", "content": SAID, "name": "ann"}, {"role": "user", "content": "[redacted]"}),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": SAID}}]},
        {"role": "user", "content": "[redacted]"},
    ),
    ({"role": "developer", "content": SAID}, {"role": "developer", "content": "[redacted]"}),
    ({"role": "assistant", "content": SAID, "reasoning": SAID}, {"role": "assistant", "content": "[redacted]"}),
    ({"role": "assistant", "content": None, "refusal": SAID}, {"role": "assistant", "content": "[redacted]"}),
    (
        {"role": "assistant", "content": "", "tool_calls": [CALL, CUSTOM], "reasoning_details": [SAID]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [LEFT_CALL, {**CUSTOM, "custom": {"name": "grep", "input": "[redacted]"}}],
        },
    ),
    (
        {"role": "assistant", "content": SAID, "function_call": {"name": "bash", "arguments": SAID}},
        {"role": "assistant", "content": "[redacted]", "function_call": {"name": "bash", "arguments": "{}"}},
    ),
    (
        {"role": "tool", "tool_call_id": "c1", "name": SAID, "content": [{"type": "text", "text": SAID}]},
        {"role": "tool", "tool_call_id": "c1", "content": "[redacted]"},
    ),
    (
        {"role": "function", "name": "bash", "content": SAID},
        {"role": "function", "name": "bash", "content": "[redacted]"},
    ),
]
ANTHROPIC: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"role": "user", "content": SAID}, {"role": "user", "content": "[redacted]"}),
    ({"role": "user", "content": [IMAGE]}, {"role": "user", "content": "[redacted]"}),
    (
        {
            "role": "user",
            "content": [{**LEFT_RESULT, "content": SAID, "is_error": True}, {"type": "text", "text": SAID}],
        },
        {"role": "user", "content": [{**LEFT_RESULT, "is_error": True}, LEFT_TEXT]},
    ),
    ({"role": "assistant", "content": [THINKING, USE]}, {"role": "assistant", "content": [LEFT_USE]}),
    (
        {"role": "assistant", "content": [{"type": "text", "text": SAID}, USE, SERVER]},
        {"role": "assistant", "content": [LEFT_TEXT, LEFT_USE]},
    ),
    ({"role": "assistant", "content": [THINKING, SERVER]}, {"role": "assistant", "content": "[redacted]"}),
]


@pytest.mark.parametrize(
    ("fmt", "raw", "left"), [("openai-chat", *one) for one in OPENAI] + [("anthropic", *one) for one in ANTHROPIC]
)
def test_what_is_left(fmt: str, raw: dict[str, Any], left: dict[str, Any]) -> None:
    dialect = get(fmt)

    assert dialect.redacted(raw) == left
    assert dialect.redacted(left) == left
    before, after = dialect.parse(raw), dialect.parse(left)
    assert (before.role, before.origin) == (after.role, after.origin)
    assert [(c.id, c.name) for _, c in before.calls] == [(c.id, c.name) for _, c in after.calls]
    assert [r.call_id for _, r in before.results] == [r.call_id for _, r in after.results]


@given(fmt=st.sampled_from(FORMATS), chosen=st.sets(st.integers(0, 11)))
def test_the_provider_still_takes_the_list(fmt: str, chosen: set[int]) -> None:
    dialect, sent = get(fmt), turns(fmt, 3, size=20)

    assert dialect.problems([dialect.redacted(m) if i in chosen else m for i, m in enumerate(sent)]) == []


def path(fmt: str, sent: list[dict[str, Any]], redacted: set[int]) -> tuple[list[Message], list[Form]]:
    dialect = get(fmt)
    messages = [dialect.parse(dialect.redacted(raw) if i in redacted else raw).placed(i) for i, raw in enumerate(sent)]
    sizes = [Form(raw, dialect).size if i in redacted else None for i, raw in enumerate(sent)]
    return messages, [Form(m.raw, dialect, was) for m, was in zip(messages, sizes, strict=True)]


def found(fmt: str, mine: list[dict[str, Any]], sent: list[dict[str, Any]], redacted: set[int]) -> Match:
    return match([Form(raw, get(fmt)) for raw in mine], path_shape(*path(fmt, sent, redacted)))


@given(fmt=st.sampled_from(FORMATS), chosen=st.sets(st.integers(0, 11)), new=st.integers(0, 2))
def test_a_list_that_still_has_it_is_the_same_list(fmt: str, chosen: set[int], new: int) -> None:
    sent = turns(fmt, 3, size=20)

    told = found(fmt, [*sent, human("So?"), says("So.")][: 12 + new], sent, chosen)

    assert (told.kind, told.new) == ("append" if new else "equal", 12)


@pytest.mark.parametrize("fmt", FORMATS)
def test_what_stands_in_its_place(fmt: str) -> None:
    """Its own words, its tombstone, or anything of its kind that what follows makes sure of."""
    sent = [human(f"The {SAID}."), *[calls(fmt, "c1"), result(fmt, "c1", SAID)], says("Noted.")]

    assert found(fmt, [human("***"), *sent[1:]], sent, {0}).kind == "equal"
    assert found(fmt, [sent[0], calls(fmt, "c1", command="***"), *sent[2:], human("So?")], sent, {1}).new == 4
    assert found(fmt, [says("***"), *sent[1:]], sent, {0}).kind == "unrelated"
    assert found(fmt, [sent[0], calls(fmt, "c9"), *sent[2:]], sent, {1}).kind == "unrelated"


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_new_message_is_not_taken_for_it(fmt: str) -> None:
    """Where a host dropped it from its list, another message has its place, and nothing that follows makes sure."""
    sent = [human("Hello."), says("Hi."), human(f"The {SAID}.")]

    assert found(fmt, [*sent[:2], human("What is the weather like?")], sent, {2}).kind == "unrelated"
    assert found(fmt, [*sent[:2], human("Weather?"), says("It rains."), human("So?")], sent, {2}).differs == 2
    assert found(fmt, [human("Hello."), says("Other.")], sent, {1, 2}).kind == "unrelated"
    assert found(fmt, [*sent, says("It rains.")], sent, {2}).new == 3
    assert found(fmt, [*sent[:2], human("[redacted]"), says("It rains.")], sent, {2}).new == 3
