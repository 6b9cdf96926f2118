"""Attachments: references of a host to media that it keeps itself, and their values where a request is made.

A reference is a text that starts with `attachment://`, in the place where a media block has its data or address:

    {"type": "image_url", "image_url": {"url": "attachment://photo-7"}}
    {"type": "image", "source": {"type": "url", "url": "attachment://photo-7"}}

Elsewhere, in texts and in the arguments of calls, such a text is a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offturn_engine.media import source_of
from offturn_engine.messages import Json, RawMessage
from offturn_engine.tokens import DOCUMENTS, IMAGES, SOUNDS

SCHEME = "attachment://"
MEDIA = IMAGES | DOCUMENTS | SOUNDS
GONE = "[attachment {} could not be had]"


def references(messages: Sequence[RawMessage]) -> list[str]:
    """Those that the messages hold, each once, in their order."""
    return list(dict.fromkeys(reference for raw in messages for reference in _references(raw.get("content"))))


def resolved(messages: Sequence[RawMessage], values: Mapping[str, Json]) -> list[RawMessage]:
    """The messages with the references in `values` replaced. A text takes the place of the reference, an object that of
    the object which directly holds it (`image_url`, `source`); with None a line of text stands for the whole block.

    Messages without a reference are the same values.
    """
    return [{**raw, "content": _resolved(raw["content"], values)} if _has(raw, values) else raw for raw in messages]


def _has(raw: RawMessage, values: Mapping[str, Json]) -> bool:
    return any(reference in values for reference in _references(raw.get("content")))


def _references(content: Json) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            if block.get("type") == "tool_result":
                yield from _references(block.get("content"))
            elif (found := _reference(block)) is not None:
                yield found


def _reference(block: Mapping[str, Json]) -> str | None:
    source = source_of(block) if block.get("type") in MEDIA else ""
    return source if source.startswith(SCHEME) else None


def _resolved(content: Json, values: Mapping[str, Json]) -> Json:
    return [_block(block, values) if isinstance(block, Mapping) else block for block in content]


def _block(block: Mapping[str, Any], values: Mapping[str, Json]) -> Json:
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": _resolved(block["content"], values)}
    reference = _reference(block)
    if reference is None or reference not in values:
        return block
    value = values[reference]
    return {"type": "text", "text": GONE.format(reference)} if value is None else _replaced(block, reference, value)


def _replaced(holder: Mapping[str, Any], reference: str, value: Json) -> Json:
    if isinstance(value, Mapping) and reference in holder.values():
        return value
    return {
        key: value
        if item == reference
        else _replaced(item, reference, value)
        if isinstance(item, Mapping) and reference in item.values()
        else item
        for key, item in holder.items()
    }
