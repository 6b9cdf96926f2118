"""Images, documents and sounds between formats: read from any format's block, written as another's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from offturn_engine.messages import Json

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)
KINDS = ("image", "audio", "video")


@dataclass(frozen=True, slots=True)
class Media:
    """`data` is base64, `url` an address; one of them is there. `mime` is "" where nobody has said."""

    kind: str
    mime: str
    data: str = ""
    url: str = ""


def media_of(block: Json) -> Media | None:
    """What a part of any format holds, or None where it is a provider's own reference."""
    if not isinstance(block, Mapping):
        return None
    for name in ("inlineData", "inline_data"):
        if isinstance(block.get(name), Mapping):
            return _held(block[name].get("mimeType") or block[name].get("mime_type"), block[name].get("data"))
    match block.get("type"):
        case "image_url":
            return _addressed(
                "image", block["image_url"].get("url") if isinstance(block["image_url"], Mapping) else None
            )
        case "input_image":
            return _addressed("image", block.get("image_url"))
        case "image" | "document":
            return _sourced(str(block["type"]), block["source"])
        case "file" if isinstance(block.get("file"), Mapping):
            return _addressed("document", block["file"].get("file_data"))
        case "input_file":
            return _addressed("document", block.get("file_data") or block.get("file_url"))
        case "input_audio" if isinstance(block.get("input_audio"), Mapping):
            sound = block["input_audio"]
            return _held(f"audio/{sound.get('format') or 'wav'}", sound.get("data"))
    return None


def written(media: Media, target: str) -> dict[str, Any] | None:
    """The part of the target format, or None where it has none for this."""
    return {"anthropic": _anthropic, "gemini": _gemini}.get(target, _openai)(media, target)


def _held(mime: Json, data: Json) -> Media | None:
    if not isinstance(data, str) or not data:
        return None
    kind = str(mime or "").partition("/")[0]
    return Media(kind if kind in KINDS else "document", str(mime or ""), data)


def _addressed(kind: str, url: Json) -> Media | None:
    if not isinstance(url, str) or not url:
        return None
    data = _DATA_URL.match(url)
    return Media(kind, data[1] or "", data=url[data.end() :]) if data else Media(kind, "", url=url)


def _sourced(kind: str, source: Mapping[str, Json]) -> Media | None:
    if source.get("type") == "url":
        return _addressed(kind, source.get("url"))
    data = source.get("data") if source.get("type") == "base64" else None
    return Media(kind, str(source.get("media_type") or ""), data) if isinstance(data, str) else None


def _openai(media: Media, target: str) -> dict[str, Any] | None:
    """Chat completions; the Responses API takes the same but sounds."""
    address = media.url or f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": address}}
    if media.kind == "audio" and media.data and target != "openai-responses":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": media.mime.partition("/")[2]}}
    if media.kind == "document" and media.data:
        return {"type": "file", "file": {"filename": "document", "file_data": address}}
    return None


def _anthropic(media: Media, _: str) -> dict[str, Any] | None:
    known = media.kind == "image" or (media.kind == "document" and (media.url or media.mime == "application/pdf"))
    if not known or not (media.url or media.mime):
        return None
    held = {"type": "base64", "media_type": media.mime, "data": media.data}
    return {"type": media.kind, "source": {"type": "url", "url": media.url} if media.url else held}


def _gemini(media: Media, _: str) -> dict[str, Any] | None:
    if not media.data or not media.mime:
        return None
    return {"inlineData": {"mimeType": media.mime, "data": media.data}}
