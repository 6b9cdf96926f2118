"""References to attachments: found where media stand and nowhere else, and replaced without touching the message."""

from __future__ import annotations

import copy
from typing import Any

from offturn_engine.attachments import references, resolved
from offturn_engine.formats import get

KEY, OTHER = "attachment://photo-7", "attachment://scan"
IN_CHAT = {"type": "image_url", "image_url": {"url": KEY, "detail": "low"}}
IN_BLOCKS = {"type": "image", "source": {"type": "url", "url": KEY}}
FILE = {"type": "file", "file": {"file_data": OTHER, "filename": "scan.pdf"}}
SOURCE = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
TEXT = {"type": "text", "text": KEY}
USE = {"type": "tool_use", "id": "c", "name": "show", "input": {"type": "image", "url": KEY}}
CALL = {"id": "c", "type": "function", "function": {"name": "show", "arguments": f'{{"url": "{KEY}"}}'}}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


def test_references_are_where_media_stand_and_nowhere_else() -> None:
    inside = {"type": "tool_result", "tool_use_id": "c", "content": [IN_BLOCKS]}
    words = [said(TEXT), said(USE), {"role": "user", "content": KEY}, {"role": "assistant", "tool_calls": [CALL]}]

    assert references([said(FILE, IN_CHAT), said(inside), *words]) == [OTHER, KEY]
    assert references(words) == []
    assert resolved(words, {KEY: "x"}, "openai-chat") == words


def test_a_text_replaces_the_reference_and_an_object_what_holds_it() -> None:
    inside = {"type": "tool_result", "tool_use_id": "c", "content": [TEXT, IN_BLOCKS]}
    messages = [said(TEXT, IN_CHAT), said(IN_BLOCKS), said(inside), {"role": "user", "content": "hello"}]
    before = copy.deepcopy(messages)

    with_text = resolved(messages, {KEY: "https://example.com/7"}, "openai-chat")
    with_object = resolved(messages, {KEY: SOURCE}, "anthropic")

    assert with_text[0]["content"] == [
        TEXT,
        {"type": "image_url", "image_url": {"url": "https://example.com/7", "detail": "low"}},
    ]
    assert with_object[1]["content"] == [{"type": "image", "source": SOURCE}]
    assert with_object[2]["content"][0]["content"] == [TEXT, {"type": "image", "source": SOURCE}]
    assert with_text[3] is messages[3]
    assert messages == before


def test_a_line_of_text_stands_for_what_is_gone_and_other_references_stay() -> None:
    [gone] = resolved([said(IN_CHAT, FILE)], {KEY: None}, "openai-chat")

    assert gone["content"] == [{"type": "text", "text": f"[attachment {KEY} could not be had]"}, FILE]


def test_items_and_contents_have_attachments_too_and_lines_in_their_own_words() -> None:
    line = f"[attachment {KEY} could not be had]"
    image = {"type": "input_image", "image_url": KEY}
    items: list[dict[str, Any]] = [said(image), {"type": "function_call_output", "call_id": "c", "output": [image]}]
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": KEY}, {"fileData": {"fileUri": KEY}}]},
        {"role": "user", "parts": [{"inline_data": {"data": KEY, "mime_type": "image/png"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "parts": [{"inlineData": {"data": KEY}}]}}]},
    ]

    assert references(items) == references(contents) == [KEY]
    text = {"type": "input_text", "text": line}
    assert resolved(items, {KEY: None}, "openai-responses") == [said(text), {**items[1], "output": [text]}]
    assert resolved(items, {KEY: "data:x"}, "openai-responses")[1]["output"] == [{**image, "image_url": "data:x"}]
    assert resolved(contents, {KEY: None}, "gemini") == [
        {"role": "user", "parts": [{"text": KEY}, {"text": line}]},
        {"role": "user", "parts": [{"text": line}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "parts": [{"text": line}]}}]},
    ]
    blob = {"data": "AAAA", "mime_type": "image/jpeg"}
    with_object = resolved(contents, {KEY: blob}, "gemini")
    assert with_object[1]["parts"] == [{"inline_data": blob}]
    assert get("gemini").problems(resolved(contents[:2], {KEY: None}, "gemini")) == []
    assert get("openai-responses").problems(resolved(items[:1], {KEY: None}, "openai-responses")) == []
