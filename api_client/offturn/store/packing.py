"""Reading entries wherever they are kept, and the scripts that pack them and take packs apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha1
from typing import Any, cast, overload

from offturn.store.errors import readable
from offturn.store.packs import lines, unpack
from offturn.store.replies import PackReply, UnpackReply
from offturn.store.scripted import Scripted
from offturn_config.keys import SessionKey

SLICE_BYTES = 262_144  # of packs in one reply


class PackScripts(Scripted):
    """Nothing here changes what a session says, when it was written last, or when it ends."""

    @overload
    async def items(self, key: SessionKey, *, start: int, stop: int) -> list[bytes]: ...
    @overload
    async def items(
        self, key: SessionKey, *, start: int, stop: int, known: Mapping[str, Any]
    ) -> list[bytes] | None: ...
    async def items(
        self, key: SessionKey, *, start: int, stop: int, known: Mapping[str, Any] | None = None
    ) -> list[bytes] | None:
        """Items of the log from `start` on, in one reply: all before `stop`, or as many as some packs hold.

        known: what the caller knows of the log, as `sync` takes it, and `limit_entries` of one page; None where that is
        another log by now. A page of what is not packed ends with the item that reaches SLICE_BYTES.
        """
        args = {"start": start, "stop": stop, "limit_bytes": SLICE_BYTES, "known": known}
        found = await self._run("slice", key, args)
        if isinstance(found, dict):  # moved
            return None
        listed, packed = found
        if packed:
            return await asyncio.to_thread(unpacked, key, packed, start, stop)
        return cast("list[bytes]", listed)

    async def pack(
        self, key: SessionKey, *, incarnation: int, base: int, items: Sequence[bytes], packed: bytes
    ) -> PackReply:
        """Put the items from seq `base` on, which must be the list's first ones, into a pack.

        Not the last item of the log, and not while the newest was recorded by a release that reads no packs.
        """
        digest = sha1(b"\n".join(items), usedforsecurity=False).hexdigest()
        args = {"incarnation": incarnation, "upto": base + len(items), "sha": digest}
        return cast("PackReply", await self._reply("pack", key, args, [packed]))

    async def unpack_last(self, key: SessionKey, *, incarnation: int, base: int) -> UnpackReply:
        """Put the newest pack's items, those before seq `base`, back into the list."""
        _, found = await self._run("slice", key, {"start": base - 1, "stop": base, "limit_bytes": SLICE_BYTES})
        first, _, stored = found or (0, b"", b"")
        with readable(f"what is packed of session {key.session!r}"):
            entries = await asyncio.to_thread(lines, stored) if found else []
        digest = sha1(stored, usedforsecurity=False).hexdigest()
        args = {"incarnation": incarnation, "first": first, "sha": digest}
        return cast("UnpackReply", await self._reply("unpack", key, args, entries))


def unpacked(key: SessionKey, packed: Sequence[Any], start: int, stop: int | None = None) -> list[bytes]:
    """The items from seq `start` on of packs as the scripts hand them out: first seq, chain hashes, pack, and so on.

    Raises StoreFault and UnknownVersion.
    """
    found: list[bytes] = []
    with readable(f"what is packed of session {key.session!r}"):
        for first, items in _each(packed):
            if first > start + len(found):
                break  # a pack between them is lost
            end = len(items) if stop is None else min(len(items), stop - first)
            found += items[start + len(found) - first : end]
    return found


def _each(packed: Sequence[Any]) -> Iterator[tuple[int, list[bytes]]]:
    for first, hashes, stored in zip(packed[::3], packed[1::3], packed[2::3], strict=True):
        yield int(first), unpack(stored, hashes)
