"""Everything a server holds, as text: whether what was redacted is really gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from offturn.store.packs import lines
from offturn.store.records import fields_of


async def write_down(url: str, path: Path) -> None:
    """One line a key: its name and all it holds."""
    redis = Redis.from_url(url, socket_timeout=30.0)
    with path.open("w", encoding="utf-8") as file:
        async for key in redis.scan_iter(count=500):
            file.write(f"{key!r} {await _value(redis, key)!r}\n")
    await redis.aclose()


async def _value(redis: Redis, key: bytes) -> Any:
    readers = {
        b"string": ("GET", key),
        b"hash": ("HGETALL", key),
        b"list": ("LRANGE", key, 0, -1),
        b"set": ("SMEMBERS", key),
        b"zset": ("ZRANGE", key, 0, -1),
        b"stream": ("XRANGE", key, "-", "+"),
    }
    reader = readers.get(await redis.type(key))
    found: Any = None if reader is None else await redis.execute_command(*reader)  # type: ignore[no-untyped-call]
    if key.endswith(b":packs"):
        return {first: lines(pack) for first, pack in found.items()}
    return fields_of(found.partition(b"\n")[2]) if b":gen:" in key else found
