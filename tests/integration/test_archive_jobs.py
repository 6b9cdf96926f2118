"""A worker brings archived sessions back whatever else it is kept from, and counts that for what it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, StoreFault
from offturn.stopping import stop
from offturn.store.pausing import Pauses
from offturn.store.tenants import Tenants
from offturn.summarizer import EXTRACTIVE
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_worker.app import Running, run_worker
from offturn_worker.archive.keeping import Keeper, Kept
from offturn_worker.archive.objects import ArchiveAway
from tests.integration.archived import keeper_at, objects, walk_of
from tests.integration.host import human
from tests.integration.shell import settings, until_empty
from tests.integration.test_metrics import read

KEY = SessionKey("default", "s1")


@pytest.fixture
def keeper(redis: Redis, tmp_path: Path) -> Keeper:
    return keeper_at(redis, tmp_path)


@asynccontextmanager
async def worker(url: str, folder: Path, **overrides: Any) -> AsyncIterator[Running]:
    up: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    values = settings(url, archive_url=folder.as_uri(), **overrides)
    task = asyncio.create_task(run_worker(values, summarizer=EXTRACTIVE, started=up.set_result))
    try:
        yield await up
    finally:
        await stop(task)


async def away(client: CompactionClient, keeper: Keeper) -> None:
    await client.session(KEY.session, format="openai-chat").record(human("Hello."))
    assert isinstance(await keeper.archive(KEY), Kept)


async def jobs(running: Running, **labels: str) -> float | None:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{running.health_port}/metrics") as reply,
    ):
        return read(await reply.read(), "offturn_jobs_total", **labels)


async def test_a_paused_tenant_finds_its_archived_session(
    redis: Redis, client: CompactionClient, valkey_url: str, keeper: Keeper, tmp_path: Path
) -> None:
    """The pause held the job that would have brought it back: a host got Archived for as long as the pause held."""
    await away(client, keeper)
    await Pauses(redis).begin(None)
    async with worker(valkey_url, tmp_path):
        view = await client.session(KEY.session, format="openai-chat").view()
    assert [message["content"] for message in view.messages] == ["Hello."]


async def test_a_tenant_whose_places_are_taken_finds_its_archived_session(
    redis: Redis, client: CompactionClient, valkey_url: str, keeper: Keeper, tmp_path: Path
) -> None:
    """It waited until one of the tenant's running jobs had ended."""
    await away(client, keeper)
    commands: Any = redis
    await commands.zadd(keys.inflight(KEY.tenant), {"another job": 10**14})
    async with worker(valkey_url, tmp_path, tenant_jobs=1):
        view = await client.session(KEY.session, format="openai-chat").view()
    assert [message["content"] for message in view.messages] == ["Hello."]


async def test_bringing_back_is_no_failed_job(
    redis: Redis, client: CompactionClient, valkey_url: str, keeper: Keeper, tmp_path: Path
) -> None:
    """Each was counted as a failed job, so that many of them would have fired OffturnJobsFail."""
    await away(client, keeper)
    async with worker(valkey_url, tmp_path) as running:
        await client.session(KEY.session, format="openai-chat").view()
        await until_empty(redis)
        assert await jobs(running, outcome="failed") is None
        assert await jobs(running, outcome="skipped", reason="restored") == 1


@pytest.mark.parametrize(("harm", "reason"), [(Path.unlink, "ArchiveMissing"), (Path.write_bytes, "ArchiveDamaged")])
async def test_what_cannot_be_brought_back_is_counted_by_what_is_wrong(
    redis: Redis,
    client: CompactionClient,
    valkey_url: str,
    keeper: Keeper,
    tmp_path: Path,
    harm: Any,
    reason: str,
) -> None:
    await away(client, keeper)
    for path in objects(tmp_path):
        harm(path, *([b"torn"] if harm is Path.write_bytes else []))
    async with worker(valkey_url, tmp_path) as running:
        with pytest.raises(StoreFault, match="put it back from a copy"):
            await client.session(KEY.session, format="openai-chat").view()
        await until_empty(redis)
        assert await jobs(running, outcome="failed", reason=reason) == 1


async def test_an_archive_that_is_away_keeps_nothing_from_being_forgotten(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk ended at the first session it could not write: expired ones went on counting against their tenant's quota, and
    what had expired in a full archive stayed there.
    """
    tenants = Tenants(redis)
    await away(client, keeper)
    for name in ("expired", "idle"):
        await client.session(name, format="openai-chat").record(human("Hello."))
    commands: Any = redis
    await commands.unlink(KEY.key("meta"), SessionKey("default", "expired").key("meta"))  # as the TTL does
    await commands.hset(SessionKey("default", "idle").key("meta"), "updated", "1")

    def refuse(name: str) -> Any:
        raise PermissionError(name)

    with monkeypatch.context() as full:
        full.setattr(keeper.objects, "_open", refuse)
        with pytest.raises(ArchiveAway):
            await walk_of(keeper, after=3600).once()

    usage = await tenants.usage("default")
    assert (usage.sessions, usage.archived_sessions) == (1, 0)
    await commands.delete(keys.walk())
    assert await walk_of(keeper, after=3600).once() == 1
    assert [path.parent.name for path in objects(tmp_path)] == ["idle"]
