"""Inspect's logs: samples, what their attachments hold, and tokens from their events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from offturn_engine import files
from offturn_engine.files import UnreadableFile
from tests.engine.strategies import damaged
from tests.engine.test_files import MISSING, TRANSCRIPTS, read_or_refused, sendable

Raw = dict[str, Any]

SAMPLE: Raw = {
    "id": "s1",
    "epoch": 1,
    "messages": [
        {"id": "m0", "role": "system", "content": "Be careful."},
        {
            "id": "m1",
            "role": "user",
            "source": "input",
            "content": [
                {"type": "text", "text": "attachment://long"},
                {"type": "image", "image": "attachment://picture", "detail": "auto"},
            ],
        },
        {
            "id": "m2",
            "role": "assistant",
            "source": "generate",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I go."}],
            "tool_calls": [
                {"id": "c1", "function": "go", "arguments": {"url": "attachment://long"}, "parse_error": None},
                {"id": "c2", "function": "click", "arguments": {"id": 7}},
            ],
        },
        {"id": "m3", "role": "tool", "tool_call_id": "c1", "function": "go", "content": "attachment://page"},
        {
            "id": "m4",
            "role": "tool",
            "tool_call_id": "c2",
            "content": "",
            "error": {"type": "timeout", "message": "took too long"},
        },
        {"id": "m5", "role": "assistant", "content": [{"type": "data", "data": {}}, {"type": "text", "text": "Done."}]},
    ],
    "attachments": {"long": "find the page", "picture": "data:image/png;base64,AAAA", "page": "[1] link"},
    "events": [
        {"event": "sample_init"},
        {
            "event": "model",
            "output": {
                "choices": [{"message": {"id": "m2"}}],
                "usage": {"input_tokens": 30, "input_tokens_cache_read": 20, "output_tokens": 5, "total_tokens": 55},
            },
        },
    ],
}
LOG: Raw = {"version": 2, "status": "success", "eval": {"task": "browser"}, "samples": [SAMPLE, SAMPLE | {"epoch": 2}]}


def test_samples() -> None:
    assert files.detect(json.dumps(LOG)) == ("inspect", "an object has eval and samples")
    first, second = files.read(json.dumps(LOG))
    sendable(first)
    assert [first.title, second.title] == ["sample s1", "sample s1, epoch 2"]
    assert first.messages == second.messages
    _, human, called, page, failed, done = first.messages
    assert human["content"] == [
        {"type": "text", "text": "find the page"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert called["content"] == [{"type": "text", "text": "I go."}]
    assert called["reasoning_content"] == "hm"
    assert [(c["id"], c["function"]) for c in called["tool_calls"]] == [
        ("c1", {"name": "go", "arguments": '{"url": "find the page"}'}),
        ("c2", {"name": "click", "arguments": '{"id": 7}'}),
    ]
    assert page == {"role": "tool", "tool_call_id": "c1", "content": "[1] link"}
    assert failed == {"role": "tool", "tool_call_id": "c2", "content": "took too long"}
    assert done["content"] == [{"type": "text", "text": "Done."}]
    assert first.reported == {2: 50}
    assert "1 data parts skipped" in first.notes


def test_an_attachment_that_is_not_there_stays_a_name() -> None:
    (conversation,) = files.read(json.dumps(LOG | {"samples": [SAMPLE | {"attachments": {}}]}))
    assert conversation.messages[3]["content"] == "attachment://page"


@pytest.mark.parametrize(
    ("samples", "where"),
    [
        ([{"messages": 7}], "record 0, sample 0, field 'messages'"),
        ([{"messages": [SAMPLE["messages"][0], 7]}], "record 0, sample 0, message 1 is a int"),
    ],
)
def test_broken_samples_are_refused(samples: Any, where: str) -> None:
    with pytest.raises(UnreadableFile, match=where):
        files.read(json.dumps(LOG | {"samples": samples}))


@given(damaged([LOG]))
def test_a_damaged_log_is_read_or_refused(value: Any) -> None:
    read_or_refused(json.dumps(value, default=str), "inspect")


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason=MISSING)
def test_recorded() -> None:
    (conversation,) = files.read((TRANSCRIPTS / "inspect_browser.json").read_bytes())
    assert [m["role"] for m in conversation.messages] == ["user", *["assistant", "tool"] * 4, "assistant"]
    assert [c["function"]["name"] for m in conversation.messages for c in m.get("tool_calls", ())] == [
        "web_browser_go",
        *["web_browser_click"] * 3,
    ]
    assert conversation.reported == {1: 1124, 3: 1568, 5: 2732, 7: 3896, 9: 5915}
    assert len(json.dumps(conversation.messages)) < 25_000
