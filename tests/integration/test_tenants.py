"""What a tenant's sessions take and may take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Conflict, Refused, Session, TenantFull
from offturn.store.archiving import ArchiveStore
from offturn.store.sessions import SessionStore
from offturn.store.tenants import Tenants
from offturn.testing import FakeSummarizer
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_worker.archive import walk
from offturn_worker.archive.walk import Walk
from tests.integration.archived import Round, brought_back, keeper_at, walk_of
from tests.integration.host import human, says, turn

TENANT = "acme"


@pytest.fixture
async def acme(redis: Redis, valkey_url: str) -> AsyncIterator[CompactionClient]:
    async with CompactionClient.from_url(valkey_url, tenant=TENANT, timeout=20) as opened:
        yield opened


@pytest.fixture
def tenants(redis: Redis) -> Tenants:
    return Tenants(redis)


def handle(client: CompactionClient, name: str = "chat", **options: Any) -> Session:
    return client.session(name, format="openai-chat", window=24_000, **options)


async def summed(redis: Redis, *names: str) -> int:
    """Bytes of the logs as they are."""
    commands: Any = redis
    logs = [await commands.lrange(SessionKey(TENANT, name).key("log"), 0, -1) for name in names]
    return sum(len(item) for log in logs for item in log)


async def test_bytes_and_sessions_are_counted_whatever_is_done(
    redis: Redis, acme: CompactionClient, tenants: Tenants, tmp_path: Path
) -> None:
    rng, keeper, names = Random(3), keeper_at(redis, tmp_path), ("a", "b", "c")
    async with brought_back(keeper, redis):
        for number in range(120):
            session = handle(acme, rng.choice(names))
            step = rng.choice(
                ("record", "record", "record", "rewind", "amend", "redact", "purge", "archive", "work", "view")
            )
            try:
                match step:
                    case "record":
                        await session.record(turn("openai-chat", number, size=100))
                    case "amend":
                        await session.amend(0, human(f"Other {number}."))
                    case "redact":
                        await session.redact([0], reason="asked")
                    case "archive":
                        await keeper.archive(session.key)
                    case "work":
                        await acme.run_due(summarizer=FakeSummarizer())
                    case _:
                        await getattr(session, step)()
            except (Conflict, Refused):
                continue
            used = await tenants.usage(TENANT)
            living = [key.session for key in await acme.sessions()]
            stored = await keeper.store.archived(TENANT)
            assert used.sessions == len(living), step
            assert used.bytes == await summed(redis, *living), step
            assert used.archived_sessions == len(stored), step
            assert used.archived_bytes == sum(one.bytes for one in stored), step
    assert await tenants.names() == [TENANT]


async def test_a_record_above_the_tenants_bytes_waits_and_views_go_on(acme: CompactionClient, tenants: Tenants) -> None:
    session, other = handle(acme), handle(acme, "other")
    await session.record([human("First?"), says("Yes.")])
    await other.record([human("Another session."), says("Yes.")])
    await session.view()
    used = await tenants.usage(TENANT)
    await tenants.limit(TENANT, bytes=used.bytes + 300)

    done = await session.record([human("x" * 400)])
    shown = await session.view()
    again = await other.record([human("small")])

    assert not done.durable
    assert any(f"{TENANT!r}" in one and "--bytes" in one for one in done.warnings)
    assert shown.messages[-1]["content"] == "x" * 400
    assert again.durable
    with pytest.raises(TenantFull, match="do not fit") as refused:
        await other.amend(0, human("y" * 400))
    assert refused.value.retryable

    await tenants.limit(TENANT)
    assert not (await session.view()).stale
    raw = await handle(acme).view(generation=0, window=1_000_000)
    assert [one["content"] for one in raw.messages] == ["First?", "Yes.", "x" * 400]


async def test_a_session_above_the_tenants_number_is_refused(
    redis: Redis, acme: CompactionClient, tenants: Tenants, valkey_url: str
) -> None:
    await handle(acme, "one").record([human("First?")])
    await tenants.limit(TENANT, sessions=1)

    waits = handle(acme, "two")
    assert not (await waits.record([human("Me too?")])).durable
    assert (await waits.view()).stale
    async with CompactionClient.from_url(valkey_url, tenant=TENANT, timeout=20, on_outage="raise") as strict:
        with pytest.raises(TenantFull, match=r"has 1 of 1 sessions.*'three'.*--sessions"):
            await handle(strict, "three").record([human("And me?")])
    assert await SessionStore(redis).meta(SessionKey(TENANT, "three")) is None
    assert (await handle(acme, "one").record([says("Yes.")])).durable
    async with CompactionClient.from_url(valkey_url, tenant="other", timeout=20) as others:
        assert (await handle(others, "x").record([human("Free?")])).durable

    await handle(acme, "one").purge()
    assert not (await waits.view()).stale
    assert [key.session for key in await acme.sessions()] == ["two"]


async def test_what_has_expired_counts_no_more_once_the_walk_was_there(
    redis: Redis, acme: CompactionClient, tenants: Tenants
) -> None:
    for number in range(3):
        await handle(acme, f"s{number}").record([human("Hello?")])
    await redis.delete(SessionKey(TENANT, "s0").key("meta"), SessionKey(TENANT, "s0").key("log"))
    await redis.delete(SessionKey(TENANT, "s1").key("meta"), SessionKey(TENANT, "s1").key("log"))
    await handle(acme, "s1").record([human("Anew.")])

    await Round(ArchiveStore(redis), tenants, None, after=None).once()

    used = await tenants.usage(TENANT)
    assert (used.sessions, used.bytes) == (2, await summed(redis, "s1", "s2"))


async def test_the_walk_asks_once_a_round_who_the_tenants_are(
    redis: Redis, tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        await tenants.limit(name)
    names, vanished = tenants.names, tenants.vanished
    asked: list[str] = []

    async def all_of_them() -> list[str]:
        asked.append("*")
        return await names()

    async def of_one(tenant: str, cursor: int) -> tuple[int, list[SessionKey]]:
        asked.append(tenant)
        return await vanished(tenant, cursor)

    monkeypatch.setattr(tenants, "names", all_of_them)
    monkeypatch.setattr(tenants, "vanished", of_one)
    monkeypatch.setattr(walk, "STEP_SECONDS", 3600.0)
    await Walk(ArchiveStore(redis), tenants, None, after=None).once()

    assert asked == ["*", "a", "b", "c"]


async def test_an_expired_session_of_the_archive_counts_no_more(
    redis: Redis, acme: CompactionClient, tenants: Tenants, tmp_path: Path
) -> None:
    keeper = keeper_at(redis, tmp_path)
    await handle(acme).record([human("Hello?")])
    await keeper.archive(SessionKey(TENANT, "chat"))
    assert (await tenants.usage(TENANT)).archived_sessions == 1
    await redis.delete(SessionKey(TENANT, "chat").key("meta"))

    await walk_of(keeper).once()

    used = await tenants.usage(TENANT)
    assert (used.archived_sessions, used.archived_bytes, used.sessions, used.bytes) == (0, 0, 0, 0)


async def test_what_an_older_release_wrote_counts_from_the_next_write_on(
    redis: Redis, acme: CompactionClient, tenants: Tenants
) -> None:
    await handle(acme).record([human("Hello?")])
    await redis.delete("offturn:{s00}:acme:usage", "offturn:{s00}:acme:sizes")

    await handle(acme).record([says("Yes.")])

    used = await tenants.usage(TENANT)
    assert (used.sessions, used.bytes) == (1, await summed(redis, "chat"))
    with pytest.raises(InvalidSetting):
        await tenants.usage("No Tenant")
