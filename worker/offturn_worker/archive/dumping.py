"""A session as lines, whatever its keys hold, and its keys from lines. Values are Redis types, bound to no server version.

The first line names the session; then each key: a line `{"key", "type", "size"}`, and one line a row of it; a hash may
say a field twice. Bytes that are no UTF-8
are `{"b": base64}`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from offturn.store.archiving import SIZES, ArchiveStore, Row
from offturn.store.errors import StoreFault
from offturn_config.keys import SessionKey
from offturn_worker.archive.objects import ArchiveDamaged, Writer

VERSION = 1
PAGE_ROWS, PAGE_BYTES = 200, 262_144

Text: TypeAlias = str | dict[str, str]


@dataclass(slots=True, kw_only=True)
class Written:
    """What was written: the state, and items by key (a string's bytes)."""

    meta: list[bytes]
    sizes: dict[str, int]
    sha: str = ""


@dataclass(slots=True)
class Filled:
    """What is read back: items by key, meta first."""

    sizes: dict[str, int] = field(default_factory=dict)


async def dump(store: ArchiveStore, key: SessionKey, meta: list[bytes], writer: Writer) -> Written:
    """All of the session as lines. What changes meanwhile is noticed when it is evicted."""
    written = Written(meta=meta, sizes={})
    fields = dict(zip(meta[::2], meta[1::2], strict=True))
    incarnation = int(fields[b"incarnation"])
    await writer.line({"v": VERSION, "tenant": key.tenant, "session": key.session, "incarnation": incarnation})
    await writer.line({"key": "meta", "type": "hash", "size": len(fields)})
    for pair in zip(meta[::2], meta[1::2], strict=True):
        await writer.line([_text(item) for item in pair])
    for kind in store.kinds(meta):
        type_, written.sizes[kind] = await store.size(key, kind)
        if type_ == "none":
            continue
        if type_.encode() not in SIZES:
            raise StoreFault(
                f"session {key.session!r}: its key {kind} is a {type_}, which no release writes; purge the session"
            )
        await writer.line({"key": kind, "type": type_, "size": written.sizes[kind]})
        async for row in store.rows(key, kind, type_):
            await writer.line([_text(item) for item in row])
    written.sha = await writer.close()
    return written


async def fill(store: ArchiveStore, key: SessionKey, place: str, lines: AsyncIterator[Any], filled: Filled) -> None:
    """The keys of these lines, beside the session, page by page. Raises ArchiveDamaged for lines that are no such session's."""
    head = await anext(lines, None)
    match head:
        case {"v": 1, "tenant": key.tenant, "session": key.session}:
            pass
        case _:
            raise ArchiveDamaged(f"the object is not one of session {key.session!r} that this release reads")
    kind, type_, rows, size = "", "", list[Row](), 0

    async def put() -> None:
        if rows:
            await store.fill(key, place, kind, type_, rows)
        rows.clear()

    async for line in lines:
        match line:
            case {"key": str() as named, "type": str() as typed, "size": int() as items}:
                await put()
                kind, type_, size = named, typed, 0
                filled.sizes[kind] = items
            case list():
                rows.append([_bytes(item) for item in line])
                size += sum(map(len, rows[-1]))
        if len(rows) >= PAGE_ROWS or size >= PAGE_BYTES:
            await put()
            size = 0
    await put()


async def values_of(lines: AsyncIterator[Any]) -> AsyncIterator[tuple[str, Row]]:
    """Every row of these lines with the key it belongs to, in the order they were written: `meta`, `log`, ..."""
    kind = ""
    async for line in lines:
        match line:
            case {"key": str() as named}:
                kind = named
            case list():
                yield kind, [_bytes(item) for item in line]


def _text(item: bytes) -> Text:
    try:
        return item.decode()
    except UnicodeDecodeError:
        return {"b": b64encode(item).decode()}


def _bytes(text: Text) -> bytes:
    return text.encode() if isinstance(text, str) else b64decode(text["b"])
