"""A handle that knows nothing reads of a long session what its view shows; the rest when something needs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, StoreUnavailable
from offturn.cache import Cache
from offturn.store.records import HalfRead
from offturn.store.sessions import SessionStore
from offturn_engine.ranges import length
from tests.conftest import TIMEOUT
from tests.faults.forwarder import proxy
from tests.integration.host import FORMATS, assert_sendable, calls, human, long_text, result, says, turns
from tests.integration.shell import until_found_again
from tests.skew.keyspace import dump, restore

WINDOW = 16_000


def opened(client: CompactionClient, fmt: str = "openai-chat") -> Session:
    return client.session("s", format=fmt, window=WINDOW)


async def compacted(client: CompactionClient, fmt: str = "openai-chat", **options: Any) -> Session:
    session = client.session("s", format=fmt, window=WINDOW, **options)
    await session.record(turns(fmt, 12))
    await session.request()
    await client.run_due()
    await session.view()
    await session.record([human("And now?"), calls(fmt, "pending")])
    return session


def cache_of(session: Session) -> Cache:
    assert session._cache
    return session._cache


async def read_whole(client: CompactionClient, fmt: str) -> Session:
    session = opened(client, fmt)
    await session.explain(0)
    assert not cache_of(session).absent
    return session


@pytest.mark.parametrize("fmt", FORMATS)
async def test_what_is_covered_is_not_read_for_a_view(client: CompactionClient, fmt: str) -> None:
    await compacted(client, fmt)
    lazy = opened(client, fmt)
    first = await lazy.view()
    covered = cache_of(lazy).live.generations[1].covered
    assert length(cache_of(lazy).absent) > length(covered) // 2
    assert first == await (await read_whole(client, fmt)).view()


async def test_of_the_record_a_view_reads_its_part_and_the_rest_once_it_is_wanted(client: CompactionClient) -> None:
    await compacted(client)
    lazy = opened(client)
    await lazy.view()
    cache = cache_of(lazy)
    half = await cache.generation(1)
    assert isinstance(half, HalfRead)
    assert half is await cache.generation(1)

    [told] = (await cache.records()).values()

    assert [item.seq for item in told.human] == [seq for seq in range(0, 48, 4) if seq < told.covered[-1][1]]
    assert told is await cache.generation(1) is cache.whole(told)
    assert (await lazy.view()).messages == (await opened(client).view()).messages
    cache.generations.clear()  # as a redaction does
    assert cache.whole(half) == told
    assert not cache.generations


@pytest.mark.parametrize("fmt", FORMATS)
async def test_it_goes_on_as_a_handle_that_has_read_all(client: CompactionClient, fmt: str) -> None:
    other = await compacted(client, fmt)
    lazy = opened(client, fmt)
    await lazy.view()
    steps: list[Callable[[], Any]] = [
        lambda: lazy.record([says("Done.")]),
        lambda: other.record(turns(fmt, 3, start=20)),
        lambda: other.pin(6),
        lambda: other.rollback(generation=0, force=True),
        lambda: other.request(),
        client.run_due,
        lambda: other.rewind(turns=1),
        lambda: other.redact([1], reason="asked"),
        lambda: other.redact([-1 + len(cache_of(other).log)], reason="asked"),
        lambda: lazy.rewind(turns=1),
        lambda: other.amend(0, human("Put otherwise.")),
        lambda: other.configure(overrides={"trigger.soft": 0.55}),
    ]
    for step in steps:
        await step()
        mine, fresh = await lazy.view(window=WINDOW * 4), await opened(client, fmt).view(window=WINDOW * 4)
        whole = await (await read_whole(client, fmt)).view(window=WINDOW * 4)
        assert fresh == whole
        assert (mine.messages, mine.tokens, mine.id, mine.tail_from) == (
            whole.messages,
            whole.tokens,
            whole.id,
            whole.tail_from,
        )
    assert lazy.key == other.key


async def test_a_first_record_reads_one_message(client: CompactionClient) -> None:
    await compacted(client)
    session = opened(client)
    await session.record([human("Hello again.")])
    cache = cache_of(session)
    assert cache.absent == ((0, len(cache.log) - 2),)
    assert (await session.view()).messages == (await opened(client).view()).messages


async def test_what_was_not_read_is_there_when_it_is_asked_for(client: CompactionClient) -> None:
    await compacted(client)
    session = opened(client)
    await session.view()
    assert cache_of(session).absent
    assert await session.recall("m1") == await (await read_whole(client, "openai-chat")).recall("m1")
    assert not cache_of(session).absent


async def test_a_redaction_reaches_what_was_not_read(client: CompactionClient) -> None:
    other = await compacted(client)
    session = opened(client)
    await session.view()
    await other.redact([4], reason="asked")
    (fate, *_) = await session.explain(4)
    assert fate.fate == "redacted"


async def test_a_redaction_between_the_state_and_its_messages(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await compacted(client)
    page, pages = SessionStore.page, list[int]()

    async def overtaken(self: SessionStore, key: Any, **known: Any) -> Any:
        pages.append(known["start"])
        if len(pages) == 2:
            monkeypatch.setattr(SessionStore, "page", page)
            await other.redact([len(cache_of(other).log) - 2], reason="asked")
        return await page(self, key, **known)

    monkeypatch.setattr(SessionStore, "page", overtaken)
    view = await opened(client).view()
    assert len(pages) == 2
    assert view == await (await read_whole(client, "openai-chat")).view()
    assert "And now?" not in str(view.messages)


async def test_a_purge_between_the_state_and_its_messages(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await compacted(client)
    page = SessionStore.page

    async def overtaken(self: SessionStore, key: Any, **known: Any) -> Any:
        monkeypatch.setattr(SessionStore, "page", page)
        await other.purge()
        return await page(self, key, **known)

    monkeypatch.setattr(SessionStore, "page", overtaken)
    assert (await opened(client).view()).messages == []


async def test_an_outage_shows_what_was_read_and_says_what_was_not(redis: Redis, valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as direct:
        await compacted(direct)
    async with proxy(valkey_url) as line, CompactionClient.from_url(line.url, timeout=TIMEOUT) as client:
        session = opened(client)
        before = await session.view()
        line.down = True
        await session.record([result("openai-chat", "pending", "ok")])
        view = await session.view()
        assert view.stale
        assert [*view.messages] == [*before.messages, result("openai-chat", "pending", "ok")]
        with pytest.raises(StoreUnavailable, match="was not read before"):
            await session.view(generation=0)
        line.down = False
        await until_found_again(client)
        after = await session.view()
        assert (after.messages, after.stale) == (view.messages, False)


async def test_an_outage_shows_the_newest_generation_that_was_read(redis: Redis, valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as direct:
        elsewhere = await compacted(direct)
        async with proxy(valkey_url) as line, CompactionClient.from_url(line.url, timeout=TIMEOUT) as client:
            session = opened(client)
            before = await session.view()
            await elsewhere.record([result("openai-chat", "pending", "ok"), *turns("openai-chat", 12, start=20)])
            await elsewhere.request()
            await direct.run_due()
            assert (await elsewhere.view()).generation == 2
            await session.record([human("Said meanwhile.")])
            line.down = True
            view = await session.view()
            assert (view.stale, view.generation) == (True, 1)
            assert [*view.messages[: len(before.messages)]] == [*before.messages]
            assert view.messages[-1] == human("Said meanwhile.")
            assert_sendable(view)
            line.down = False
            await until_found_again(client)
            assert (await session.view()).generation == 2


async def test_what_is_too_large_in_an_outage_gives_way_and_keeps_human_words(redis: Redis, valkey_url: str) -> None:
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as direct:
        await compacted(direct)
    async with proxy(valkey_url) as line, CompactionClient.from_url(line.url, timeout=TIMEOUT) as client:
        session = opened(client)
        await session.view()
        line.down = True
        await session.record([result("openai-chat", "pending", "ok"), says("Done.")])
        for number in range(6):
            await session.record([human(f"Word {number} of mine."), says(long_text(9_000, str(number)))])
        await session.record([human("And at last?")])
        view = await session.view()
        assert view.stale
        assert view.tokens <= view.limit
        text = json.dumps(view.messages)
        assert all(f"Please look into module {number}." in text for number in range(12))
        assert all(f"Word {number} of mine." in text for number in range(6))
        assert "[answered]" not in text
        assert view.messages[-1] == human("And at last?")
        assert_sendable(view)
        line.down = False
        await until_found_again(client)
        assert (await session.view()).messages[-1] == human("And at last?")


async def test_what_this_process_recorded_is_recorded_again_where_the_store_lost_it(
    client: CompactionClient, redis: Any
) -> None:
    await compacted(client)
    dumped = await dump(redis)
    session = opened(client)
    await session.view()
    await session.record([result("openai-chat", "pending", "ok"), says("Done.")])
    assert cache_of(session).absent
    before = await session.view()
    await restore(redis, dumped)
    after = await session.view()
    assert after.messages == before.messages
    assert "recorded again" in str(after.warnings)
