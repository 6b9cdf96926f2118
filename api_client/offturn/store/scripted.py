"""What every operation of the store needs: keys, scripts, and replies as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from redis.asyncio import Redis

from offturn.store.entries import NewEntry, encoded, loads
from offturn.store.errors import Archived, mapped, readable
from offturn.store.kinds import KINDS
from offturn.store.replies import Reply
from offturn.store.scripts import Scripts, texts
from offturn.store.state import unknown
from offturn_config import keys
from offturn_config.keys import SessionKey

KINDS_OF_KEY = ("meta", "log", "ops", "ids", "events", "chunks")
OTHER_KINDS = ("opsq", "chunksq")
PACKED = ("packs", "marks")

Bring: TypeAlias = Callable[[SessionKey], Awaitable[None]]
"""Has an archived session brought back, and returns when it is there. Raises Archived where that takes too long."""

ARCHIVED = "session {!r} is in the archive: an `offturn worker` with OFFTURN_ARCHIVE_URL brings it back, call again"


class Scripted:
    """`redis` must return bytes (`decode_responses=False`); the caller closes it.

    bring: what a script does that finds its session in the archive, before it runs again; None: Archived is raised.
    """

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD, bring: Bring | None = None) -> None:
        self._redis = redis
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._shard = shard
        self._bring = bring
        self._scripts = Scripts(redis, texts())

    def _key(self, key: SessionKey, kind: str) -> str:
        return key.key(kind, self._shard)

    async def _command(self, *args: Any, **options: Any) -> Any:
        with mapped():
            return await self._execute(*args, **options)

    def _keys(self, key: SessionKey) -> tuple[str, ...]:
        return _names(key, self._shard)[0]

    async def _run(
        self,
        name: str,
        key: SessionKey,
        args: Mapping[str, Any],
        raw: Sequence[bytes | memoryview] = (),
        *,
        bring: bool = True,
    ) -> Any:
        given = {field: value for field, value in args.items() if value is not None}
        names, member = _names(key, self._shard)
        reply = await self._scripts.run(name, names, [member, encoded(given), *raw])
        if isinstance(reply, bytes):
            with readable(f"a kept reply of session {key.session!r}"):
                reply = loads(reply)
                kind = reply["kind"]
            if kind == "unknown-version":
                raise unknown(reply["v"])
            if kind == "archived":
                if self._bring is None or not bring:
                    raise Archived(ARCHIVED.format(key.session))
                await self._bring(key)
                return await self._run(name, key, args, raw)
        return reply

    async def _reply(
        self,
        name: str,
        key: SessionKey,
        args: Mapping[str, Any],
        raw: Sequence[bytes | memoryview] = (),
        *,
        bring: bool = True,
    ) -> Reply:
        return reply_of(await self._run(name, key, args, raw, bring=bring))


@lru_cache(maxsize=1024)  # every call of a host asks for them
def _names(key: SessionKey, shard: str) -> tuple[tuple[str, ...], str]:
    """What a script is given as KEYS, the session's meta first, and the session's member in the due set."""
    session = (key.key(kind, shard) for kind in KINDS_OF_KEY)
    order = (key.key(kind, shard) for kind in (*OTHER_KINDS, "life"))
    packed = (key.key(kind, shard) for kind in PACKED)
    names = (*session, keys.due(shard), keys.dead(shard), *order, keys.seen(shard), *packed, keys.packing(shard))
    return names, key.member


def reply_of(fields: dict[str, Any]) -> Reply:
    """A script's reply as a value."""
    return KINDS[fields.pop("kind")].read(fields)


def header_of(entry: NewEntry) -> list[Any]:
    """What the scripts need to know of an entry, by place: digest, tokens, calls, results, id; what is not there, left out."""
    if entry.host_id is not None:
        return [entry.digest, entry.tokens, entry.calls, entry.results, entry.host_id]
    if entry.calls or entry.results:
        return [entry.digest, entry.tokens, entry.calls, entry.results]
    return [entry.digest, entry.tokens]
