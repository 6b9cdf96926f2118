"""What workers make of sessions in the archive: jobs, pauses, an archive that is away, packs, numbers."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    Archived,
    CompactionClient,
    Failed,
    Outcome,
    Skipped,
)
from offturn.bringing import UNSET
from offturn.packing import pack_covered
from offturn.store.sessions import SessionStore
from offturn.store.unpacked import Unpacked
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper, Kept, with_archive
from offturn_worker.archive.reading import exported
from offturn_worker.jobs import QUIET
from offturn_worker.metrics import Metrics
from offturn_worker.packer import Packer
from tests.integration.archived import (
    KEY,
    brought_back,
    filled,
    handle,
    keeper_at,
    nothing_to_compact,
    own,
)
from tests.integration.shell import settings, until_empty, working
from tests.integration.test_metrics import read


@pytest.fixture
def keeper(redis: Redis, tmp_path: Path) -> Keeper:
    return keeper_at(redis, tmp_path)


@pytest.mark.parametrize("error", [PermissionError, ssl.SSLCertVerificationError])
async def test_an_archive_that_is_away_and_one_that_is_not_set(
    redis: Redis,
    client: CompactionClient,
    keeper: Keeper,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[OSError],
) -> None:
    await filled(client)
    await keeper.archive(KEY)

    def refuse(name: str) -> Any:
        raise error(name)

    monkeypatch.setattr(keeper.objects, "_path", refuse)
    async with brought_back(keeper, redis):
        for _ in range(2):
            with pytest.raises(Archived, match="does not answer its workers"):
                await handle(client).view()
    monkeypatch.undo()
    await redis.zadd("offturn:{s00}:due", {KEY.member: 1})
    async with brought_back(None, redis):
        with pytest.raises(Archived, match="no OFFTURN_ARCHIVE_URL"):
            await handle(client).view()
    await redis.zadd("offturn:{s00}:due", {KEY.member: 1})
    async with brought_back(keeper, redis):
        assert (await handle(client).status()).messages == 82


@pytest.mark.parametrize("why", QUIET)
async def test_a_pause_or_a_busy_tenant_keeps_nothing_in_the_archive(
    redis: Redis, client: CompactionClient, keeper: Keeper, why: str
) -> None:
    async def not_begun(_: SessionKey) -> Outcome:
        return Skipped(reason=why)

    await filled(client)
    assert isinstance(await keeper.archive(KEY), Kept)
    job = with_archive(not_begun, keeper.store, keeper)

    assert await job(KEY) == Skipped(reason="restored")
    assert await keeper.store.stub(KEY) is None
    assert await job(KEY) == Skipped(reason=why)
    assert isinstance(await keeper.archive(KEY), Kept)
    assert await with_archive(not_begun, keeper.store, None)(KEY) == Skipped(reason=why)
    stub = await keeper.store.stub(KEY)
    assert stub is not None
    assert stub.trouble == UNSET


async def test_a_worker_counts_a_restore_as_no_failed_job(
    redis: Redis, client: CompactionClient, keeper: Keeper, tmp_path: Path, valkey_url: str
) -> None:
    session = await filled(client)
    assert isinstance(await keeper.archive(KEY), Kept)
    metrics = Metrics()

    async with working(settings(valkey_url, archive_url=tmp_path.as_uri()), nothing_to_compact, metrics=metrics):
        assert (await session.status()).messages == 82
        await until_empty(redis)

    text = metrics.text()
    assert read(text, "offturn_jobs_total", outcome="skipped", reason="restored") == 1
    assert b'outcome="failed"' not in text


async def test_in_process_jobs_leave_it_to_a_worker(redis: Redis, client: CompactionClient, keeper: Keeper) -> None:
    await filled(client)
    await keeper.archive(KEY)
    await keeper.store.want(KEY)

    assert await client.run_due(summarizer=FakeSummarizer()) == [Failed(kind="Archived", cause="store")]

    assert await redis.zscore("offturn:{s00}:due", KEY.member)


async def test_a_packed_session_comes_back_packed_and_is_exported_from_the_archive(
    redis: Redis, client: CompactionClient, keeper: Keeper
) -> None:
    session = await filled(client)
    store = SessionStore(redis)
    packed = await pack_covered(store, KEY, before_ms=await store.now_ms() + 1_000)
    assert packed.bytes
    before, lines = await own(redis), [line async for line in session.export()]

    assert isinstance(await keeper.archive(KEY), Kept)
    assert [name for name in await own(redis) if KEY.member in name] == [KEY.key("meta")]
    stub = await keeper.store.stub(KEY)
    assert stub
    assert [line async for line in exported(keeper.objects, stub)] == lines
    assert await Packer(store, Unpacked(redis), after=0).once() in (0, 1)  # it goes on

    assert await keeper.restore(KEY)
    assert await own(redis) == before
    redis_meta = await store.meta(KEY)
    assert redis_meta
    assert redis_meta.base > 0
    assert [line async for line in session.export()] == lines
