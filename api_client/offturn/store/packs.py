"""What a pack is: entries of a log that follow each other, compressed, without their chain hashes.

A pack is `1` and an xz stream of `<ms> <envelope>` lines. The chain hashes, which nothing compresses, are kept beside it,
20 bytes each, so that any of them is found without opening a pack. No script reads one.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence

from offturn.store.errors import UnknownVersion

VERSION = b"1"
HASH = 40  # characters of a chain hash in an item
MARK = 20  # bytes of one beside a pack
RAW_BYTES = 262_144
"""Of items in one pack, but for one that is larger alone. Twice as many make packs 2 % smaller, and each a longer read."""

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": RAW_BYTES}]


def pack(items: Sequence[bytes]) -> bytes:
    """Items of the log as a pack. Raises ValueError where they would not come out as they are."""
    lines = b"\n".join(item[HASH + 1 :] for item in items)
    found = VERSION + lzma.compress(lines, check=lzma.CHECK_CRC32, filters=_FILTERS)
    if unpack(found, marks(items)) != list(items):
        raise ValueError("an item that is no line of its own")
    return found


def marks(items: Sequence[bytes]) -> bytes:
    """Their chain hashes as they stand beside a pack. Raises ValueError for what is none."""
    return b"".join(bytes.fromhex(item[:HASH].decode()) for item in items)


def unpack(stored: bytes, hashes: bytes) -> list[bytes]:
    """The items of a pack. Raises UnknownVersion, and ValueError or LookupError for what is damaged."""
    return [b" ".join(pair) for pair in zip(_hashes(hashes), lines(stored), strict=True)]


def lines(stored: bytes) -> list[bytes]:
    """The items without their chain hashes. Raises as `unpack` does."""
    if stored[:1] != VERSION:
        raise UnknownVersion(f"packed messages have version {stored[:1]!r}, this release reads {VERSION!r}: upgrade it")
    try:
        return lzma.decompress(stored[1:], lzma.FORMAT_XZ).split(b"\n")
    except (lzma.LZMAError, EOFError):
        raise ValueError("damaged") from None


def _hashes(stored: bytes) -> Iterator[bytes]:
    for start in range(0, len(stored), MARK):
        yield stored[start : start + MARK].hex().encode()
