"""A job reads of a log what its process has not read for a job before, and is none the wiser or staler for it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn.store.logs import Known, Logs
from offturn.store.replies import LogEntry
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.ranges import seqs_of
from tests.integration.host import human, says, turns
from tests.integration.packed import pack, small  # noqa: F401 -- a fixture
from tests.integration.shell import until
from tests.skew.keyspace import dump, restore

WINDOW = 16_000


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seqs of the entries that were asked for."""
    items, asked = SessionStore.items, list[int]()

    async def counted(self: SessionStore, key: Any, *, start: int, stop: int, **known: Any) -> Any:
        found: Any = await items(self, key, start=start, stop=stop, **known)
        asked.extend(range(start, start + len(found or ())))
        return found

    monkeypatch.setattr(SessionStore, "items", counted)
    return asked


async def opened(client: CompactionClient) -> Session:
    session = client.session("s", format="openai-chat", window=WINDOW)
    await session.record(turns("openai-chat", 12))
    await session.request()
    await client.run_due()
    await session.view()
    return session


async def path_of(store: SessionStore, key: SessionKey) -> list[LogEntry] | None:
    meta = await store.meta(key)
    assert meta
    return await store.path(key, meta)


async def test_a_second_job_reads_what_is_new(client: CompactionClient, read: list[int]) -> None:
    session = await opened(client)
    length = len(read)
    assert read == list(range(length))
    read.clear()
    await session.record(turns("openai-chat", 4, start=20))
    await session.request()
    await client.run_due()
    assert read == list(range(length, length + 16))
    assert (await session.view()).generation == 2


async def test_it_has_what_one_that_reads_all_has(client: CompactionClient, redis: Redis, small: None) -> None:  # noqa: F811
    session = await opened(client)
    warm = SessionStore(redis)
    dumped: Any = {}

    async def failover() -> None:
        await restore(redis, dumped)

    async def saved() -> None:
        dumped.update(await dump(redis))
        await session.record([says("Lost in a failover.")])

    steps: list[Callable[[], Any]] = [
        lambda: session.record([human("And now?"), says("Done.")]),
        lambda: session.rewind(turns=1),
        lambda: session.amend(0, human("Put otherwise.")),
        lambda: pack(client, session),
        lambda: session.record([human("More.")]),
        lambda: session.redact([-1 + session_length(session)], reason="asked"),
        lambda: session.record([human("More again.")]),
        saved,
        failover,
        lambda: client.session("s", format="openai-chat").record([says("Another in its place.")]),
        session.purge,
        lambda: client.session("s", format="openai-chat", window=WINDOW).record(turns("openai-chat", 13)),
    ]
    for step in steps:
        await step()
        meta = await warm.meta(session.key)
        if meta is None:
            continue
        found = await path_of(warm, session.key)
        assert found == await path_of(SessionStore(redis), session.key)
        assert [entry.seq for entry in found or ()] == list(seqs_of(meta.path))


def session_length(session: Session) -> int:
    assert session._cache
    return len(session._cache.log)


async def test_what_was_redacted_since_is_not_read(client: CompactionClient, redis: Redis) -> None:
    session = await opened(client)
    store = SessionStore(redis)
    before = await store.meta(session.key)
    assert before
    assert await store.path(session.key, before)
    await session.redact([2], reason="asked")
    await session.record([says("Done.")])
    stale = await SessionStore(redis).path(session.key, before)
    assert stale is None
    entries = await path_of(store, session.key)
    assert [entry.seq for entry in entries or () if entry.redacted] == [2]


def known(size: int) -> Known:
    return Known(1, 0, 1, "chain", {0: b"x" * size}, size)


async def test_what_is_kept_is_bounded_and_ends() -> None:
    logs, names = Logs(most=100), [SessionKey("default", name) for name in "abc"]
    for name in names:
        logs.keep(name, known(40))
    assert [logs.get(name) is not None for name in names] == [False, True, True]
    logs.keep(names[1], known(101))
    assert logs.get(names[1]) is None
    short = Logs(most=100, seconds=0.05)
    short.keep(names[0], known(40))
    assert short.get(names[0]) is not None  # nobody else has had a turn since
    await until(lambda: short.get(names[0]) is None)
    assert logs.get(names[2]) is not None


@dataclass(frozen=True)
class Watched(Known):
    """One that can be looked for when nobody holds it."""


async def test_what_has_to_go_is_held_by_nothing_until_its_time_is_over() -> None:
    logs, gone = Logs(most=100), list[weakref.ref[Known]]()
    for session in map(str, range(10)):
        one = Watched(1, 0, 1, "chain", {0: b"x" * 40}, 40)
        gone.append(weakref.ref(one))
        logs.keep(SessionKey("default", session), one)
        del one
    gc.collect()
    assert [ref() is not None for ref in gone] == [False] * 8 + [True] * 2
