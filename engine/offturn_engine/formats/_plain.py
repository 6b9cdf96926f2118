"""Responses and message objects of both SDKs as plain messages. Duck-typed: no SDK is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offturn_engine.messages import Json, RawMessage


def plain(raw: Json) -> RawMessage:
    """The message inside what an SDK hands out, as a dict.

    Anything with `model_dump` becomes a dict without nulls. Of an OpenAI ChatCompletion the first choice's message is
    taken, of an Anthropic Message its role and content; so are dicts that look like these. Any other dict is returned
    as it is, unless parts of it are SDK objects (`{"role": "assistant", "content": response.content}`).
    What is no message at all comes back unchanged: `parse` says what is wrong with it.
    """
    value = _dumped(raw)
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    if "role" not in value and _first_choice(value) is not None:
        return _tidy(plain(_first_choice(value)))
    if value.get("type") == "message" and "role" in value and "content" in value:
        value = {"role": value["role"], "content": value["content"]}
    return _tidy(value) if value is not raw and hasattr(raw, "model_dump") else _with_plain_parts(value)


def _dumped(value: Json) -> Json:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value


def _first_choice(value: Mapping[str, Any]) -> Json:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    choice = _dumped(choices[0])
    return choice.get("message") if isinstance(choice, dict) else None


def _tidy(value: RawMessage) -> RawMessage:
    """A response's message without its nulls and empty lists, which requests refuse."""
    return {k: v for k, v in value.items() if v is not None and (k == "content" or v != [])}


def _with_plain_parts(value: dict[str, Any]) -> dict[str, Any]:
    changed = {
        key: [_dumped(part) for part in value[key]]
        for key in ("content", "tool_calls")
        if isinstance(value.get(key), list | tuple) and any(hasattr(part, "model_dump") for part in value[key])
    }
    return {**value, **changed} if changed else value
