"""The keys of sessions as JSON, type by type, so that what one release wrote can be given to another."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from offturn_config import keys

Text: TypeAlias = str | dict[str, str]
"""UTF-8 as it is, other bytes as {"base64": ...}."""

Dump: TypeAlias = dict[str, dict[str, Any]]
"""Key -> its type, its value, and the ms it had left, if it was to expire."""


def shown(data: bytes) -> Text:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def data(text: Text) -> bytes:
    return text.encode() if isinstance(text, str) else base64.b64decode(text["base64"])


PRESENCE = {name.encode() for name in (keys.seen(), keys.workers(), keys.probe())}


async def dump(redis: Any, prefix: str = "offturn:{") -> Dump:
    """All keys of that prefix, but who was there and when. `redis` answers bytes."""
    found: Dump = {}
    for name in sorted(set(await redis.keys(f"{prefix}*")) - PRESENCE):
        kind = (await redis.type(name)).decode()
        left = await redis.pttl(name)
        found[name.decode()] = {
            "type": kind,
            "value": await READ[kind](redis, name),
            **({"ms": left} if left > 0 else {}),
        }
    return found


async def restore(redis: Any, dumped: Mapping[str, Mapping[str, Any]]) -> None:
    for name, key in dumped.items():
        await redis.delete(name)
        await WRITE[key["type"]](redis, name, key["value"])
        if "ms" in key:
            await redis.pexpire(name, key["ms"])


async def _hash(redis: Any, name: bytes) -> Any:
    return sorted(([shown(field), shown(value)] for field, value in (await redis.hgetall(name)).items()), key=str)


async def _list(redis: Any, name: bytes) -> Any:
    return [shown(item) for item in await redis.lrange(name, 0, -1)]


async def _string(redis: Any, name: bytes) -> Any:
    return shown(await redis.get(name))


async def _set(redis: Any, name: bytes) -> Any:
    return sorted((shown(member) for member in await redis.smembers(name)), key=str)


async def _zset(redis: Any, name: bytes) -> Any:
    return [[shown(member), score] for member, score in await redis.zrange(name, 0, -1, withscores=True)]


async def _stream(redis: Any, name: bytes) -> Any:
    entries = await redis.xrange(name)
    return [[number.decode(), [[shown(field), shown(v)] for field, v in fields.items()]] for number, fields in entries]


READ: dict[str, Callable[..., Any]] = {
    "hash": _hash,
    "list": _list,
    "string": _string,
    "set": _set,
    "zset": _zset,
    "stream": _stream,
}


async def _put_hash(redis: Any, name: str, value: Any) -> None:
    await redis.hset(name, mapping={data(field): data(v) for field, v in value})


async def _put_list(redis: Any, name: str, value: Any) -> None:
    await redis.rpush(name, *map(data, value))


async def _put_string(redis: Any, name: str, value: Any) -> None:
    await redis.set(name, data(value))


async def _put_set(redis: Any, name: str, value: Any) -> None:
    await redis.sadd(name, *map(data, value))


async def _put_zset(redis: Any, name: str, value: Any) -> None:
    await redis.zadd(name, {data(member): score for member, score in value})


async def _put_stream(redis: Any, name: str, value: Any) -> None:
    for number, fields in value:
        await redis.xadd(name, {data(field): data(v) for field, v in fields}, id=number)


WRITE: dict[str, Callable[..., Any]] = {
    "hash": _put_hash,
    "list": _put_list,
    "string": _put_string,
    "set": _put_set,
    "zset": _put_zset,
    "stream": _put_stream,
}
