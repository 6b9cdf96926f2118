"""A store that lost the newest writes it had acknowledged: hosts record again what they know, once and in order."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Behind, CompactionClient, Session, StoreUnavailable, timely
from tests.faults.processes import TIMEOUT, Store, compacted, workers
from tests.faults.snapshot import Snapshot
from tests.integration.host import Raw, calls, human, result, says, stored, turns

WINDOW = 16_000
STEERING = ("soft", "hard", "growth", "hourly", "interval", "idle_ms", "idle_floor", "ttl", "quota")

Call = Callable[[Session, list[Raw]], Awaitable[Any]]


def handle(client: CompactionClient) -> Session:
    return client.session("chat", format="openai-chat", window=WINDOW)


@pytest.fixture
async def snapshot(redis: Redis) -> Snapshot:
    return Snapshot(redis)


async def record(session: Session, _: list[Raw]) -> None:
    recorded = await session.record(human("next"))
    assert any("had lost the newest 3 messages" in warning for warning in recorded.warnings)


async def view(session: Session, _: list[Raw]) -> None:
    shown = await session.view()
    assert any("had lost the newest 3 messages" in warning for warning in shown.warnings)
    assert not any("no longer holds" in warning for warning in shown.warnings)


async def mirror(session: Session, said: list[Raw]) -> None:
    await session.mirror([*said, human("next")])


async def request(session: Session, _: list[Raw]) -> None:
    await session.request()


async def rewind(session: Session, _: list[Raw]) -> None:
    await session.rewind()


@pytest.mark.parametrize("call", [record, view, mirror, request, rewind])
@pytest.mark.parametrize("seen", [False, True])
async def test_whatever_is_called_next_brings_them_back(
    client: CompactionClient, redis: Redis, snapshot: Snapshot, call: Call, seen: bool
) -> None:
    session = handle(client)
    said = [human("a"), says("b"), human("c"), calls("openai-chat", "x"), result("openai-chat", "x", "é ok")]
    await session.record(said[:2], ids=["1", "2"])
    await snapshot.take()
    await session.record(said[2:], ids=["3", None, None], origin="host")
    if seen:
        await session.view()
    before = await redis.hgetall(session.key.key("ids"))  # type: ignore[misc]
    await snapshot.restore()
    await call(session, said)

    log = await stored(redis, "chat")
    assert log[:5] == said
    assert log[5:] in ([], [human("next")])
    assert await redis.hgetall(session.key.key("ids")) == before  # type: ignore[misc]


@pytest.mark.parametrize("looked", [False, True])
async def test_a_session_lost_as_a_whole_is_made_again_as_it_was(
    client: CompactionClient, redis: Redis, looked: bool
) -> None:
    paces = {"trigger.most_per_hour": 3, "trigger.idle_seconds": 600}
    session = client.session("chat", format="openai-chat", overrides=paces, window=20_000, model="gpt-x")
    await session.record([human("a"), says("b")])
    if looked:
        await session.view()
    before = await redis.hmget(session.key.key("meta"), list(STEERING))  # type: ignore[misc]
    await redis.flushall()
    view = await session.view()
    config = await client.stored_config("chat")

    assert list(view.messages) == await stored(redis, "chat") == [human("a"), says("b")]
    assert config is not None
    assert (config.window, config.model) == (20_000, "gpt-x")
    assert (await session.status()).requirement == "none"
    assert before == await redis.hmget(session.key.key("meta"), list(STEERING))  # type: ignore[misc]
    assert before[3:5] == [b"3", b"0"]


async def test_hosts_that_come_back_at_once_restore_it_once(
    client: CompactionClient, redis: Redis, valkey_url: str, snapshot: Snapshot
) -> None:
    """Each knows something else: one the other's messages and its own, one only up to its own last."""
    said = [human(f"{i}") for i in range(9)]
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as elsewhere:
        one, two, three = handle(client), handle(elsewhere), handle(client)
        await one.record(said[:3])
        await two.view()
        await three.view()
        await snapshot.take()
        for index in (3, 5):
            await one.record(said[index])
            await two.record(said[index + 1])
        await one.record(said[7:])
        await two.view()
        await three.view()
        for _ in range(5):
            await snapshot.restore()
            await asyncio.gather(one.view(), two.view(), three.view())
            assert await stored(redis, "chat") == said
    await asyncio.gather(*(session.record(human("end")) for session in (one, three)))
    assert await stored(redis, "chat") == [*said, human("end"), human("end")]


async def test_who_knows_less_restores_first_and_the_other_adds_the_rest(
    client: CompactionClient, redis: Redis, snapshot: Snapshot
) -> None:
    less, more = handle(client), handle(client)
    await less.record(human("0"))
    await more.view()
    await snapshot.take()
    await less.record(human("1"))
    await more.record(human("2"))
    await snapshot.restore()
    await less.view()
    assert await stored(redis, "chat") == [human("0"), human("1")]
    await more.view()
    assert await stored(redis, "chat") == [human("0"), human("1"), human("2")]


async def test_what_was_acknowledged_and_never_read_is_said(
    client: CompactionClient, redis: Redis, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host's message came before, and the store went away before that could be read."""
    session, other = handle(client), handle(client)
    await session.record(human("a"))
    await session.view()
    await snapshot.take()
    await other.record(human("b"))
    links = await client._connector.links()

    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(links.store, "sync", away)
        assert (await session.record(human("c"))).first_seq == 2
    await snapshot.restore()
    with pytest.raises(Behind):
        await session.record(human("d"))
    assert await stored(redis, "chat") == [human("a")]


async def test_what_was_done_unheard_and_brought_back_by_another_is_not_done_again(
    strict: CompactionClient,
    client: CompactionClient,
    redis: Redis,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store has lost the operation's id with the message; another host has read it and records it again."""
    for name, opened in (("kept", client), ("raised", strict)):
        session, other = (one.session(name, format="openai-chat", window=WINDOW) for one in (opened, client))
        await session.record(human("a"))
        await session.view()
        await snapshot.take()
        links = await opened._connector.links()
        real = links.store.record

        async def lost(*args: Any, real: Any = real, **options: Any) -> Any:
            await real(*args, **options)
            raise StoreUnavailable("lost")

        with monkeypatch.context() as patch:
            patch.setattr(links.store, "record", lost)
            with suppress(StoreUnavailable):
                await session.record(says("b"))
        await other.view()
        await snapshot.restore()
        await other.view()
        if name == "raised":
            await session.record(says("b"))
        await session.record(human("c"))
        assert await stored(redis, name) == [human("a"), says("b"), human("c")]


async def test_where_somebody_wrote_something_else_nothing_is_written(
    client: CompactionClient, redis: Redis, snapshot: Snapshot
) -> None:
    session = handle(client)
    await session.record(human("a"))
    await snapshot.take()
    await session.record([says("b"), human("c")])
    await snapshot.restore()
    await handle(client).record(human("z"))
    with pytest.raises(Behind):
        await session.record(human("d"))
    assert await stored(redis, "chat") == [human("a"), human("z")]
    await session.record(human("d"))
    assert await stored(redis, "chat") == [human("a"), human("z"), human("d")]


async def test_more_than_an_outbox_holds_is_not_restored(
    client: CompactionClient, redis: Redis, snapshot: Snapshot
) -> None:
    session = handle(client)
    await session.record(human("a"))
    await snapshot.take()
    for batch in (256, 1):
        await session.record([human("x")] * batch)
    await snapshot.restore()
    with pytest.raises(Behind):
        await session.record(human("d"))
    assert await stored(redis, "chat") == [human("a")]


async def test_a_purged_session_is_not_brought_back(client: CompactionClient, redis: Redis) -> None:
    session = handle(client)
    await session.record(human("a"))
    await handle(client).purge()
    assert list((await session.view()).messages) == []
    assert await stored(redis, "chat") == []


@pytest.mark.parametrize("amends", [False, True])
async def test_a_path_that_moved_meanwhile_is_not_guessed(
    client: CompactionClient, redis: Redis, snapshot: Snapshot, amends: bool
) -> None:
    """Only messages come back, not what took them off the path: the host is told instead."""
    session = handle(client)
    await session.record([human("a"), says("b"), human("c"), says("d")])
    await snapshot.take()
    if amends:
        await session.amend(0, human("A"))
    else:
        await session.rewind()
        await session.record(human("e"))
    await session.view()
    await snapshot.restore()
    with pytest.raises(Behind):
        await session.record(human("f"))
    assert await stored(redis, "chat") == [human("a"), says("b"), human("c"), says("d")]


async def test_what_was_recorded_on_a_moved_path_comes_back(
    client: CompactionClient, redis: Redis, snapshot: Snapshot
) -> None:
    session = handle(client)
    await session.record([human("a"), says("b"), human("c"), says("d")])
    await session.rewind()
    await session.amend(0, human("A"))
    await session.record(human("e"))
    await snapshot.take()
    await session.record(human("f"))
    await session.view()
    await snapshot.restore()
    view = await session.view()
    assert list(view.messages) == [human("A"), says("b"), human("e"), human("f")]


async def test_what_waits_comes_after_what_was_lost(
    client: CompactionClient, redis: Redis, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = handle(client)
    await session.record(human("a"))
    await snapshot.take()
    await session.record(says("b"))
    links = await client._connector.links()
    real = links.store.record

    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(links.store, "record", away)
    await session.record(human("c"))
    monkeypatch.setattr(links.store, "record", real)
    await snapshot.restore()
    await session.record(says("d"))
    assert await stored(redis, "chat") == [human("a"), says("b"), human("c"), says("d")]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store(tmp_path / "data")
    await opened.start()
    yield opened
    await opened.stop()


async def test_a_killed_server_that_comes_back_a_second_younger(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts, a worker, a real server: SIGKILL, and the files of a moment before."""
    monkeypatch.setattr(timely, "AWAY_SECONDS", TIMEOUT)  # a store that is back may need a moment
    async with (
        CompactionClient.from_url(store.url, timeout=TIMEOUT) as first,
        CompactionClient.from_url(store.url, timeout=TIMEOUT) as second,
        workers(store.url, tmp_path) as crew,
    ):
        await crew.start(SUMMARIZER="extractive")
        one, two = handle(first), handle(second)
        said = turns("openai-chat", 12, size=1_500)
        await one.record(said)
        await compacted(one)
        assert (await two.view()).generation > 0
        await asyncio.to_thread(shutil.copytree, tmp_path / "data", tmp_path / "before")
        for number, session in enumerate((one, two, one, two)):
            more = [human(f"Question {number}."), says(f"Answer {number}.")]
            await session.record(more)
            said += more
        await asyncio.gather(one.view(), two.view())
        await store.kill()
        kept = await one.record(human("while it was away"))
        files = tmp_path / "data" / "appendonlydir"
        await asyncio.to_thread(shutil.rmtree, files)
        await asyncio.to_thread(shutil.copytree, tmp_path / "before" / files.name, files)
        await store.start()
        await asyncio.gather(one.view(), two.view())
        await two.record(says("and back"))
        raw = await two.view(generation=0, window=1_000_000)

    assert not kept.durable
    assert list(raw.messages) == [*said, human("while it was away"), says("and back")]


async def test_a_frozen_server_costs_one_deadline(store: Store) -> None:
    async with CompactionClient.from_url(store.url, timeout=3.0) as client:
        session = handle(client)
        await session.record([human("a"), says("b")])
        await session.view()
        os.kill(store.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(24):  # one after the other: 48
                done = await asyncio.gather(
                    *(session.record(human(f"{i}")) for i in range(8)),
                    *(session.view() for _ in range(4)),
                    *(session.status() for _ in range(4)),
                    return_exceptions=True,
                )
        finally:
            os.kill(store.pid, signal.SIGCONT)
        view = await session.view()

    assert [type(one).__name__ for one in done] == ["Recorded"] * 8 + ["View"] * 4 + ["StoreUnavailable"] * 4
    assert list(view.messages) == [human("a"), says("b"), *(human(f"{i}") for i in range(8))]


async def test_what_was_said_after_a_redaction_comes_back_and_what_was_redacted_does_not(
    client: CompactionClient, redis: Redis, snapshot: Snapshot
) -> None:
    session = handle(client)
    await session.record([human("a"), says("secret")])
    await session.redact([1], reason="asked for")
    await session.view()
    await snapshot.take()
    await session.record(human("c"))
    await snapshot.restore()
    await session.record(says("d"))
    said = [message["content"] for message in await stored(redis, "chat")]
    assert said == ["a", "[redacted]", "c", "d"]
    await redis.flushall()
    with pytest.raises(Behind):
        await session.record(human("e"))
    assert await stored(redis, "chat") == []
