"""Everything that a server holds, to search in."""

from __future__ import annotations

import json
from typing import Any

from offturn.store.entries import dumps
from offturn.store.packs import lines
from offturn.store.records import fields_of


async def everything(redis: Any, without: str = "-") -> bytes:
    """Keys, values, fields and members of the whole database, their dumps, and what is packed or compressed; `without`: of keys with this in their name."""
    found = []
    async for name in redis.scan_iter("*"):
        if without.encode() not in name:
            found += [name, await redis.dump(name) or b"", *await _values(redis, name)]
        if name.endswith(b":packs"):
            found += [line for pack in await redis.hvals(name) for line in lines(pack)]
        if b":gen:" in name:
            found += [dumps(fields_of((await redis.get(name)).partition(b"\n")[2]))]
    return b"\n".join(found)


def spellings(text: str) -> list[bytes]:
    """The text as it may be stored: as it is, and inside JSON, once or twice."""
    once = [json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (False, True)]
    twice = [json.dumps(one, ensure_ascii=plain)[1:-1] for one in once for plain in (False, True)]
    return [one.encode() for one in (text, *once, *twice)]


async def _values(redis: Any, name: bytes) -> list[bytes]:
    match await redis.type(name):
        case b"string":
            return [await redis.get(name)]
        case b"list":
            return list(await redis.lrange(name, 0, -1))
        case b"hash":
            return [part for pair in (await redis.hgetall(name)).items() for part in pair]
        case b"set":
            return list(await redis.smembers(name))
        case b"zset":
            return list(await redis.zrange(name, 0, -1))
        case b"stream":
            rows = await redis.xrange(name)
            return [part for _, fields in rows for pair in fields.items() for part in pair]
        case other:
            raise AssertionError(f"a key of type {other!r}: read it here too")
