"""Responses and message objects of the SDKs as plain messages. Duck-typed: no SDK is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offturn_engine.messages import Json, RawMessage

ITEM_PARTS = ("input_", "output_", "refusal")
_LISTS = ("tool_calls", "parts")


def plain(raw: Json) -> RawMessage:
    """The message inside what an SDK hands out, as a dict.

    Anything with `model_dump` becomes a dict without nulls. Of an OpenAI ChatCompletion the first choice's message is
    taken, of an Anthropic Message its role and content, of Gemini's response its first candidate's content; so are
    dicts that look like these. Any other dict is returned as it is, unless parts of it are SDK objects (`{"role": "assistant", "content": response.content}`).
    What is no message at all comes back unchanged: `parse` says what is wrong with it.
    """
    if (
        type(raw) is dict
        and type(raw.get("content")) is str
        and "role" in raw
        and not ("tool_calls" in raw or "parts" in raw)
    ):
        return raw  # what most are, at once
    value = _dumped(raw)
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    if "role" not in value and _first_choice(value) is not None:
        return _tidy(plain(_first_choice(value)))
    if _is_answer(value):
        value = {"role": value["role"], "content": value["content"]}
    return _tidy(value) if value is not raw and hasattr(raw, "model_dump") else _with_plain_parts(value)


def _dumped(value: Json) -> Json:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value


def _first_choice(value: Mapping[str, Any]) -> Json:
    for several, one in (("choices", "message"), ("candidates", "content")):
        given = value.get(several)
        if isinstance(given, list) and given:
            first = _dumped(given[0])
            return first.get(one) if isinstance(first, dict) else None
    return None


def _is_answer(value: Mapping[str, Any]) -> bool:
    """Is it a Message of Anthropic's? An item of OpenAI's Responses API has the same type, and is taken as it is."""
    content = value.get("content")
    if value.get("type") != "message" or "role" not in value or not isinstance(content, list) or "status" in value:
        return False
    kinds = [part.get("type") for part in content if isinstance(part, dict)]
    return not any(isinstance(kind, str) and kind.startswith(ITEM_PARTS) for kind in kinds)


def _tidy(value: RawMessage) -> RawMessage:
    """A response's message without its nulls and empty lists, which requests refuse; of an item they are asked for."""
    if "role" not in value:
        return value
    return {k: v for k, v in value.items() if v is not None and (k == "content" or v != [])}


def _with_plain_parts(value: dict[str, Any]) -> dict[str, Any]:
    changed = {
        key: [_dumped(part) for part in value[key]]
        for key in ("content", *_LISTS)
        if isinstance(value.get(key), list | tuple) and any(hasattr(part, "model_dump") for part in value[key])
    }
    return {**value, **changed} if changed else value
