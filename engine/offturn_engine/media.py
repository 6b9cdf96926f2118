"""Media: what an image, a document or a sound is called where it is not shown, and base64 that stands in a text.

Named by its content: kind, size, and the first `DIGITS` hex digits of the SHA-256 of its bytes, so that the same picture
has the same name wherever it comes from. Of what is only referred to (an address, a file id) the reference is hashed.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from offturn_engine.messages import Json, MediaPart

SHORTEST = 1_000  # characters of base64 that are taken for media where they stand in a text
DIGITS = 12
DISTINCT = (
    40  # characters that base64 of real data has among the first `SAMPLE`: prose without blanks and hex have fewer
)
SAMPLE = 2_000

_SOURCES = ("data", "url", "file_data", "file_url", "file_uri", "file_id", "image_url")
_LINE = 40  # characters of the shortest line of base64, the last one apart
_BASE64 = "[A-Za-z0-9+/_-]"
_RUN = re.compile(
    rf"{_BASE64}{{{_LINE},}}(?:\r?\n{_BASE64}{{{_LINE},}})*(?:\r?\n{_BASE64}{{1,76}}={{1,2}})?={{0,2}}", re.ASCII
)
_FLAT = bytes(97 if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "+/_-") else 32 for b in range(256))
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]{1,60}/[\w.+-]{1,60})?[^,]{0,200}?;base64,", re.ASCII)
_PREFIX = 300  # characters, at most, of what stands before the data in a data URL
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of some media. type: `image/png` and such, else its kind. size: bytes; -1 where it is elsewhere."""

    type: str
    size: int
    digest: str

    def __str__(self) -> str:
        where = "not held here" if self.size < 0 else _bytes(self.size)
        return f"{self.type}, {where}, sha256:{self.digest}" if self.digest else f"{self.type}, {where}"


def source_of(block: Mapping[str, Json]) -> str:
    """The text in which a block of any provider's dialect holds its media, or refers to them; "" where it has none."""
    for holder in (block, *(value for value in block.values() if isinstance(value, Mapping))):
        for key in _SOURCES:
            if isinstance(found := holder.get(key), str) and found:
                return found
    return ""


def known(part: MediaPart) -> Known:
    """What a media part is called."""
    url = _DATA_URL.match(part.source[:400])
    declared = url["type"] if url and url["type"] else part.kind
    data = _decoded(part.source[url.end() :] if url else part.source)
    if data is not None:
        return Known(_type(data) or declared, len(data), _digest(data))
    if not part.source:
        return Known(part.kind, part.size, "")
    return Known(part.kind, -1, _digest(part.source.encode("utf-8", "surrogatepass")))


def encoded(text: str) -> Iterator[tuple[int, int, Known]]:
    """Base64 in a text, alone or among words, as a data URL or wrapped into lines: from where, to where, what it is."""
    for start, end in _runs(text) if len(text) >= SHORTEST else ():
        data = _decoded(text[start:end]) if end - start >= SHORTEST else None
        if data is None:
            continue
        low = max(text.rfind("data:", max(0, start - _PREFIX), start), 0)
        url = _DATA_URL.fullmatch(text, low, start)
        found = _type(data) or (url["type"] if url else "")
        if found or len({*text[start : start + SAMPLE]}) >= DISTINCT:
            yield low if url else start, end, Known(found or "base64 data", len(data), _digest(data))


def without_encoded(text: str) -> str:
    """The text with the name of each in its place, `(image/png, 205 KB, sha256:1f2e3d4c5b6a)`."""
    if len(text) < SHORTEST:
        return text
    pieces, at = [], 0
    for start, end, what in encoded(text):
        pieces += [text[at:start], f"({what})"]
        at = end
    return "".join([*pieces, text[at:]]) if at else text


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Where signs of base64 stand without a break but those of lines. Translated bytes find them much faster than `re`."""
    flat = text.encode("ascii", "replace").translate(_FLAT)
    start = flat.find(b"a" * _LINE)
    while start >= 0:
        match = _RUN.match(text, start)
        end = match.end() if match else start + _LINE
        yield start, end
        start = flat.find(b"a" * _LINE, end)


def _decoded(text: str) -> bytes | None:
    """The bytes of base64, plain or for URLs, with or without its padding; None for what is none."""
    plain = text.translate({10: None, 13: None, 32: None, 45: "+", 95: "/"}).rstrip("=")
    if not plain.isascii() or len(plain) % 4 == 1:
        return None
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True) or None
    except Error:
        return None


def _type(data: bytes) -> str:
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "")
    return next((name for magic, name in _MAGIC if data.startswith(magic)), "")


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:DIGITS]


def _bytes(size: int) -> str:
    return f"{size:,} bytes" if size < 1_000 else f"{size / 1_000:,.0f} KB"
