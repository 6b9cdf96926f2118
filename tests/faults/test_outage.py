"""What a host says while the store is away is kept, in order, and recorded once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import (
    CompactionClient,
    InvalidSetting,
    NotRecorded,
    StoreFull,
    StoreUnavailable,
    Usage,
    courier,
    outbox,
    timely,
)
from tests.conftest import TIMEOUT
from tests.faults import cut_off as cut_off_line
from tests.faults.cut_off import SECONDS, WINDOW, Place, cut_off, opened
from tests.faults.forwarder import proxy
from tests.faults.processes import until_true
from tests.integration.host import human, result, says, stored
from tests.integration.shell import until_found_again


@pytest.fixture
async def place(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    async with cut_off(redis, valkey_url, monkeypatch) as cut:
        yield cut


@pytest.mark.parametrize("how", ["down", "silent"])
async def test_what_is_said_meanwhile_is_kept_shown_and_recorded_once(place: Place, how: str) -> None:
    session = place.session()
    await session.record([human("a"), says("b")])
    await session.view()
    setattr(place.line, how, True)
    first = await session.record(human("c"))
    second = await session.record([says("d"), human("e")])
    shown = await session.view()
    held = session.undelivered()
    setattr(place.line, how, False)
    later = await session.record(says("f"))
    view = await session.view()

    assert [(r.durable, r.first_seq, r.last_seq) for r in (first, second)] == [(False, 2, 2), (False, 3, 4)]
    assert "2 of 256 wait" not in first.warnings[0]
    assert "3 of 256 wait" in second.warnings[0]
    assert shown.stale
    assert list(shown.messages) == [human("a"), says("b"), human("c"), says("d"), human("e")]
    assert [list(one.messages) for one in held] == [[human("c")], [says("d"), human("e")]]
    assert (later.durable, later.first_seq) == (True, 5)
    assert not view.stale
    assert session.undelivered() == []
    assert await place.stored() == list(view.messages) == [*shown.messages, says("f")]


async def test_an_outage_is_not_paid_for_with_every_call(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call learns of it with all its time; the time-out is a third of what that would be for each."""
    away_seconds = timely.AWAY_SECONDS
    monkeypatch.setattr(cut_off_line, "SECONDS", 2.0)
    async with proxy(valkey_url) as line, opened(line, monkeypatch) as client:
        monkeypatch.setattr(timely, "AWAY_SECONDS", away_seconds)
        session = client.session("chat", format="openai-chat", window=WINDOW)
        await session.record(human("a"))
        line.silent = True
        async with asyncio.timeout(20):
            for number in range(30):
                assert not (await session.record(says(str(number)))).durable
        line.silent = False
        await until_found_again(client)
        assert (await session.record(human("b"))).durable
        assert len(await stored(redis, "chat")) == 32


async def test_a_store_too_slow_for_a_short_try_is_found_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    session = place.session()
    await session.record(human("a"))
    monkeypatch.setattr(timely, "AWAY_SECONDS", 0.0)
    place.line.down = True
    assert not (await session.record(says("b"))).durable
    place.line.down = False

    async def there() -> bool:
        return (await session.record(human("c"))).durable

    await until_true(there)


async def test_a_read_delivers_too(place: Place) -> None:
    session = place.session()
    await session.record(human("a"))
    place.line.down = True
    await session.record(says("b"))
    place.line.down = False
    assert (await session.status()).messages == 2


async def test_nobody_has_to_call(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The background task delivers, also for a handle that is gone, after more failed tries."""
    monkeypatch.setattr(courier, "FIRST_SECONDS", 0.05)
    session = place.session()
    await session.record(human("a"))
    place.line.down = True
    assert not (await session.record(says("b"))).durable
    del session
    await asyncio.sleep(0.3)
    place.line.down = False

    async def there() -> bool:
        return await place.stored() == [human("a"), says("b")]

    await until_true(there)

    async def empty() -> bool:
        return place.client.undelivered() == []

    await until_true(empty)


async def test_handles_of_one_session_keep_the_order(place: Place) -> None:
    place.line.down = True
    await place.session().record(human("a"))
    await place.session().record(says("b"))
    place.line.down = False
    await place.session().record(human("c"))
    assert await place.stored() == [human("a"), says("b"), human("c")]


@pytest.mark.parametrize("how", ["down", "silent"])
async def test_calls_that_wait_for_each_other_keep_their_order_and_one_deadline(place: Place, how: str) -> None:
    session = place.session()
    await session.record(human("start"))
    setattr(place.line, how, True)
    async with asyncio.timeout(10 * SECONDS - 1):  # one after the other they would take twenty
        done = await asyncio.gather(*(session.record(human(f"{i}")) for i in range(20)))
    setattr(place.line, how, False)
    await session.view()

    assert [r.first_seq for r in done] == list(range(1, 21))
    assert not any(r.durable for r in done)
    assert await place.stored() == [human("start"), *(human(f"{i}") for i in range(20))]


async def test_a_full_outbox_drops_nothing_and_says_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_BYTES", 20_000)
    session = place.session()
    place.line.down = True
    many = [human(f"{i}") for i in range(100)]
    await session.record(many)
    for size in (157, 9):
        with pytest.raises(StoreUnavailable, match=r"100 of 256 messages and \d+ of 20000 bytes wait"):
            await session.record([human("x" * (10 if size > 9 else 4_000))] * size)
    await session.record(many[:3])
    place.line.down = False
    await session.record([human("end")])
    assert await place.stored() == [*many, *many[:3], human("end")]


async def test_a_first_record_in_an_outage_creates_the_session_later(place: Place) -> None:
    session = place.session()
    place.line.down = True
    with pytest.raises(StoreUnavailable):
        await session.view()
    recorded = await session.record(human("hello"), usage=Usage(10))
    view = await session.view()
    place.line.down = False

    assert (recorded.first_seq, recorded.path, recorded.generation) == (0, (), 0)
    assert view.stale
    assert list(view.messages) == [human("hello")]
    assert list((await session.view()).messages) == [human("hello")]
    config = await place.client.stored_config("chat")
    assert config is not None
    assert config.window == WINDOW


async def test_what_the_store_refuses_is_said_once_and_stays_readable(place: Place) -> None:
    session, other = place.session(), place.session("other")
    await session.record(human("a"), ids=["1"])
    place.line.down = True
    await session.record(says("b"), ids=["1"])
    await session.record(human("c"), ids=["2"])
    await session.record(result("openai-chat", "nobody", "asked"))
    place.line.down = False
    with pytest.raises(NotRecorded, match=r"2 messages kept .* id '1' is recorded with other content") as error:
        await session.record(says("d"))
    await session.record(says("d"))

    assert error.value.count == 2
    assert [(list(one.messages), one.ids) for one in session.undelivered()] == [
        ([says("b")], ("1",)),
        ([result("openai-chat", "nobody", "asked")], (None,)),
    ]
    assert other.undelivered() == []
    assert place.client.undelivered() == session.undelivered()
    assert await place.stored() == [human("a"), human("c"), says("d")]


async def test_a_session_purged_meanwhile_takes_nothing_of_before(
    place: Place, client: CompactionClient, redis: Redis
) -> None:
    session = place.session()
    await session.record(human("a"))
    place.line.down = True
    await session.record(human("b"))
    await session.record(human("c"))
    await client.session("chat", format="openai-chat").purge()
    place.line.down = False
    with pytest.raises(NotRecorded, match="2 messages"):
        await session.view()
    await session.record(human("d"))

    assert await stored(redis, "chat") == [human("d")]
    assert [m for one in session.undelivered() for m in one.messages] == [human("b"), human("c")]


async def test_everything_else_needs_the_store(place: Place) -> None:
    session = place.session()
    await session.record([human("a"), says("b")])
    place.line.silent = True
    needs: list[Callable[[], Awaitable[Any]]] = [
        session.status,
        session.generations,
        session.events,
        session.request,
        session.phase_done,
        session.rewind,
        session.cancel,
        session.unblock,
        session.purge,
        lambda: session.rollback(generation=0),
        lambda: session.amend(0, human("c")),
        lambda: session.fork("b"),
        lambda: session.configure(window=20_000),
        lambda: session.recall("m0"),
    ]
    for call in needs:
        with pytest.raises(StoreUnavailable):
            async with asyncio.timeout(SECONDS * 10):
                await call()
    place.line.silent = False
    assert (await session.status()).messages == 2


async def test_closing_tries_once_more(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy(valkey_url) as line:
        async with opened(line, monkeypatch) as client:
            line.down = True
            await client.session("chat", format="openai-chat").record(human("a"))
            line.down = False
        assert client.undelivered() == []
    assert await stored(redis, "chat") == [human("a")]


@pytest.mark.parametrize("how", ["down", "silent"])
async def test_closing_does_not_hang_and_says_what_is_left(
    redis: Redis, valkey_url: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy(valkey_url) as line:
        client = opened(line, monkeypatch)
        for name in ("one", "two"):
            await client.session(name, format="openai-chat").record(human("a"))
        setattr(line, how, True)
        for name in ("one", "two"):
            await client.session(name, format="openai-chat").record([says("b"), human("c")])
        async with asyncio.timeout(20):
            with pytest.raises(StoreUnavailable, match="4 messages of 2 sessions"):
                await client.close()
        await client.close()
        assert [(one.session, list(one.messages)) for one in client.undelivered()] == [
            ("one", [says("b"), human("c")]),
            ("two", [says("b"), human("c")]),
        ]

        async def fails() -> None:
            async with CompactionClient.from_url(line.url, timeout=SECONDS) as other:
                await other.session("three", format="openai-chat").record(human("a"))
                raise ValueError("the host's own")

        with pytest.raises(ValueError, match="the host's own") as error:
            await fails()
        assert "1 message of 1 session that" in error.value.__notes__[0]


async def test_a_full_store_is_an_outage_too(place: Place) -> None:
    session = place.session()
    await session.record([human("a"), says("b")])
    limit = (await place.redis.config_get("maxmemory"))["maxmemory"]
    await place.redis.config_set("maxmemory", "1mb")
    try:
        recorded = await session.record(human("c"))
        view = await session.view()
        async with CompactionClient.from_url(place.line.url, timeout=TIMEOUT, on_outage="raise") as strict:
            with pytest.raises(StoreFull):
                await strict.session("chat", format="openai-chat").record(human("z"))
    finally:
        await place.redis.config_set("maxmemory", limit)
    await session.view()

    assert not recorded.durable
    assert list(view.messages) == await place.stored() == [human("a"), says("b"), human("c")]


async def test_a_call_that_is_cancelled_leaves_its_messages_to_the_host(place: Place) -> None:
    session = place.session()
    await session.record(human("a"))
    place.line.silent = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SECONDS / 3):
            await session.record(says("b"))
    place.line.silent = False
    assert session.undelivered() == []
    await session.record(says("b"))  # the host's own retry: it was done, only nobody was told
    assert await place.stored() == [human("a"), says("b")]


def test_another_word_for_an_outage_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="use 'degrade' or 'raise'"):
        CompactionClient.from_url("redis://localhost", on_outage="ignore")  # type: ignore[arg-type]
