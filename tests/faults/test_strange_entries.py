"""What others put into the queue, the due set and a session: workers live, and nobody else's session waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_config.keys import QUEUE, SessionKey
from offturn_engine.outcome import Compacted, Skipped
from tests.faults.processes import DUE, PATIENCE, TIMEOUT, compacted, fill, handle, settled, until, workers

JOB: dict[str, Any] = {"t": None, "f": "compact_session", "a": ["default", "other", 1], "k": {}, "et": 1}
PAYLOADS: dict[str, bytes] = {
    "no JSON": b"\xff\x00",
    "another serializer's": b"\x80\x04N.",
    "no job": b"{}",
    "a list": b"[]",
    "unknown function": json.dumps({**JOB, "f": "other"}).encode(),
    "arguments missing": json.dumps({**JOB, "a": ["default"]}).encode(),
    "too many arguments": json.dumps({**JOB, "a": [1, 2, 3, 4, 5]}).encode(),
    "arguments no list": json.dumps({**JOB, "a": 5}).encode(),
    "unknown keyword": json.dumps({**JOB, "k": {"x": 1}}).encode(),
    "impossible tenant": json.dumps({**JOB, "a": ["NO SUCH", "s", 1]}).encode(),
    "tenant no text": json.dumps({**JOB, "a": [1, "s", 1]}).encode(),
    "session no text": json.dumps({**JOB, "a": ["default", 1, 1]}).encode(),
    "unknown session": json.dumps(JOB).encode(),
}


async def put(redis: Redis, name: bytes, payload: bytes, score: float = 1) -> None:
    await redis.set(b"arq:job:" + name, payload)
    await redis.zadd(QUEUE, {name: score})


async def due_members(redis: Redis) -> list[bytes]:
    members: list[bytes] = await redis.zrange(DUE, 0, -1)
    return members


async def test_strange_jobs_are_dropped_and_real_ones_run(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with (
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        worker = await crew.start()
        for number, payload in enumerate(PAYLOADS.values()):
            await put(redis, b"strange%d" % number, payload)
        await redis.zadd(QUEUE, {"without payload": 1})
        session = handle(client, "s")
        await fill(session)
        assert isinstance(await compacted(session), Compacted)
        while await redis.zcard(QUEUE):
            assert worker.alive
        assert await redis.keys("arq:*") == []


async def test_a_request_rung_a_hundred_times_is_served_once(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """Under its own number and under old and future ones, with two workers."""
    async with (
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        for _ in range(2):
            await crew.start()
        session = handle(client, "s")
        await fill(session)
        ticket = await session.request()
        for number in range(100):
            job = json.dumps({**JOB, "a": ["default", "s", number]}).encode()
            await put(redis, f"offturn:default:s:{number}".encode(), job)
        assert isinstance(await ticket.wait(PATIENCE), Compacted)
        while await redis.zcard(QUEUE):
            pass
        assert [event.kind for event in await session.events()].count("committed") == 1
        assert [g.number for g in await session.generations()] == [1]


async def test_a_session_of_a_later_release_waits_for_it(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    """An unknown major is left as it is and stays due; fields this release does not know are ignored and kept."""
    async with (
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        later, wider = handle(client, "later"), handle(client, "wider")
        for session in (later, wider):
            await fill(session)
            await session.request()
        key = SessionKey("default", "later").key("meta")
        await redis.hset(key, "v", "3")  # type: ignore[misc]
        await redis.hset(SessionKey("default", "wider").key("meta"), "field_of_tomorrow", "x")  # type: ignore[misc]
        before = await redis.hgetall(key)  # type: ignore[misc]
        worker = await crew.start()
        await until(lambda: any(line["event"] == "session_unreadable" for line in worker.lines))
        await settled(wider)
        assert await redis.hget(SessionKey("default", "wider").key("meta"), "field_of_tomorrow") == b"x"  # type: ignore[misc]
        assert await redis.hgetall(key) == before  # type: ignore[misc]
        assert await due_members(redis) == [b"default:later"]
        assert worker.alive


POISON: dict[str, tuple[bytes, bytes, float]] = {
    "function no text": (b"x", json.dumps({**JOB, "f": ["x"]}).encode(), 1),
    "no try": (b"x", json.dumps({**JOB, "t": "x"}).encode(), 1),
    "no time": (b"x", json.dumps({**JOB, "et": None}).encode(), 1),
    "time without end": (b"x", json.dumps({**JOB, "et": 10**30}).encode(), 1),
    "time long ago": (b"x", json.dumps({**JOB, "et": -(10**18)}).encode(), 1),
    "due at zero": (b"x", json.dumps(JOB).encode(), 0),
    "time no number": (b"x", json.dumps({**JOB, "et": "soon"}).encode(), 1),
    "id no text": (b"\xff\xfe", json.dumps(JOB).encode(), 1),
    "due since for ever": (b"x", json.dumps(JOB).encode(), float("-inf")),
}


@pytest.mark.parametrize("entry", POISON.values(), ids=POISON)
async def test_no_entry_of_the_queue_ends_a_worker(
    valkey_url: str, redis: Redis, tmp_path: Path, entry: tuple[bytes, bytes, float]
) -> None:
    async with workers(valkey_url, tmp_path) as crew:
        worker = await crew.start()
        await put(redis, *entry)
        while worker.alive and await redis.zcard(QUEUE):
            pass
        assert worker.alive


@pytest.mark.parametrize("what", ["session", "number", "request", "bytes", "name", "ever"])
async def test_no_unreadable_session_ends_a_worker(valkey_url: str, redis: Redis, tmp_path: Path, what: str) -> None:
    """The sweep goes past it and rings for the others."""
    async with (
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        for name in ("broken", "sound"):
            await fill(handle(client, name))
            await handle(client, name).request()
        meta = SessionKey("default", "broken").key("meta")
        match what:
            case "session":
                await redis.hdel(meta, "epoch", "revision")  # type: ignore[misc]
            case "number":
                await redis.hset(meta, "counter", "abc")  # type: ignore[misc]
            case "request":
                await redis.hset(meta, "request_no", str(10**30))  # type: ignore[misc]
            case "ever":
                await redis.zadd(DUE, {"default:broken": float("-inf")})
            case _:
                await redis.zadd(DUE, {b"\xff\xfe" if what == "bytes" else b"UPPER:x": 1})
        await redis.delete(QUEUE)  # only the sweep rings for what is due
        worker = await crew.start()
        await until(lambda: not worker.alive or '"session":"sound"' in worker.said)
        assert worker.alive
        assert isinstance(await compacted(handle(client, "sound")), Compacted | Skipped)


async def test_a_payload_of_another_type_is_dropped(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with workers(valkey_url, tmp_path) as crew:
        worker = await crew.start()
        await redis.lpush("arq:job:x", "y")  # type: ignore[misc]
        await redis.zadd(QUEUE, {"x": 1})
        while worker.alive and await redis.zcard(QUEUE):
            pass
        assert worker.alive
        assert await redis.keys("arq:*") == []
