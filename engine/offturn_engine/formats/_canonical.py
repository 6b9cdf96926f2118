"""The value two messages are compared by. What hosts and SDKs add, drop or reshape on the way is left out here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from offturn_engine.messages import Json, RawMessage

CACHE_MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint"})
OPENAI_NOISE = frozenset({"annotations", "tool_calls", "provider_specific_fields"})  # where empty
ANTHROPIC_RESPONSE = frozenset(
    {
        "id",
        "type",
        "model",
        "usage",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "container",
        "diagnostics",
        "context_management",
    }
)


def canonical_openai(raw: RawMessage) -> dict[str, Json]:
    """Without nulls, cache markers, empty lists of the SDK and call indexes; `type: function` is the default."""
    value = {k: v for k, v in _bare(raw).items() if not (k in OPENAI_NOISE and not v)}
    if "content" in value:
        value["content"] = _content(value["content"], _bare)
    if "tool_calls" in value and isinstance(value["tool_calls"], list):
        value["tool_calls"] = [_call(call) for call in value["tool_calls"]]
        if value.get("content") == "":
            del value["content"]
    return value


def canonical_anthropic(raw: RawMessage) -> dict[str, Json]:
    """Without the fields of a response, nulls and cache markers; one text block is its string."""
    value = {k: v for k, v in _bare(raw).items() if k not in ANTHROPIC_RESPONSE}
    if "content" in value:
        value["content"] = _content(value["content"], _block)
    return value


def _bare(value: Mapping[str, Any]) -> dict[str, Json]:
    return {k: v for k, v in value.items() if v is not None and k not in CACHE_MARKERS}


def _content(content: Json, part: Callable[[Mapping[str, Any]], dict[str, Json]]) -> Json:
    if not isinstance(content, list):
        return content
    parts = [part(item) if isinstance(item, dict) else item for item in content]
    if len(parts) == 1 and isinstance(parts[0], dict) and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"] if parts[0]["type"] == "text" else parts
    return parts


def _call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    value = {k: v for k, v in _bare(call).items() if k != "index" and (k, v) != ("type", "function")}
    if isinstance(value.get("function"), dict):
        value["function"] = _bare(value["function"])
    return value


def _block(block: Mapping[str, Any]) -> dict[str, Json]:
    value = _bare(block)
    if value.get("type") == "tool_result":
        content = _content(value.pop("content", ""), _block)
        value = {k: v for k, v in value.items() if (k, v) != ("is_error", False)}
        return {**value, "content": content} if content not in ("", []) else value
    if value.get("caller") == {"type": "direct"}:
        del value["caller"]
    return value


RESPONSES_NOISE = frozenset({"annotations", "logprobs", "summary", "pending_safety_checks"})  # where empty
KNOWN_ITEMS = ("message", "reasoning", "function_call", "custom_tool_call")


def canonical_responses(raw: RawMessage) -> dict[str, Json]:
    """Without nulls, cache markers, states, empty lists of the SDK, and the ids of items that say what they are."""
    value = {k: v for k, v in _bare(raw).items() if k != "status" and not (k in RESPONSES_NOISE and not v)}
    kind = value.get("type", "message" if "role" in value else None)
    if kind == "message":
        value.pop("type", None)
    if isinstance(kind, str) and kind.removesuffix("_output") in KNOWN_ITEMS:
        value.pop("id", None)
    for key in ("content", "output"):
        if isinstance(value.get(key), list):
            value[key] = _said([_bare_item(part) for part in value[key]])
    return value


def _bare_item(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    return {k: v for k, v in _bare(part).items() if not (k in RESPONSES_NOISE and not v)}


def _said(parts: list[Json]) -> Json:
    """One text part is its string."""
    if len(parts) == 1 and isinstance(parts[0], dict) and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"] if parts[0]["type"] in ("input_text", "output_text") else parts
    return parts


def canonical_gemini(raw: RawMessage) -> dict[str, Json]:
    """One spelling of field names, without nulls; the role where it is left out."""
    value = {"role": "user", **_bare(raw)}
    parts = value.get("parts")
    if isinstance(parts, list):
        value["parts"] = [_gemini_part(part) if isinstance(part, dict) else part for part in parts]
    return value


def _gemini_part(part: Mapping[str, Any]) -> dict[str, Json]:
    value = {camel(k): v for k, v in _bare(part).items() if (k, v) != ("thought", False)}
    for key, inner in value.items():
        if isinstance(inner, dict) and key != "partMetadata":
            value[key] = {camel(k): v for k, v in _bare(inner).items() if (k, v) != ("args", {})}
    return value


def camel(name: str) -> str:
    """The JSON spelling of a field's name."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
