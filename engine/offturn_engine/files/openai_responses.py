"""Items of openai-responses as files hold them, and what is repaired of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from offturn_engine import formats
from offturn_engine.files.assembling import Dialect, assemble
from offturn_engine.files.conversation import Conversation, Item, Notes, Said
from offturn_engine.files.values import listed
from offturn_engine.messages import Json, RawMessage

CUSTOM = "custom_tool_call:"
"""How the format's neutral id of a call begins that takes free text."""


def conversation(items: Sequence[Item], *, title: str, system: Json, source: str, notes: Notes) -> Conversation:
    """A conversation of these items, repaired. Raises UnreadableFile naming place and field."""
    return assemble(items, DIALECT, title=title, system=system, source=source, notes=notes)


def _calling(call_id: str, name: str) -> RawMessage:
    if call_id.startswith(CUSTOM):
        return {"type": "custom_tool_call", "call_id": call_id.removeprefix(CUSTOM), "name": name, "input": ""}
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def _repair(found: Sequence[Said], notes: Notes) -> list[tuple[int, Said]]:
    kept = [(i, replace(said, raw=raw)) for i, said in enumerate(found) if (raw := _repaired(said.raw, notes))]
    return [(i, said) for n, (i, said) in enumerate(kept) if not _is_unfinished(n, kept, notes)]


def _repaired(raw: dict[str, Json], notes: Notes) -> RawMessage | None:
    """None for what says nothing."""
    if raw.get("type") == "reasoning":
        if raw.get("encrypted_content"):
            return {"summary": [], **raw}
        notes.count("reasoning that is not encrypted skipped")
        return None
    if raw.get("type") == "function_call" and not isinstance(raw.get("arguments"), str):
        notes.count("arguments that were objects written as JSON text")
        return {**raw, "arguments": json.dumps(raw.get("arguments") or {}, ensure_ascii=False)}
    if raw.get("type") == "message":
        content = raw.get("content")
        if isinstance(content, list):
            content = [part for part in content if not _is_missing(part)]
            notes.count("images without data skipped", len(listed(raw["content"])) - len(content))
        if not content:
            notes.count(f"empty {raw.get('role')} messages skipped")
            return None
        return {**raw, "content": content}
    return raw


def _is_missing(part: Json) -> bool:
    if not isinstance(part, dict) or part.get("type") != "input_image":
        return False
    return not part.get("image_url") and not part.get("file_id")


def _is_unfinished(n: int, kept: Sequence[tuple[int, Said]], notes: Notes) -> bool:
    """Reasoning that led to nothing was cut off: the API refuses it."""
    if kept[n][1].raw.get("type") != "reasoning":
        return False
    led: RawMessage = next((said.raw for _, said in kept[n + 1 :] if said.raw.get("type") != "reasoning"), {})
    finished = led.get("role") == "assistant" or str(led.get("type", "message")).endswith("_call")
    notes.count("unfinished reasoning skipped", int(not finished))
    return not finished


DIALECT = Dialect(formats.get("openai-responses"), _repair, _calling)
