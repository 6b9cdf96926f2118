"""What is left of a message whose content is deleted: its role, and which calls it makes and answers.

Call ids and function names stay, so that pairs hold and a provider still takes the list. Arguments become empty, texts
`[redacted]`; media, reasoning (also signed) and all other fields go, an author's `name` too.
"""

from __future__ import annotations

from typing import Any

from offturn_engine.formats._canonical import camel
from offturn_engine.messages import Json, RawMessage

REDACTED = "[redacted]"

_RESULTS = ("tool", "function")


def redacted_openai(raw: RawMessage) -> dict[str, Json]:
    """The tombstone of an openai-chat message that `parse` accepts."""
    role = raw["role"]
    if role in _RESULTS:
        names = {key: raw[key] for key in ("tool_call_id", "name") if key in raw and (key, role) != ("name", "tool")}
        return {"role": role, **names, "content": REDACTED}
    if role != "assistant":
        return {"role": role, "content": REDACTED}
    calls: dict[str, Any] = {}
    if raw.get("tool_calls"):
        calls["tool_calls"] = [_call(call) for call in raw["tool_calls"]]
    if raw.get("function_call"):
        calls["function_call"] = {"name": raw["function_call"]["name"], "arguments": "{}"}
    said = raw.get("content") or raw.get("refusal") or raw.get("audio")
    return {"role": role, "content": REDACTED if said or not calls else None, **calls}


def redacted_anthropic(raw: RawMessage) -> dict[str, Json]:
    """The tombstone of an anthropic message that `parse` accepts. Server tools and their results go, as one text."""
    role, content = raw["role"], raw["content"]
    if isinstance(content, str):
        return {"role": role, "content": REDACTED}
    kept = [_block(block) for block in content if block["type"] in ("tool_use", "tool_result")]
    others = any(block["type"] not in ("tool_use", "tool_result", "thinking", "redacted_thinking") for block in content)
    if not kept:
        return {"role": role, "content": REDACTED}
    said = [{"type": "text", "text": REDACTED}] if others else []
    return {"role": role, "content": [*said, *kept] if role == "assistant" else [*kept, *said]}


KEPT_OF_ITEMS = ("type", "id", "call_id", "status", "name", "execution")
EMPTIED: dict[str, Json] = {
    "arguments": "{}",
    "input": REDACTED,
    "output": REDACTED,
    "action": {"type": "exec", "command": [REDACTED], "commands": [REDACTED], "env": {}},
    "operation": {"type": "delete_file", "path": REDACTED},
    "code": REDACTED,
    "tools": [],
}


def redacted_responses(raw: RawMessage) -> dict[str, Json]:
    """The tombstone of an item: of a call or an output its frame, of all else a message."""
    if "role" in raw:
        return {"role": raw["role"], "content": REDACTED}
    if raw.get("call_id") is None:
        return {"role": "assistant", "content": REDACTED}
    kept = {key: raw[key] for key in KEPT_OF_ITEMS if key in raw}
    return {**kept, **{key: value for key, value in EMPTIED.items() if key in raw}}


def redacted_gemini(raw: RawMessage) -> dict[str, Json]:
    """The tombstone of a gemini content. All parts but calls and responses go, as one text."""
    role, kept, others = raw.get("role") or "user", list[dict[str, Json]](), False
    for part in raw["parts"]:
        key = next((k for k in part if camel(k) in ("functionCall", "functionResponse")), "")
        if not key:
            others = others or not part.get("thought")
            continue
        empty: dict[str, Json] = {"args": {}} if camel(key) == "functionCall" else {"response": {"output": REDACTED}}
        named = {k: part[key][k] for k in ("id", "name") if part[key].get(k) is not None}
        kept.append({key: {**named, **empty}})
    said: list[dict[str, Json]] = [{"text": REDACTED}] if others or not kept else []
    return {"role": role, "parts": [*said, *kept] if role == "model" else [*kept, *said]}


def _call(call: dict[str, Any]) -> dict[str, Json]:
    if call.get("type") == "custom":
        return {"id": call["id"], "type": "custom", "custom": {"name": call["custom"]["name"], "input": REDACTED}}
    return {"id": call["id"], "type": "function", "function": {"name": call["function"]["name"], "arguments": "{}"}}


def _block(block: dict[str, Any]) -> dict[str, Json]:
    if block["type"] == "tool_use":
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
    failed = {"is_error": True} if block.get("is_error") else {}
    return {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": REDACTED, **failed}
