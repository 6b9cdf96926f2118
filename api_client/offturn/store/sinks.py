"""Which sessions a write-back sink has to be told of: the store's scripts note each whose current generation changes.

A note stays until it is settled, so nothing is lost while the host is away; one that was taken comes back after its
lease. Several processes of one sink share the notes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import text_of
from offturn.store.errors import mapped
from offturn.store.scripts import Scripts
from offturn_config import keys
from offturn_config.keys import SessionKey

SCRIPTS = ("sink_take", "sink_settle")
READY = "ready"


@dataclass(frozen=True, slots=True)
class Note:
    """A session to tell of; `score` proves, when it is settled, that nothing has changed since it was taken."""

    key: SessionKey
    score: str


class Sinks:
    """One sink of a tenant. Raises InvalidSetting for a name that is none.

    Every method may raise StoreUnavailable, StoreFull and StoreFault.
    """

    def __init__(self, redis: Redis, tenant: str, name: str, *, shard: str = keys.SHARD) -> None:
        folder = files("offturn.store") / "lua"
        self._scripts = Scripts(redis, {one: (folder / f"{one}.lua").read_text(encoding="utf-8") for one in SCRIPTS})
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._name = name
        self._names = keys.sinks(tenant, shard)
        self._notes = keys.sink(tenant, name, shard)

    async def enter(self) -> bool:
        """From now on the sink is told. False: it has not been told of what was there before; end with `ready`."""
        with mapped():
            await self._execute("HSETNX", self._names, self._name, "new")
            return text_of(await self._execute("HGET", self._names, self._name)) == READY

    async def note(self, sessions: Iterable[SessionKey]) -> None:
        """Tell it of these sessions too."""
        for key in sessions:
            with mapped():
                await self._execute("ZADD", self._notes, "NX", 0, key.member)

    async def ready(self) -> None:
        """It has been told of all that was there when it was made."""
        with mapped():
            await self._execute("HSET", self._names, self._name, READY)

    async def forget(self) -> None:
        """It is told no more, and what it was to be told is gone."""
        with mapped():
            await self._execute("HDEL", self._names, self._name)
            await self._execute("UNLINK", self._notes)

    async def take(self, *, limit: int, lease_ms: int) -> list[Note]:
        """At most `limit` sessions to tell of now, the oldest first; nobody else gets them while the lease runs."""
        found = await self._scripts.run("sink_take", [self._notes], [str(lease_ms), str(limit), "0"])
        texts = [text_of(item) for item in found]
        return [
            Note(SessionKey.of_member(member), score) for member, score in zip(texts[::2], texts[1::2], strict=True)
        ]

    async def settle(self, note: Note, *, delay_ms: int | None = None) -> None:
        """Told, or to be told after a delay. Where the session has changed since it was taken, it comes again anyway."""
        delay = "" if delay_ms is None else str(delay_ms)
        await self._scripts.run("sink_settle", [self._notes], [note.key.member, note.score, delay])
