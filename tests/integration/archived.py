"""An archive in a folder or in memory, and something that brings sessions back as a worker does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Session
from offturn.store.archiving import ArchiveStore
from offturn.store.tenants import Tenants
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_engine.outcome import Failed, Outcome
from offturn_worker.archive.keeping import AWAY, Keeper, with_archive
from offturn_worker.archive.objects import ArchiveAway, Objects
from offturn_worker.archive.walk import Walk
from tests.integration.host import human, says, turns
from tests.skew.keyspace import dump

KEY = SessionKey("default", "chat/..:1")
WINDOW = 24_000
SHARED = {
    "archived",
    "trash",
    "walk",
    "due",
    "dead",
    "seen",
    "workers",
    "probe",
    "tenants",
    "usage",
    "sizes",
    "packing",
}


def handle(client: CompactionClient, name: str = KEY.session) -> Session:
    return client.session(name, format="openai-chat", window=WINDOW)


async def filled(client: CompactionClient) -> Session:
    """A session with generations, replies, ids and a chunk."""
    session = handle(client)
    await session.record(turns("openai-chat", 20), ids=[f"row {i}" for i in range(80)])
    await session.request()
    assert any(isinstance(one, Compacted) for one in await client.run_due(summarizer=FakeSummarizer()))
    await session.view()
    await session.record([human("And now?"), says("Later.")])
    await client.run_due(summarizer=FakeSummarizer())
    return session


async def own(redis: Redis) -> dict[str, Any]:
    """The keys of sessions, without when they were written last."""
    found = await dump(redis)
    kept = {name: key for name, key in found.items() if name.rsplit(":", 1)[1] not in SHARED}
    for name, key in kept.items():
        if name.endswith(":meta"):
            key["value"] = [pair for pair in key["value"] if pair[0] != "updated"]
    return kept


def objects(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def keeper_at(redis: Redis, url: Any) -> Keeper:
    """Of an archive at this URL or path."""
    pytest.importorskip("fsspec", reason="no archive to write to: install offturn[archive]")
    return Keeper(ArchiveStore(redis), Objects(url if isinstance(url, str) else url.as_uri()))


class Round(Walk):
    """A walk that looks again at once while a look leaves something to do: a look lasts half a second, on any machine."""

    async def once(self) -> int:
        away: ArchiveAway | None = None
        gone, self._goes_on = 0, True
        while self._goes_on:
            try:
                gone += await super().once()
            except ArchiveAway as error:
                away = error
        if away is not None:
            raise away
        return gone


def walk_of(keeper: Keeper, *, after: float | None = None) -> Walk:
    """A worker's walk."""
    return Round(keeper.store, Tenants(keeper.store._redis), keeper, after=after)


async def nothing_to_compact(key: SessionKey) -> Outcome:
    """What a job answers that finds its session in the archive."""
    return Failed(kind=AWAY, cause="store")


@asynccontextmanager
async def brought_back(keeper: Keeper | None, redis: Redis) -> AsyncIterator[None]:
    """While it lasts, what hosts want is brought back."""
    store = ArchiveStore(redis)
    work = with_archive(nothing_to_compact, store, keeper)

    async def serve() -> None:
        commands: Any = redis
        while True:
            for member in await commands.zrange("offturn:{s00}:due", 0, -1):
                key = SessionKey.of_member(member.decode())
                if await store.stub(key):
                    await work(key)
            await asyncio.sleep(0.005)

    task = asyncio.create_task(serve())
    try:
        yield
    finally:
        died = task.done()
        task.cancel()
        ended = await asyncio.gather(task, return_exceptions=True)
        assert not died, ended
