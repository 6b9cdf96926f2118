"""What every operation of the store needs: keys, scripts, and replies as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import NewEntry, dumps, loads
from offturn.store.errors import mapped, readable
from offturn.store.replies import KINDS, Reply
from offturn.store.scripts import Scripts, texts
from offturn.store.state import unknown
from offturn_config import keys
from offturn_config.keys import SessionKey

KINDS_OF_KEY = ("meta", "log", "ops", "ids", "events", "chunks")


class Scripted:
    """`redis` must return bytes (`decode_responses=False`); the caller closes it."""

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        self._redis = redis
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._shard = shard
        self._scripts = Scripts(redis, texts())

    def _key(self, key: SessionKey, kind: str) -> str:
        return key.key(kind, self._shard)

    async def _command(self, *args: Any, **options: Any) -> Any:
        with mapped():
            return await self._execute(*args, **options)

    def _keys(self, key: SessionKey) -> list[str]:
        session = [self._key(key, kind) for kind in KINDS_OF_KEY]
        order = [self._key(key, kind) for kind in ("opsq", "chunksq", "life")]
        shard = [keys.due(self._shard), keys.dead(self._shard)]
        return [*session, *shard, *order, keys.seen(self._shard)]

    async def _run(self, name: str, key: SessionKey, args: Mapping[str, Any], raw: Sequence[bytes] = ()) -> Any:
        given = {field: value for field, value in args.items() if value is not None}
        reply = await self._scripts.run(name, self._keys(key), [key.member, dumps(given), *raw])
        if isinstance(reply, bytes):
            with readable(f"a kept reply of session {key.session!r}"):
                reply = loads(reply)
                kind = reply["kind"]
            if kind == "unknown-version":
                raise unknown(reply["v"])
        return reply

    async def _reply(self, name: str, key: SessionKey, args: Mapping[str, Any], raw: Sequence[bytes] = ()) -> Reply:
        fields = await self._run(name, key, args, raw)
        return KINDS[fields.pop("kind")].read(fields)


def header_of(entry: NewEntry) -> dict[str, Any]:
    header = {"digest": entry.digest, "tokens": entry.tokens, "calls": entry.calls, "results": entry.results}
    return header if entry.host_id is None else {**header, "id": entry.host_id}
