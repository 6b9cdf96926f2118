"""`client.on_generation`: at least once for the newest generation, at a boundary, whatever happens to the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidSetting, NotRecorded, Session, View, writing_back
from offturn.entries import prepare
from offturn.outbox import Batch
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from tests.conftest import TIMEOUT
from tests.integration.host import calls, human, result, says, turns

FMT = "openai-chat"
WINDOW = 16_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing_back, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(writing_back, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(writing_back, "LONGEST_SECONDS", 0.1)


class Host:
    """A host's own table of lists. `fail`: raises that often before it writes."""

    def __init__(self, fail: int = 0) -> None:
        self.rows: dict[str, tuple[int, list[Any]]] = {}
        self.told: list[tuple[str, int]] = []
        self.fail = fail

    async def __call__(self, session: Session, view: View) -> None:
        self.told.append((session.key.session, view.generation))
        if len(self.told) <= self.fail:
            raise RuntimeError("the database is away")
        self.rows[session.key.session] = (view.generation, list(view.messages))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not condition():  # noqa: ASYNC110 -- what it waits for tells nobody
            await asyncio.sleep(0.01)


async def compacted(client: CompactionClient, name: str = "chat", **options: Any) -> Session:
    session = client.session(name, format=FMT, window=WINDOW, **options)
    await session.record(turns(FMT, 14))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    return session


async def settled(redis: Redis, name: str = "default") -> None:
    async with asyncio.timeout(TIMEOUT):
        while await redis.exists(f"offturn:{{s00}}:default:sink-{name}"):  # noqa: ASYNC110 -- a server's key
            await asyncio.sleep(0.01)


async def test_the_host_gets_the_view_of_each_generation_once(client: CompactionClient, redis: Redis) -> None:
    host = Host()
    await client.on_generation(host)
    session = await compacted(client)
    await until(lambda: "chat" in host.rows)
    await settled(redis)

    view = await session.view()
    assert host.rows["chat"] == (1, list(view.messages))
    assert view.kind == "compacted"
    assert host.told == [("chat", 1)]


async def test_what_finished_while_the_host_was_down_is_told(
    client: CompactionClient, redis: Redis, valkey_url: str
) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as before:
        await before.on_generation(Host())
    for name in ("ann", "bob"):
        await compacted(client, name)

    host = Host()
    await client.on_generation(host)
    await until(lambda: len(host.rows) == 2)
    await settled(redis)
    assert sorted(host.told) == [("ann", 1), ("bob", 1)]


async def test_a_sinks_first_use_tells_of_what_is_there(client: CompactionClient, redis: Redis) -> None:
    await compacted(client)
    await client.session("raw", format=FMT).record(human("Hello."))
    host = Host()
    await client.on_generation(host)
    await until(lambda: bool(host.told))
    await settled(redis)
    assert host.told == [("chat", 1)]


async def test_a_sink_that_raises_is_called_again_and_nobody_waits(client: CompactionClient, redis: Redis) -> None:
    host = Host(fail=1_000_000)
    write_back = await client.on_generation(host)
    session = await compacted(client)
    await until(lambda: bool(host.told))
    await session.record(says("The host goes on meanwhile."))
    host.fail = len(host.told) + 2
    await until(lambda: "chat" in host.rows)
    await settled(redis)
    assert host.told == [("chat", 1)] * (host.fail + 1)
    assert host.rows["chat"][1][-1] == says("The host goes on meanwhile.")
    await until(lambda: not write_back.failing)


async def test_a_sink_that_fails_says_so(client: CompactionClient) -> None:
    host = Host(fail=1_000_000)
    write_back = await client.on_generation(host)
    await compacted(client)
    await until(lambda: "chat" in write_back.failing)
    assert isinstance(write_back.failing["chat"], RuntimeError)


async def test_a_sink_in_which_something_is_cancelled_is_called_again(client: CompactionClient, redis: Redis) -> None:
    host = Host()

    async def sink(session: Session, view: View) -> None:
        await host(session, view)
        if len(host.told) == 1:
            given_up = asyncio.get_running_loop().create_future()
            given_up.cancel()
            await given_up

    await client.on_generation(sink)
    await compacted(client)
    await settled(redis)
    assert host.told == [("chat", 1)] * 2


async def test_what_the_store_refused_is_still_told_to_the_host(client: CompactionClient, redis: Redis) -> None:
    host = Host()
    session = await compacted(client)
    batch = Batch(op="x", prepared=prepare([human("Lost.")], None, get(FMT), None), config=session._config)
    session._outbox.refuse(batch, RuntimeError("why"))
    await client.on_generation(host)
    await until(lambda: "chat" in host.rows)
    await settled(redis)
    with pytest.raises(NotRecorded):
        await session.view()


async def test_an_open_group_is_waited_for(client: CompactionClient, redis: Redis) -> None:
    host = Host()
    await client.on_generation(host)
    session = client.session("chat", format=FMT, window=WINDOW)
    await session.record([*turns(FMT, 14), human("Run it."), calls(FMT, "open")])
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    assert (await session.status()).current == 1
    await asyncio.sleep(0.2)  # it looks several times
    assert host.told == []

    await session.record(result(FMT, "open", "ok"))
    await until(lambda: "chat" in host.rows)
    assert host.rows["chat"][1][-1] == result(FMT, "open", "ok")


async def test_a_rollback_is_told(client: CompactionClient, redis: Redis) -> None:
    host = Host()
    await client.on_generation(host)
    session = await compacted(client)
    await until(lambda: "chat" in host.rows)
    await settled(redis)
    await session.rollback(generation=0, force=True)
    await until(lambda: host.rows["chat"][0] == 0)
    assert host.rows["chat"][1] == turns(FMT, 14)


async def test_a_generation_made_during_the_call_is_told_too(client: CompactionClient, redis: Redis) -> None:
    host, held = Host(), asyncio.Event()

    async def slow(session: Session, view: View) -> None:
        await host(session, view)
        await held.wait()

    await client.on_generation(slow)
    session = await compacted(client)
    await until(lambda: host.told == [("chat", 1)])
    await session.record(turns(FMT, 14, start=20))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    held.set()
    await until(lambda: host.rows["chat"][0] == 2)


async def test_processes_of_one_name_share_and_names_do_not(
    client: CompactionClient, redis: Redis, valkey_url: str
) -> None:
    one, two, other = Host(), Host(), Host()
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as second:
        await client.on_generation(one)
        await second.on_generation(two)
        await second.on_generation(other, name="audit")
        for name in ("ann", "bob", "cid"):
            await compacted(client, name)
        await settled(redis)
        await settled(redis, "audit")
    everyone = [("ann", 1), ("bob", 1), ("cid", 1)]
    assert sorted(one.told + two.told) == everyone
    assert sorted(other.told) == everyone


async def test_a_purged_session_and_shadow_mode_are_not_told(client: CompactionClient, redis: Redis) -> None:
    first = await client.on_generation(Host())
    await first.close()
    session = await compacted(client)
    await session.purge()
    await compacted(client, "shadow", adopt="never")
    host = Host()
    await client.on_generation(host)
    await settled(redis)
    assert host.told == []


async def test_a_forgotten_sink_leaves_nothing(client: CompactionClient, redis: Redis) -> None:
    write_back = await client.on_generation(Host())
    await write_back.forget()
    await compacted(client)
    assert await redis.keys("*sink*") == []


async def test_a_name_is_checked(client: CompactionClient) -> None:
    with pytest.raises(InvalidSetting, match="sink"):
        await client.on_generation(Host(), name="Two words")
