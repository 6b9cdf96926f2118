"""A store that is away, silent, or loses a reply: errors come in time, and a write takes effect once."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Behind, Closed, Compacted, CompactionClient, InvalidSetting, Session, StoreUnavailable, links
from offturn.store.errors import StoreFault
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_engine.summary import SummaryRequest
from tests.conftest import TIMEOUT
from tests.faults.cut_off import opened
from tests.faults.forwarder import Proxy, proxy
from tests.integration.host import human, says, stored, turns

NEVER_SECONDS = 100.0  # a call that takes longer is taken to hang
WINDOW = 16_000


async def test_a_record_whose_reply_is_lost_takes_effect_once(redis: Redis, valkey_url: str) -> None:
    async with proxy(valkey_url) as between, CompactionClient.from_url(between.url, timeout=TIMEOUT) as client:
        session = client.session("chat", format="openai-chat", window=WINDOW)
        await session.record(human("a"))
        for text in ("b", "c", "d"):
            between.lose = 1
            recorded = await session.record(human(text))
        between.lose = 1
        view = await session.view()

    assert between.lost == 4
    assert (recorded.first_seq, recorded.last_seq) == (3, 3)
    assert await stored(redis, "chat") == list(view.messages) == [human(text) for text in "abcd"]


async def test_a_request_and_a_rollback_whose_reply_is_lost_take_effect_once(redis: Redis, valkey_url: str) -> None:
    async with proxy(valkey_url) as between, CompactionClient.from_url(between.url, timeout=TIMEOUT) as client:
        session = client.session("chat", format="openai-chat", window=WINDOW)
        await session.record(turns("openai-chat", 22))
        await session.status()
        real = SessionStore(redis)
        ticket = await _losing_the_write(between, session, real)
        await session.rollback(generation=0, force=True)
        events = [event.kind for event in await session.events()]

    assert ticket == 2
    assert events.count("rolled-back") == 1
    assert events.count("due") == 2


async def _losing_the_write(between: Proxy, session: Session, real: SessionStore) -> int:
    """The reply to the read comes through, the reply to the write does not."""
    reading = await session.status()
    assert reading.due
    original = between.lose
    between.lose = 1
    ticket = await session.request()
    between.lose = original
    meta = await real.meta(session.key)
    assert meta is not None
    assert meta.request_no == ticket.request_no
    return ticket.request_no


class Forgetful:
    """A store that does what it is told and then, as often as asked, says that it did not answer."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self.forget = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def record(self, *args: Any, **named: Any) -> Any:
        reply = await self._store.record(*args, **named)
        if self.forget:
            self.forget -= 1
            raise StoreUnavailable("lost")
        return reply


async def forgetful(session: Session) -> Forgetful:
    """Put one between a handle and its store."""
    await session.view()
    connector = session._connector
    links = await connector.links()
    store = Forgetful(links.store)
    object.__setattr__(links, "store", store)
    await session.view()
    return store


async def test_the_client_sends_a_write_again(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    store = await forgetful(session)
    store.forget = 1
    await session.record([human("a"), says("b")])
    assert store.forget == 0
    assert await stored(redis, "chat") == [human("a"), says("b")]


async def test_the_hosts_own_retry_takes_effect_once(strict: CompactionClient, redis: Redis) -> None:
    session = strict.session("chat", format="openai-chat", window=WINDOW)
    store = await forgetful(session)
    store.forget = 2
    with pytest.raises(StoreUnavailable, match=r"make the same call again on the same session object.*ids="):
        await session.record([human("a"), says("b")])
    again = await session.record([human("a"), says("b")])
    more = await session.record([human("a"), says("b")])

    assert (again.first_seq, more.first_seq) == (0, 2)
    assert await stored(redis, "chat") == [human("a"), says("b")] * 2
    assert list((await session.view()).messages) == [human("a"), says("b")] * 2


async def test_after_a_lost_reply_another_record_is_another_one(strict: CompactionClient, redis: Redis) -> None:
    session = strict.session("chat", format="openai-chat", window=WINDOW)
    store = await forgetful(session)
    store.forget = 2
    with pytest.raises(StoreUnavailable):
        await session.record(human("a"))
    await session.record(says("b"))
    assert await stored(redis, "chat") == [human("a"), says("b")]


async def every_call(session: Session, client: CompactionClient) -> None:
    """Each of them raises StoreUnavailable, and none hangs."""
    calls = (
        lambda: session.record(human("a")),
        session.view,
        lambda: session.mirror([human("a")]),
        lambda: session.phase_done("done"),
        session.request,
        lambda: session.rollback(generation=0),
        lambda: session.recall("m0"),
        session.status,
        session.generations,
        session.events,
        client.run_due,
        client.sessions,
    )
    for call in calls:
        async with asyncio.timeout(NEVER_SECONDS):
            with pytest.raises(StoreUnavailable):
                await call()


async def test_an_unreachable_store_is_said_in_time() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}/0"
        async with CompactionClient.from_url(url, timeout=0.2, on_outage="raise") as client:
            await every_call(client.session("chat", format="openai-chat", window=WINDOW), client)


async def test_a_silent_store_is_said_in_time(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy(valkey_url) as between, opened(between, monkeypatch, on_outage="raise") as client:
        session = client.session("chat", format="openai-chat", window=WINDOW)
        await session.record(human("before"))
        await session.view()
        between.silent = True
        await every_call(session, client)
        between.silent = False
        view = await session.view()

    assert list(view.messages) == [human("before"), human("a")]  # it was done, only nobody was told
    assert await stored(redis, "chat") == [human("before"), human("a")]


async def test_a_queue_that_is_away_stops_nobody(redis: Redis, valkey_url: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        queue = f"redis://127.0.0.1:{nobody.getsockname()[1]}/0"
        async with CompactionClient.from_url(valkey_url, queue=queue, timeout=TIMEOUT) as client:
            session = client.session("chat", format="openai-chat", window=WINDOW)
            recorded = await session.record(turns("openai-chat", 22))
            ticket = await session.request()

            assert recorded.ticket is not None
            assert await ticket.status() == "waiting"

            async def again(_: SummaryRequest) -> None:
                await session.request()

            [outcome] = await client.run_due(summarizer=FakeSummarizer(on_request=again))  # rings when it finishes
            assert isinstance(outcome, Compacted)


@pytest.mark.parametrize("seen", [False, True])
async def test_a_store_that_lost_writes_is_told_once_and_read_again(
    client: CompactionClient, redis: Redis, seen: bool
) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([human("a"), says("b")])
    if seen:
        await session.view()
    await redis.flushall()
    await client.session("chat", format="openai-chat", window=WINDOW).record(human("z"))

    with pytest.raises(Behind):
        await session.record(human("c"))
    recorded = await session.record(human("c"))

    assert recorded.first_seq == 1
    assert await stored(redis, "chat") == [human("z"), human("c")]
    assert list((await session.view()).messages) == [human("z"), human("c")]


async def test_a_view_tells_of_lost_writes_and_mirror_brings_them_back(client: CompactionClient, redis: Redis) -> None:
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record([human("a"), says("b")])
    await client.session("chat", format="openai-chat", window=WINDOW).purge()
    empty = await session.view()
    again = await session.mirror([human("a"), says("b"), human("c")])

    assert list(empty.messages) == []
    assert any("no longer holds" in warning for warning in empty.warnings)
    assert again.warnings == ()
    assert await stored(redis, "chat") == [human("a"), says("b"), human("c")]


async def test_a_closed_client_says_so(valkey_url: str, redis: Redis) -> None:
    client = CompactionClient.from_url(valkey_url, timeout=TIMEOUT)
    session = client.session("chat", format="openai-chat", window=WINDOW)
    await session.record(human("a"))
    ticket = await session.request()
    await client.close()
    await client.close()

    for call in (session.view, ticket.status, client.sessions, client.session("b", format="anthropic").status):
        with pytest.raises(Closed, match="is closed: open a new one"):
            await call()
    assert len(await stored(redis, "chat")) == 1


async def test_a_log_that_ends_before_its_length_is_said(client: CompactionClient, redis: Redis) -> None:
    session = client.session("s", format="openai-chat", window=WINDOW)
    await session.record([human("one"), says("two")])
    await redis.ltrim(session.key.key("log"), 0, 0)  # type: ignore[misc]

    with pytest.raises(StoreFault, match="the log holds 1 of 2 messages"):
        await client.session("s", format="openai-chat", window=WINDOW).view()


async def test_a_queue_that_cannot_be_opened_leaves_no_store_open(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    class Opened:
        async def aclose(self) -> None:
            closed.append("store")

    async def opening(url: str, **_options: object) -> Opened:
        if url == "queue":
            raise InvalidSetting("no such server")
        return Opened()

    monkeypatch.setattr(links, "open_redis", opening)

    with pytest.raises(InvalidSetting):
        await links.Connector("store", "queue", 1.0).links()
    assert closed == ["store"]
