"""Messages of `openai-chat` as input items of OpenAI's Responses API: what `responses.compact` and `responses.create` take.

Source: the TypedDicts of openai 3.57 (`ResponseInputItemParam`). One way only; sound has no counterpart and is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offturn_engine.formats._openai_parts import FUNCTION
from offturn_engine.messages import Json, RawMessage

NO_SOUND = "[sound, not shown here]"


def items(messages: Sequence[RawMessage]) -> list[dict[str, Json]]:
    """The messages as items, in order: a message may become several (its text, then its calls)."""
    return [item for group in grouped(messages) for item in group]


def grouped(messages: Sequence[RawMessage]) -> list[list[dict[str, Json]]]:
    """The same, by message."""
    custom: set[str] = set()
    return [
        [*(_result(raw, custom) if raw["role"] in ("tool", "function") else _said(raw, custom))] for raw in messages
    ]


def _said(raw: RawMessage, custom: set[str]) -> Iterator[dict[str, Json]]:
    role, content = raw["role"], raw.get("content")
    text = raw.get("refusal") or ""
    if role == "assistant":
        if told := _text(content) or text:
            yield {"role": role, "content": told}
    elif content:
        yield {"role": role, "content": content if isinstance(content, str) else [_part(part) for part in content]}
    for call in raw.get("tool_calls") or ():
        if "custom" in call:
            custom.add(call["id"])
            yield {"type": "custom_tool_call", "call_id": call["id"], **_only(call["custom"], "name", "input")}
        else:
            yield {"type": "function_call", "call_id": call["id"], **_only(call["function"], "name", "arguments")}
    if old := raw.get("function_call"):
        yield {"type": "function_call", "call_id": FUNCTION + old["name"], **_only(old, "name", "arguments")}


def _result(raw: RawMessage, custom: set[str]) -> Iterator[dict[str, Json]]:
    call = raw["tool_call_id"] if raw["role"] == "tool" else FUNCTION + raw["name"]
    kind = "custom_tool_call_output" if call in custom else "function_call_output"
    yield {"type": kind, "call_id": call, "output": _text(raw.get("content"))}


def _part(part: Mapping[str, Any]) -> dict[str, Json]:
    match part["type"]:
        case "image_url":
            image = part["image_url"]
            return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail") or "auto"}
        case "file":
            return {"type": "input_file", **_only(part["file"], "file_data", "file_id", "filename")}
        case "text":
            return {"type": "input_text", "text": part["text"]}
        case _:
            return {"type": "input_text", "text": NO_SOUND}


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(p.get("text") or p.get("refusal") or "") for p in content or ())


def _only(value: Mapping[str, Any], *names: str) -> dict[str, Json]:
    return {name: value[name] for name in names if name in value}
