"""Attachments: references of a host to media that it keeps itself, and their values where a request is made.

A reference is a text that starts with `attachment://`, in the place where a media block has its data or address:

    {"type": "image_url", "image_url": {"url": "attachment://photo-7"}}
    {"type": "image", "source": {"type": "url", "url": "attachment://photo-7"}}
    {"type": "input_image", "image_url": "attachment://photo-7"}
    {"fileData": {"fileUri": "attachment://photo-7"}}

Elsewhere, in texts and in the arguments of calls, such a text is a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from offturn_engine.media import source_of
from offturn_engine.messages import Json, RawMessage
from offturn_engine.tokens import DOCUMENTS, IMAGES, SOUNDS

SCHEME = "attachment://"
MEDIA = IMAGES | DOCUMENTS | SOUNDS
PARTS = ("content", "parts", "output")
"""Where messages, contents and items have their parts."""
GEMINI_MEDIA = ("fileData", "file_data", "inlineData", "inline_data")
GEMINI_PLACES = ("fileUri", "file_uri", "data")
GEMINI_RESULTS = ("functionResponse", "function_response")
GONE = "[attachment {} could not be had]"
TEXT_TYPES = {"gemini": None, "openai-responses": "input_text"}
"""What a text part of a format is called where that is not `text`; gemini's has no type."""


def references(messages: Sequence[RawMessage]) -> list[str]:
    """Those that the messages hold, each once, in their order."""
    return list(dict.fromkeys(reference for raw in messages for reference in _references(raw)))


def resolved(messages: Sequence[RawMessage], values: Mapping[str, Json], format_name: str) -> list[RawMessage]:
    """The messages, in this format, with the references in `values` replaced. A text takes the place of the reference, an
    object that of the object which directly holds it (`image_url`, `source`, `fileData`); with None a line of text stands
    for the whole block.

    Messages without a reference are the same values.
    """
    resolving = _Resolving(values, TEXT_TYPES.get(format_name, "text"))
    return [resolving.within(raw) if any(one in values for one in _references(raw)) else raw for raw in messages]


def _references(holder: Mapping[str, Json]) -> Iterator[str]:
    for key in PARTS:
        parts = holder.get(key)
        for block in parts if isinstance(parts, list) else ():
            if not isinstance(block, Mapping):
                continue
            if (inner := _result(block)) is not None:
                yield from _references(inner[1])
            elif (found := _reference(block)) is not None:
                yield found


def _result(block: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """A result that has parts of its own: the field that holds it, "" for the block itself."""
    if block.get("type") == "tool_result":
        return "", block
    return next(((key, block[key]) for key in GEMINI_RESULTS if isinstance(block.get(key), Mapping)), None)


def _reference(block: Mapping[str, Any]) -> str | None:
    source = source_of(block) if block.get("type") in MEDIA else ""
    for media in (block[key] for key in GEMINI_MEDIA if isinstance(block.get(key), Mapping)):
        source = next((media[key] for key in GEMINI_PLACES if isinstance(media.get(key), str)), "")
    return source if source.startswith(SCHEME) else None


@dataclass(frozen=True, slots=True)
class _Resolving:
    values: Mapping[str, Json]
    text_type: str | None

    def within(self, holder: Mapping[str, Any]) -> dict[str, Any]:
        """A message or a result, with its parts replaced."""
        return {
            key: [self._block(part) if isinstance(part, Mapping) else part for part in value]
            if key in PARTS and isinstance(value, list)
            else value
            for key, value in holder.items()
        }

    def _block(self, block: Mapping[str, Any]) -> Json:
        if (inner := _result(block)) is not None:
            key, result = inner
            return {**block, key: self.within(result)} if key else self.within(result)
        reference = _reference(block)
        if reference is None or reference not in self.values:
            return block
        value = self.values[reference]
        return self._gone(reference) if value is None else _replaced(block, reference, value)

    def _gone(self, reference: str) -> Json:
        line: dict[str, Json] = {"text": GONE.format(reference)}
        return {"type": self.text_type, **line} if self.text_type else line


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
