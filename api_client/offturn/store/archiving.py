"""What a worker needs of the store to put a session into the archive and to bring it back. The scripts decide.

A session leaves in one step, when all it holds is what was written, and comes back in one step from keys that were filled
beside it. Whatever ends in between leaves the session, or its stub, as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal, TypeAlias

from offturn.store.entries import dumps, text_of
from offturn.store.errors import mapped
from offturn.store.scripted import KINDS_OF_KEY, OTHER_KINDS, PACKED
from offturn.store.state import is_readable
from offturn.store.stubs import Listed, Stub, Stubs, listed
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

Row: TypeAlias = Sequence[bytes]
"""One item of a key: of a list `[item]`, of a hash `[field, value]`, of a stream `[id, field, value, ...]`, of a string all of it."""

Why = Literal["changed", "gone", "running", "due", "late"]

FILLED_MS = 120_000
"""Keys that a restore has filled expire so long after its last page: a killed worker leaves nothing."""

SETTLED_MS = 60_000
"""How long the object of a session that is back is kept: a failover within it may bring the stub back."""

SIZES = {b"list": "LLEN", b"hash": "HLEN", b"stream": "XLEN", b"string": "STRLEN"}
LIST_PAGE, HASH_PAGE, STREAM_PAGE = 20, 50, 100
WALK_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A session of one page of the walk. `idle_ms`: since its last write; `busy`: work is due or runs."""

    key: SessionKey
    idle_ms: int
    busy: bool


class ArchiveStore(Stubs):
    """Every method may raise the store's errors."""

    # -- out

    async def state(self, key: SessionKey) -> list[bytes]:
        """The meta hash as a flat list of fields and values; empty where nothing is there."""
        found: Mapping[bytes, bytes] = await self._command("HGETALL", self._key(key, "meta"))
        return [item for pair in found.items() for item in pair]

    def kinds(self, meta: Row) -> list[str]:
        """The keys that a session with this state may have, beside meta and the number of its life; what is packed comes before
        the rest of the log."""
        generations = [text_of(name)[2:] for name in meta[::2] if name.startswith(b"g:")]
        return [*PACKED, *KINDS_OF_KEY[1:], *OTHER_KINDS, *(f"gen:{number}" for number in generations)]

    async def size(self, key: SessionKey, kind: str) -> tuple[str, int]:
        """A key's type and items (a string's bytes); `none` and 0 where it is not there."""
        name = self._key(key, kind)
        type_ = await self._command("TYPE", name)
        return text_of(type_), int(await self._command(SIZES[type_], name)) if type_ in SIZES else 0

    async def rows(self, key: SessionKey, kind: str, type_: str) -> AsyncIterator[Row]:
        """A key's items, read in pages."""
        name = self._key(key, kind)
        if type_ == "string":
            yield [await self._command("GET", name) or b""]
        elif type_ == "list":
            start = 0
            while page := await self._command("LRANGE", name, start, start + LIST_PAGE - 1):
                for item in page:
                    yield [item]
                start += len(page)
        elif type_ == "hash":
            cursor = -1
            while cursor:
                cursor, fields = await self._command("HSCAN", name, max(cursor, 0), "COUNT", HASH_PAGE)
                for field, value in fields.items():
                    yield [field, value]
        elif type_ == "stream":
            last = b"-"
            while page := await self._command("XRANGE", name, last, "+", "COUNT", STREAM_PAGE):
                for number, fields in page:
                    yield [number, *(item for pair in fields.items() for item in pair)]
                last = b"(" + page[-1][0]

    async def register(self, name: str, grace_ms: int) -> int:
        """Before an object is written: it is deleted after that time, unless a session was evicted for it. Its mark."""
        return int(await self._scripts.run("archive_trash", [keys.trash(self._shard)], [str(grace_ms), name]))

    async def discard(self, name: str) -> None:
        """An object that nobody needs."""
        await self.register(name, 0)

    async def evict(
        self, key: SessionKey, *, meta: Row, sizes: Mapping[str, int], name: str, mark: int, size: int, sha: str
    ) -> Why | None:
        """Leave a stub of a session whose state and keys are still these, and that nobody works on; else why not."""
        fields = dict(zip(meta[::2], meta[1::2], strict=True))
        facts = {
            "object": name,
            "registered": mark,
            "sizes": list(sizes.values()),
            "incarnation": int(fields[b"incarnation"]),
            "messages": int(fields.get(b"log_len", 0)),
            "bytes": size,
            "sha": sha,
        }
        names = [*self._lists(key), *(self._key(key, kind) for kind in sizes)]
        found = text_of(await self._scripts.run("archive_evict", names, [key.member, dumps(facts), *meta]))
        return None if found == "archived" else found  # type: ignore[return-value]  # one of the script's words

    # -- back

    def beside(self) -> str:
        """A new name for the keys that one restore fills."""
        return f"back-{token_hex(8)}"

    async def fill(self, key: SessionKey, place: str, kind: str, type_: str, rows: Sequence[Row]) -> None:
        """More items of a key, beside the session."""
        name = self._beside(key, place, kind)
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            if type_ == "list":
                pipe.execute_command("RPUSH", name, *(item for row in rows for item in row))
            elif type_ == "hash":
                pipe.execute_command("HSET", name, *(item for row in rows for item in row))
            elif type_ == "string":
                pipe.execute_command("SET", name, *rows[0])
            else:
                for number, *fields in rows:
                    pipe.execute_command("XADD", name, number, *fields)
            pipe.execute_command("PEXPIRE", name, FILLED_MS)
            await pipe.execute()

    async def activate(self, stub: Stub, place: str, sizes: Mapping[str, int]) -> bool:
        """Put what was filled into the place of the stub. False: the stub is another, or what was filled has expired."""
        pairs = [name for kind in sizes for name in (self._beside(stub.key, place, kind), self._key(stub.key, kind))]
        facts = {"object": stub.object, "sizes": list(sizes.values()), "delay_ms": SETTLED_MS}
        names = [*self._lists(stub.key), *pairs]
        return bool(await self._scripts.run("archive_restore", names, [stub.key.member, dumps(facts)]) == b"restored")

    async def clear(self, key: SessionKey, place: str, kinds: Sequence[str]) -> None:
        """What was filled is not needed."""
        if kinds:
            await self._command("UNLINK", *(self._beside(key, place, kind) for kind in kinds))

    async def troubled(self, stub: Stub, trouble: str, *, pause_ms: int) -> None:
        """Tell the hosts why it cannot be brought back; tried again after a pause, 0: when one asks again."""
        names = [self._key(stub.key, "meta"), keys.due(self._shard)]
        await self._scripts.run("archive_trouble", names, [stub.key.member, stub.object, trouble, str(pause_ms)])

    # -- around

    async def trash(self, limit: int, delay_ms: int) -> list[str]:
        """Objects to delete now; they come again after the delay, unless each is told to be `deleted`."""
        found = await self._scripts.run("archive_trash", [keys.trash(self._shard)], [str(delay_ms), "", str(limit)])
        return [text_of(name) for name in found]

    async def deleted(self, name: str) -> None:
        """An object is not there any more."""
        await self._command("ZREM", keys.trash(self._shard), name)

    async def forget(self, one: Listed) -> bool:
        """Where the session of this entry is not archived under it any more, let its object be deleted."""
        lists = [keys.archived(self._shard), keys.trash(self._shard), keys.usage(one.key.tenant, self._shard)]
        names = [self._key(one.key, "meta"), *lists]
        return bool(await self._scripts.run("archive_forget", names, [one.key.member, one.object, str(one.bytes)]))

    async def vanished(self, cursor: int) -> tuple[int, list[Listed]]:
        """Of a page of the list of archived sessions those that are not archived so any more, and where the next begins."""
        after, page = await self._command("HSCAN", keys.archived(self._shard), cursor, "COUNT", WALK_PAGE)
        found = [one for member, value in page.items() if (one := listed(member, value))]
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            for one in found:
                pipe.execute_command("HGET", self._key(one.key, "meta"), "object")
            there = await pipe.execute(raise_on_error=False)
        return int(after), [one for one, name in zip(found, there, strict=True) if name != one.object.encode()]

    async def resting(self, cursor: int) -> tuple[int, list[Resting]]:
        """A page of all living sessions, and where the next begins, 0: nowhere."""
        pattern = keys.every_meta("*", self._shard)
        after, names = await self._command("SCAN", cursor, "MATCH", pattern, "COUNT", WALK_PAGE)
        found = [key for name in names if (key := _named(name))]
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            pipe.execute_command("TIME")
            for key in found:
                pipe.execute_command("HMGET", self._key(key, "meta"), "v", "alive", "updated", "leased_until")
                pipe.execute_command("ZSCORE", keys.due(self._shard), key.member)
            clock, *facts = await pipe.execute(raise_on_error=False)
        now = int(clock[0]) * 1000 + int(clock[1]) // 1000
        rows = zip(found, facts[::2], facts[1::2], strict=True)
        return int(after), [one for key, meta, score in rows if (one := _resting(key, meta, score, now))]

    async def walk(self, token: str, *, turn_ms: int, place: str = "", pause_ms: int = 0) -> str | None:
        """Take the turn, or keep it, at the place reached; `turn_ms` 0 gives it back. None: it is somebody else's."""
        found = await self._scripts.run(
            "archive_walk", [keys.walk(self._shard)], [token, str(turn_ms), place, str(pause_ms)]
        )
        return None if found is None else text_of(found)

    def _beside(self, key: SessionKey, place: str, kind: str) -> str:
        """Its end is not that of any session's key: who looks for `meta` must not take it for one."""
        return self._key(key, f"{kind}:{place}")

    def _lists(self, key: SessionKey) -> list[str]:
        return [
            self._key(key, "meta"),
            *(one(self._shard) for one in (keys.due, keys.archived, keys.trash, keys.packing)),
        ]


def _named(name: bytes) -> SessionKey | None:
    try:
        return SessionKey.of_meta(text_of(name))
    except (UnicodeDecodeError, InvalidSetting):
        return None


def _resting(key: SessionKey, meta: Any, score: Any, now: int) -> Resting | None:
    """None for what is no living session that this release can read."""
    match meta:
        case [version, b"1", bytes() as updated, leased] if is_readable(version) and updated.isdigit():
            held = leased or b"0"
            busy = score is not None or not held.isdigit() or int(held) > now
            return Resting(key=key, idle_ms=now - int(updated), busy=busy)
    return None
