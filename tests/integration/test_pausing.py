"""A pause keeps workers from a tenant's sessions, or from all; nothing else changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, InvalidSetting, Skipped, StoreUnavailable
from offturn.doorbell import Doorbell
from offturn.store.pausing import Pause, Pauses
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_config.keys import QUEUE, SessionKey
from offturn_worker import pausing
from offturn_worker.pausing import KnownPauses, unless_paused
from offturn_worker.sweep import Sweep
from tests.integration.host import turns
from tests.integration.shell import Compaction, settings, until, until_empty, working

ACME, OTHER = SessionKey("acme", "s"), SessionKey("other", "s")


@pytest.fixture
def pauses(redis: Redis) -> Pauses:
    return Pauses(redis)


async def due(client_url: str, key: SessionKey) -> None:
    async with CompactionClient.from_url(client_url, tenant=key.tenant, timeout=20) as client:
        session = client.session(key.session, format="openai-chat", window=14_000)
        await session.record(turns("openai-chat", 22, size=1_500))
        assert (await session.status()).due


async def test_pauses_are_told_until_they_end(pauses: Pauses) -> None:
    everything = await pauses.begin(None, reason="provider is down")
    one = await pauses.begin("acme", seconds=3600)

    assert await pauses.every() == [everything, one]
    assert (everything.tenant, everything.until, everything.reason) == (None, None, "provider is down")
    assert one.until is not None
    assert one.until - one.at == 3_600_000
    assert (everything.holds("acme"), one.holds("acme"), one.holds("other")) == (True, True, False)
    assert await pauses.end(None)
    assert not await pauses.end(None)
    assert await pauses.every() == [one]


async def test_an_ended_pause_holds_nothing_and_is_forgotten(pauses: Pauses, redis: Any) -> None:
    await redis.hset(keys.paused(), "acme", '{"v":1,"at":1,"until":2,"reason":""}')
    await redis.hset(keys.paused(), "later", "of another release")

    assert await pauses.every() == [Pause(tenant="later", at=0, until=None, reason="")]
    one = await pauses.begin("acme")
    await redis.hset(keys.paused(), "old", '{"v":1,"at":1,"until":2,"reason":""}')
    assert not await pauses.end("old")
    assert await pauses.every() == [one, Pause(tenant="later", at=0, until=None, reason="")]
    assert sorted(await redis.hkeys(keys.paused())) == [b"acme", b"later"]


async def test_a_host_that_may_not_look_goes_on(redis: Any, valkey_url: str, pauses: Pauses) -> None:
    """Its user of the server has no right to the key, as one that was made for an older release."""
    await pauses.begin(None)
    granted = ("~offturn:{s00}:default:*", "~offturn:{s00}:due", "~offturn:{s00}:dead", "~offturn:{s00}:seen")
    more = (
        "~offturn:{s00}:packing",
        "~offturn:{s00}:tenants",
        "%R~offturn:{s00}:workers",
        "~offturn:queue",
        "~arq:job:*",
        "&offturn:wake",
        "+@all",
    )
    await redis.execute_command("ACL", "SETUSER", "narrow", "reset", "on", ">pw", *granted, *more)
    try:
        async with CompactionClient.from_url(valkey_url.replace("://", "://narrow:pw@"), timeout=20) as narrow:
            session = narrow.session("s", format="openai-chat")
            await session.record({"role": "user", "content": "hello"})
            assert (await session.status()).messages == 1
            assert (await narrow.health()).pauses == ()
        await redis.execute_command("ACL", "SETUSER", "narrow", "%R~offturn:{s00}:paused")
        async with CompactionClient.from_url(valkey_url.replace("://", "://narrow:pw@"), timeout=20) as wider:
            assert len((await wider.health()).pauses) == 1
    finally:
        await redis.execute_command("ACL", "DELUSER", "narrow")


async def test_a_second_pause_replaces_the_first(pauses: Pauses) -> None:
    await pauses.begin("acme", seconds=60, reason="first")
    second = await pauses.begin("acme", reason="second")
    assert await pauses.every() == [second]


@pytest.mark.parametrize(
    ("tenant", "options"),
    [("NO", {}), ("acme", {"seconds": 0}), ("acme", {"seconds": 1e12}), (None, {"reason": "x" * 201})],
)
async def test_what_cannot_be_a_pause_is_refused(pauses: Pauses, tenant: str | None, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await pauses.begin(tenant, **options)
    assert await pauses.every() == []


async def test_one_look_serves_many_jobs(pauses: Pauses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "FRESH_SECONDS", 3600.0)
    looks = 0

    async def read() -> list[Pause]:
        nonlocal looks
        looks += 1
        return await pauses.every()

    await pauses.begin("acme")
    compact = Compaction()
    limited = unless_paused(compact, KnownPauses(read))

    outcomes = await asyncio.gather(*(limited(key) for key in (ACME, OTHER) * 10))

    assert looks == 1
    assert outcomes.count(Skipped(reason="paused")) == 10
    assert len(compact.begun) == 10


@pytest.mark.parametrize("paused", ["acme", None])
async def test_a_worker_begins_nothing_that_is_paused(
    pauses: Pauses, redis: Any, valkey_url: str, paused: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pausing, "FRESH_SECONDS", 0.0)
    await due(valkey_url, ACME)
    await redis.delete(QUEUE)
    before = await redis.zrange(keys.due(), 0, -1, withscores=True)
    await pauses.begin(paused)
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        assert await Doorbell(redis).ring(ACME, 1)
        await until_empty(redis)
        await asyncio.sleep(0.3)  # some sweeps, which must not ring
        assert await redis.zcard(QUEUE) == 0
        assert compact.begun == []
        meta = await SessionStore(redis).meta(ACME)
        assert meta is not None
        assert (meta.due, meta.attempts, meta.fence) == (True, 0, 0)
        assert await redis.zrange(keys.due(), 0, -1, withscores=True) == before
        await pauses.end(paused)
        await until(lambda: compact.begun)


async def test_a_running_job_finishes(pauses: Pauses, redis: Redis, valkey_url: str) -> None:
    compact = Compaction()
    compact.go.clear()
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(ACME, 1)
        await until(lambda: compact.begun)
        await pauses.begin(None)
        compact.go.set()
        await until_empty(redis)
    assert compact.cancelled == []


async def test_paused_sessions_hide_no_others_from_the_sweep(redis: Any, valkey_url: str, pauses: Pauses) -> None:
    await due(valkey_url, ACME)
    await due(valkey_url, OTHER)
    await redis.delete(QUEUE)
    await redis.delete(*(await redis.keys("arq:job:*")))
    sweep = Sweep(SessionStore(redis), Doorbell(redis), seconds=1, beat=lambda: None, pauses=pauses.every)
    await pauses.begin("acme")

    assert await sweep.once() == 1
    assert [name.split(b":")[1] for name in await redis.zrange(QUEUE, 0, -1)] == [b"other"]
    await pauses.end("acme")
    assert await sweep.once() == 1


async def test_hosts_go_on_and_are_told(client: CompactionClient, redis: Redis, pauses: Pauses) -> None:
    made = await pauses.begin("default", reason="maintenance")
    session = client.session("s", format="openai-chat", window=14_000)
    await session.record(turns("openai-chat", 60, size=1_500))

    view = await session.view()
    status, health = await session.status(), await client.health()

    assert view.kind == "emergency"
    assert any("maintenance" in warning for warning in status.warnings)
    assert health.pauses == (made,)
    await client.session("due", format="openai-chat", window=14_000).record(turns("openai-chat", 22, size=1_500))
    outcomes = await client.run_due()  # its caller's own will
    assert Skipped(reason="paused") not in outcomes
    assert any(isinstance(outcome, Compacted) for outcome in outcomes)
    await pauses.end("default")
    assert not any("maintenance" in warning for warning in (await session.status()).warnings)


async def test_a_hosts_look_at_pauses_has_its_calls_deadline(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Redis.execute_command

    async def silent(self: Redis, *args: Any, **options: Any) -> Any:
        if args == ("HGETALL", keys.paused()):
            await asyncio.sleep(3600)
        return await asked(self, *args, **options)  # type: ignore[no-untyped-call]  # of redis-py

    async with CompactionClient.from_url(valkey_url, timeout=0.3) as client:
        session = client.session("s", format="openai-chat", window=14_000)
        await session.record(turns("openai-chat", 2))
        monkeypatch.setattr(Redis, "execute_command", silent)
        async with asyncio.timeout(100):
            with pytest.raises(StoreUnavailable):
                await session.status()
