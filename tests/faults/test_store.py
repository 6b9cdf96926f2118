"""What the store does when the server, or a record, is not what it should be."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.store.entries import NewEntry
from offturn.store.errors import StoreFault, StoreFull, StoreUnavailable, UnknownVersion
from offturn.store.replies import Claim, Purged, Recorded, RecordReply, UndoReply
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_config.keys import SessionKey

KEY = SessionKey("default", "s")


async def record(store: SessionStore, op: str, size: int = 10) -> RecordReply:
    entries = [NewEntry.of({"content": "s3cret" * size}, origin="human", tokens=1, host_id=op)]
    return await store.record(
        KEY, op=op, incarnation=1, tail_length=0, tail_chain="", entries=entries, thresholds=(1, 9, 1)
    )


async def dumped(redis: Redis) -> dict[bytes, Any]:
    return {name: await redis.dump(name) for name in sorted(await redis.keys())}


async def test_a_server_that_forgot_the_scripts(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")

    await redis.script_flush()

    assert isinstance(await record(store, "two"), Recorded)


async def test_a_session_of_an_unknown_version_is_left_due(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")
    await redis.execute_command("HSET", KEY.key("meta"), "v", "3")  # type: ignore[no-untyped-call]
    before = await dumped(redis)

    for call in (
        store.claim(KEY, token="t", lease_ms=1),
        record(store, "one"),
        store.request(KEY, op="r", incarnation=1, reason="manual"),
        store.rollback(KEY, op="r", incarnation=1, target=0),
        store.adopt(KEY, incarnation=1, length=1, nonce="n"),
        store.sync(KEY, incarnation=1, length=0, chain=""),
        store.meta(KEY),
    ):
        with pytest.raises(UnknownVersion, match="version 3"):
            await call

    assert await dumped(redis) == before
    assert [key for key, _ in await store.due()] == [KEY]


async def test_unknown_fields_of_a_known_version_are_kept(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")
    await redis.execute_command("HSET", KEY.key("meta"), "from_the_future", "x")  # type: ignore[no-untyped-call]

    assert isinstance(await record(store, "two"), Recorded)
    assert await store.meta(KEY)
    assert await redis.execute_command("HGET", KEY.key("meta"), "from_the_future") == b"x"  # type: ignore[no-untyped-call]


async def test_an_entry_of_an_unknown_version(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")
    await redis.execute_command("RPUSH", KEY.key("log"), "0" * 40 + ' 1 {"v":3}')  # type: ignore[no-untyped-call]

    with pytest.raises(UnknownVersion, match="log entry 1 has version 3"):
        await store.log(KEY, start=0, stop=9)


async def test_a_full_server_refuses_a_write_as_a_whole(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")
    claim = await store.claim(KEY, token="t", lease_ms=60_000)
    assert isinstance(claim, Claim)
    await redis.execute_command("HSET", keys.dead(), KEY.member, "{}")  # type: ignore[no-untyped-call]
    await redis.execute_command("HSET", KEY.key("meta"), "parked", "1")  # type: ignore[no-untyped-call]
    before = await dumped(redis)
    limit = (await redis.config_get("maxmemory"))["maxmemory"]
    await redis.config_set("maxmemory", "1mb")
    try:
        for call in (
            record(store, "two"),
            store.request(KEY, op="r", incarnation=1, reason="manual"),
            store.claim(KEY, token="u", lease_ms=1),
            store.rollback(KEY, op="b", incarnation=1, target=0),
            store.renew(KEY, claim=claim, lease_ms=1),
            store.save_chunk(KEY, incarnation=1, redactions=0, chunk_key="c", value="v"),
            undo(store),
            store.configure(KEY, op="f", incarnation=1, epoch="one", config="{}", thresholds=(1, 2, 1)),
            store.cancel(KEY, op="n", incarnation=1),
            store.unblock(KEY, op="u", incarnation=1),
        ):
            with pytest.raises(StoreFull, match="maxmemory"):
                await call
        assert (await store.sync(KEY, incarnation=1, length=0, chain="")).entries
    finally:
        await redis.config_set("maxmemory", limit)

    assert await dumped(redis) == before
    assert isinstance(await record(store, "two"), Recorded)


async def test_a_full_server_lets_a_session_be_purged(redis: Redis) -> None:
    store = SessionStore(redis)
    await record(store, "one")
    limit = (await redis.config_get("maxmemory"))["maxmemory"]
    await redis.config_set("maxmemory", "1mb")
    try:
        assert isinstance(await store.purge(KEY, incarnation=1), Purged)
        assert (await store.sync(KEY, incarnation=1, length=0, chain="")).next_incarnation == 2
    finally:
        await redis.config_set("maxmemory", limit)


async def undo(store: SessionStore) -> UndoReply:
    meta = await store.meta(KEY)
    assert meta is not None
    return await store.undo(
        KEY,
        op="m",
        incarnation=1,
        epoch=meta.epoch,
        length=meta.log_len,
        chain=meta.chain,
        counter=meta.counter,
        path=(),
        path_tokens=0,
        open_calls={},
    )


async def test_nobody_answers(unused_tcp_port: int) -> None:
    client = Redis.from_url(f"redis://127.0.0.1:{unused_tcp_port}/0")
    store = SessionStore(client)

    for call in (record(store, "one"), store.due(), store.sessions("default"), store.generation(KEY, 1)):
        with pytest.raises(StoreUnavailable) as error:
            await call
        assert error.value.retryable
        assert error.value.__suppress_context__
    await client.aclose()


async def test_a_refusal_names_no_content(redis: Redis) -> None:
    store = SessionStore(redis)
    await redis.set(KEY.key("meta"), "s3cret")

    with pytest.raises(StoreFault) as error:
        await record(store, "s3cret")

    assert "s3cret" not in str(error.value)
    assert not error.value.retryable
