"""Workers killed while they archive and restore: there is the session or its stub, never less, and somebody goes on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper, Kept
from tests.faults.processes import TIMEOUT, workers
from tests.integration.archived import keeper_at, walk_of
from tests.integration.host import human, turns
from tests.skew.keyspace import dump

SCRIPT = Path(__file__).with_name("archive_process.py")
KEY = SessionKey("default", "killed")
SHARED = {
    "archived",
    "packing",
    "trash",
    "walk",
    "due",
    "dead",
    "seen",
    "workers",
    "probe",
    "tenants",
    "usage",
    "sizes",
}
WHILE_ARCHIVING = (
    ("register", "after", 1),
    ("objects.writer", "after", 1),
    ("size", "before", 1),
    ("size", "after", 6),
    ("objects.size", "before", 1),
    ("evict", "before", 1),
    ("evict", "after", 1),
)
WHILE_RESTORING = (
    ("stub", "after", 1),
    ("fill", "before", 1),
    ("fill", "after", 1),
    ("fill", "after", 5),
    ("activate", "before", 1),
    ("activate", "after", 1),
)


@pytest.fixture
def keeper(redis: Redis, tmp_path: Path) -> Keeper:
    return keeper_at(redis, tmp_path)


async def filled(client: CompactionClient) -> None:
    session = client.session(KEY.session, format="openai-chat", window=24_000)
    await session.record(turns("openai-chat", 40), ids=[f"row {i}" for i in range(160)])
    await session.request()
    await client.run_due(summarizer=FakeSummarizer())
    await session.view()


def objects(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def die(url: str, folder: Path, operation: str, *where: object) -> None:
    arguments = (url, folder.as_uri(), operation, KEY.session, *map(str, where))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, str(SCRIPT), *arguments, env=environment)
    assert await process.wait() == -signal.SIGKILL


async def own(redis: Redis) -> dict[str, Any]:
    """The session's keys, without when it was written last; what a restore left beside it expires soon."""
    found = {name: key for name, key in (await dump(redis)).items() if name.rsplit(":", 1)[1] not in SHARED}
    for name in [name for name in found if ":back-" in name]:
        assert 0 < found.pop(name)["ms"] <= 120_000
    for name, key in found.items():
        if name.endswith(":meta"):
            key["value"] = [pair for pair in key["value"] if pair[0] != "updated"]
    return found


async def assert_swept(redis: Redis, keeper: Keeper, folder: Path) -> None:
    """Nothing is left in the archive of a session that is not in it."""
    commands: Any = redis
    waiting = await commands.zrange("offturn:{s00}:trash", 0, -1)
    if waiting:
        await commands.zadd("offturn:{s00}:trash", dict.fromkeys(waiting, 1))
    await walk_of(keeper).once()
    assert objects(folder) == []


@pytest.mark.parametrize("where", WHILE_ARCHIVING, ids=str)
async def test_killed_while_archiving(
    redis: Redis, client: CompactionClient, valkey_url: str, keeper: Keeper, tmp_path: Path, where: tuple[object, ...]
) -> None:
    await filled(client)
    before = await own(redis)

    await die(valkey_url, tmp_path, "archive", *where)

    if await keeper.store.stub(KEY):
        assert where == ("evict", "after", 1)
    else:
        assert await own(redis) == before
        assert isinstance(await keeper.archive(KEY), Kept)
    assert await keeper.restore(KEY)
    assert await own(redis) == before
    await assert_swept(redis, keeper, tmp_path)


@pytest.mark.parametrize("where", WHILE_RESTORING, ids=str)
async def test_killed_while_restoring(
    redis: Redis, client: CompactionClient, valkey_url: str, keeper: Keeper, tmp_path: Path, where: tuple[object, ...]
) -> None:
    await filled(client)
    before = await own(redis)
    await keeper.archive(KEY)

    await die(valkey_url, tmp_path, "restore", *where)

    if await keeper.store.stub(KEY):
        assert where != ("activate", "after", 1)
        assert list(await own(redis)) == [KEY.key("meta")]
        assert await keeper.restore(KEY)
    assert await own(redis) == before
    await assert_swept(redis, keeper, tmp_path)


async def test_hosts_go_on_while_workers_that_archive_are_killed(
    redis: Redis, valkey_url: str, tmp_path: Path, keeper: Keeper
) -> None:
    """Sessions go as soon as they rest, and come back whenever a host calls."""
    settings = {"ARCHIVE_URL": (tmp_path / "cold").as_uri(), "ARCHIVE_AFTER": "0.05"}
    rng, said = random.Random(1), dict[str, list[str]]()
    async with (
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        pair = [await crew.start(**settings) for _ in range(2)]

        async def host(name: str) -> None:
            words = said.setdefault(name, [])
            for number in range(8):
                words.append(f"{name} says {number}.")
                session = client.session(name, format="openai-chat", window=24_000)
                await session.record([human(words[-1])], ids=[str(number)])
                await session.view()
                await asyncio.sleep(rng.uniform(0.1, 1.0))

        async def kill() -> None:
            for _ in range(4):
                await asyncio.sleep(rng.uniform(0.4, 1.2))
                victim = rng.randrange(2)
                pair[victim].kill()
                pair[victim] = await crew.start(**settings)

        await asyncio.gather(*(host(f"h{number}") for number in range(4)), kill())
        assert all(any(f'"event":"{what}"' in one.said for one in crew.every) for what in ("archived", "restored"))
        for name, words in said.items():
            session = client.session(name, format="openai-chat", window=24_000)
            lines = [line async for line in session.export() if line["kind"] == "message"]
            assert [line["message"]["content"] for line in lines] == words
