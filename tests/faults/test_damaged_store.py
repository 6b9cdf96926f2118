"""A store in which something else stands than offturn wrote: hosts get an error of ours or an answer, jobs end, a purge helps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, OffturnError, Session, Skipped, StoreFault
from offturn.testing import FakeSummarizer
from offturn_config import keys
from offturn_worker.doctor.sessions import read
from tests.acceptance.command import offturn
from tests.faults.processes import handle, until
from tests.integration.host import human, turns

GARBAGE = b"\xff\xfe{"
STRANGE = b'{"a":[1,null]}'


async def prepared(client: CompactionClient) -> Session:
    """Two generations, paid chunks, replies, events, and a request that waits."""
    session = handle(client, "s")
    await session.record(turns("openai-chat", 24, size=1_500), ids=[f"i{n}" for n in range(96)])
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await session.record(turns("openai-chat", 12, size=1_500, start=24))
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()
    await session.request()
    return session


async def overwrite(redis: Any, name: str, value: bytes) -> None:
    """Every item of a key, whatever its type."""
    match await redis.type(name):
        case b"string":
            await redis.set(name, value)
        case b"list":
            for place in range(await redis.llen(name)):
                await redis.lset(name, place, value)
        case b"hash":
            for field in await redis.hkeys(name):
                await redis.hset(name, field, value)
        case b"zset":
            await redis.zadd(name, {value: 1})
        case b"stream":
            await redis.xadd(name, {value: value})
        case _:
            pytest.fail(f"{name} is not there")


def calls(client: CompactionClient, session: Session) -> dict[str, Callable[[], Awaitable[Any]]]:
    async def exported() -> list[Any]:
        return [line async for line in session.export()]

    return {
        "status": session.status,
        "view": session.view,
        "record": lambda: session.record(human("One more.")),
        "mirror": lambda: session.mirror(turns("openai-chat", 24, size=1_500)),
        "generations": session.generations,
        "generation": lambda: session.view(generation=1),
        "explain": lambda: session.explain("module 3"),
        "recall": lambda: session.recall("m3"),
        "events": session.events,
        "export": exported,
        "request": session.request,
        "job": lambda: client.run_due(summarizer=FakeSummarizer()),
        "amend": lambda: session.amend(0, human("Please look into module 100.")),
        "rewind": session.rewind,
        "fork": lambda: session.fork("other"),
        "rollback": lambda: session.rollback(generation=0, force=True),
        "configure": lambda: session.configure(window=15_000),
        "unblock": session.unblock,
        "cancel": session.cancel,
        "redact": lambda: session.redact([3], reason="asked"),
        "sessions": client.sessions,
        "parked": client.parked,
        "stored": lambda: client.stored_config("s"),
        "health": client.health,
    }


@pytest.mark.parametrize(("opened", "value"), [("before", STRANGE), ("after", GARBAGE), ("after", b"")])
@pytest.mark.parametrize("kind", ["log", "gen:1", "gen:2", "chunks", "chunksq", "ops", "ids", "events"])
async def test_whatever_is_damaged_errors_are_ours(
    redis: Redis, client: CompactionClient, kind: str, opened: str, value: bytes
) -> None:
    session = await prepared(client)
    await overwrite(redis, session.key.key(kind), value)
    await harmless(client, session if opened == "before" else handle(client, "s"))


@pytest.mark.parametrize("value", [GARBAGE, STRANGE], ids=["garbage", "strange"])
@pytest.mark.parametrize(
    "field",
    ["path", "config", "chain", "revision", "open", "g:1", "ends", "calibration", "log_len", "counter", "epoch"],
)
async def test_whatever_is_damaged_of_the_state_errors_are_ours(
    redis: Redis, client: CompactionClient, field: str, value: bytes
) -> None:
    session = await prepared(client)
    await redis.hset(session.key.key("meta"), field, value)  # type: ignore[misc, arg-type]
    await harmless(client, handle(client, "s"))


async def said(call: Callable[[], Awaitable[object]]) -> str:
    """What its error says; any other than ours is raised."""
    try:
        await call()
    except OffturnError as error:
        return str(error)
    return ""


async def harmless(client: CompactionClient, session: Session) -> None:
    """Every call answers or raises an error of ours, without content; after a purge the id can be used again."""
    for call in calls(client, session).values():
        assert "module" not in await said(call)

    await session.purge()
    assert session.key not in await client.sessions()
    await session.record(human("Again."))
    assert [*(await session.view()).messages] == [human("Again.")]


async def test_a_session_without_its_log_can_be_purged(redis: Redis, client: CompactionClient) -> None:
    session = await prepared(client)
    await redis.delete(session.key.key("log"))
    with pytest.raises(StoreFault, match="0 of 144"):
        await handle(client, "s").view()

    await handle(client, "s").purge()

    assert await client.sessions() == []


@pytest.mark.parametrize("damage", ["log", "meta"])
async def test_the_command_purges_what_cannot_be_read(
    redis: Redis, client: CompactionClient, valkey_url: str, damage: str
) -> None:
    session = await prepared(client)
    if damage == "log":
        await redis.delete(session.key.key("log"))
    else:
        await redis.hset(session.key.key("meta"), "config", "{")  # type: ignore[misc]

    done = await asyncio.to_thread(offturn, "session", "purge", "s", "--yes", "--json", "--store", valkey_url)

    assert json.loads(done.stdout) == {"session": "s", "messages": None, "purged": True}
    assert await client.sessions() == []


async def test_a_damaged_chunk_is_paid_again(redis: Redis, client: CompactionClient) -> None:
    session = handle(client, "s")
    await session.record(turns("openai-chat", 24, size=1_500))
    model = FakeSummarizer()
    await client.run_due(summarizer=model)
    await session.rollback(generation=0, force=True)
    paid = len(model.asked)
    await overwrite(redis, session.key.key("chunks"), GARBAGE)

    await session.request()
    (outcome,) = await client.run_due(summarizer=model)

    assert isinstance(outcome, Compacted)
    assert len(model.asked) == 2 * paid


async def test_a_chunk_of_a_later_release_is_not_paid_again(redis: Redis, client: CompactionClient) -> None:
    session = handle(client, "s")
    await session.record(turns("openai-chat", 24, size=1_500))
    model = FakeSummarizer()
    await client.run_due(summarizer=model)
    await session.rollback(generation=0, force=True)
    paid, name = len(model.asked), session.key.key("chunks")
    for field, value in (await redis.hgetall(name)).items():  # type: ignore[misc]
        await redis.hset(name, field, json.dumps({**json.loads(value), "of_tomorrow": 1}))  # type: ignore[misc]

    await session.request()
    (outcome,) = await client.run_due(summarizer=model)

    assert isinstance(outcome, Compacted)
    assert len(model.asked) == paid


async def test_jobs_of_a_damaged_session_end_and_park_it(redis: Redis, client: CompactionClient) -> None:
    session = await prepared(client)
    await overwrite(redis, session.key.key("gen:2"), GARBAGE)

    for _ in range(6):
        await redis.zadd(keys.due(), {session.key.member: 1})
        assert await client.run_due(summarizer=FakeSummarizer()) == [Failed(kind="StoreFault")]
    await redis.zadd(keys.due(), {session.key.member: 1})
    await client.run_due(summarizer=FakeSummarizer())

    (letter,) = await client.parked()
    assert letter.why == "6 jobs in a row ended badly: 6 x StoreFault"
    await redis.hset(keys.dead(), "default:s", GARBAGE)  # type: ignore[misc, arg-type]
    assert await client.parked() == []


async def test_what_all_share_is_damaged(redis: Any, client: CompactionClient) -> None:
    """Entries that no release writes are passed; the others are there."""
    session = await prepared(client)
    for name in (keys.dead(), keys.routes(), keys.workers()):
        await redis.hset(name, mapping={b"\xff": b"{}", "default:s": GARBAGE, "default:t": "[]", "default:u": "{}"})
    await redis.zadd(keys.due(), {b"\xff": 1, "UPPER": 2, "": 3, "default:": float("-inf")})

    assert (await client.health()).reachable
    assert [key.session for key in await client.sessions()] == ["s"]
    found = await read(redis)
    assert (found.routes, found.first) == ([], session.key)
    assert [type(outcome) for outcome in await client.run_due(summarizer=FakeSummarizer())] == [Skipped]


async def test_one_damaged_session_hides_no_other(redis: Any, client: CompactionClient, valkey_url: str) -> None:
    broken = await prepared(client)
    sound = client.session("sound", format="openai-chat", window=14_000, model="openai:sound")
    await sound.record(turns("openai-chat", 24, size=1_500))
    await client.run_due(summarizer=FakeSummarizer())
    await redis.hset(broken.key.key("meta"), "path", GARBAGE)

    listed = await asyncio.to_thread(offturn, "session", "list", "--json", "--store", valkey_url)
    told: list[str] = []

    async def sink(session: Session, _view: object) -> None:
        told.append(session.key.session)

    write_back = await client.on_generation(sink)
    await until(lambda: bool(told))
    await write_back.close()

    assert [row["session"] for row in json.loads(listed.stdout)] == ["sound"]
    assert b"session s: the state of session 's' cannot be read" in listed.stderr
    assert (await read(redis)).models == {"openai:sound"}
    assert told == ["sound"]


async def test_nothing_is_acknowledged_into_a_log_that_is_not_all_there(redis: Any, client: CompactionClient) -> None:
    """A handle that has read the log does not read it again: the store looks."""
    session = await prepared(client)
    await redis.ltrim(session.key.key("log"), 0, 99)
    before = await redis.hgetall(session.key.key("meta"))

    for _ in range(2):
        with pytest.raises(StoreFault, match=r"the log holds 100 of 144 messages.*or purge the session"):
            await session.record(human("One more."))

    assert await redis.hgetall(session.key.key("meta")) == before
    assert await redis.llen(session.key.key("log")) == 100
