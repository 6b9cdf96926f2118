"""Plain openai-chat messages as raw messages of any format: what tests write once and say in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from offturn_engine.formats.responses import items
from offturn_engine.messages import RawMessage

Raw = dict[str, Any]


def said_in(name: str, raws: Sequence[RawMessage]) -> list[Raw]:
    """The list in a format. System messages only where the format has them; calls are functions, texts strings."""
    if name == "openai-chat":
        return [dict(raw) for raw in raws]
    if name == "openai-responses":
        return items(raws)
    names = {call["id"]: call["function"]["name"] for raw in raws for call in raw.get("tool_calls") or ()}
    one = {"anthropic": _anthropic, "gemini": _gemini, "text-observation": _text}[name]
    return [said for raw in raws for said in one(raw, names)]


def _calls(raw: RawMessage) -> list[tuple[str, str, Raw]]:
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in raw.get("tool_calls") or ()
    ]


def _anthropic(raw: RawMessage, _: dict[str, str]) -> list[Raw]:
    if raw["role"] == "tool":
        block = {"type": "tool_result", "tool_use_id": raw["tool_call_id"], "content": raw["content"]}
        return [{"role": "user", "content": [block]}]
    blocks: list[Raw] = [{"type": "text", "text": raw["content"]}] if raw["content"] else []
    blocks += [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in _calls(raw)]
    return [{"role": raw["role"], "content": blocks if raw.get("tool_calls") else raw["content"]}]


def _gemini(raw: RawMessage, names: dict[str, str]) -> list[Raw]:
    if raw["role"] == "tool":
        name = names.get(raw["tool_call_id"], "bash")
        answer = {"name": name, "response": {"output": raw["content"]}}
        return [{"role": "user", "parts": [{"functionResponse": answer}]}]
    parts: list[Raw] = [{"text": raw["content"]}] if raw["content"] else []
    parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in _calls(raw)]
    return [{"role": "model" if raw["role"] == "assistant" else "user", "parts": parts}]


def _text(raw: RawMessage, _: dict[str, str]) -> list[Raw]:
    """One call a message; of several the results come after the last one."""
    if raw["role"] == "tool":
        return [{"role": "user", "content": raw["content"]}]
    calls = _calls(raw)
    if not calls:
        return [{"role": raw["role"], "content": raw["content"]}]
    actions = [
        "\n".join([f"<function={name}>", *(f"<parameter={k}>{v}</parameter>" for k, v in given.items()), "</function>"])
        for _, name, given in calls
    ]
    first = f"{raw['content']}\n\n{actions[0]}" if raw["content"] else actions[0]
    return [{"role": "assistant", "content": text} for text in (first, *actions[1:])]
