"""The proxy of the fault kit: it reads commands in any pieces, and loses a reply only after the script was executed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.conftest import TIMEOUT
from tests.faults.kit.proxy import Proxy
from tests.faults.kit.resp import Commands
from tests.faults.kit.tally import Tally
from tests.faults.processes import ticks

SCRIPT = "return redis.call('INCR', KEYS[1])"
HASH = sha1(SCRIPT.encode()).hexdigest()
SAID = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$200\r\n" + b"\r\n" * 100 + b"\r\n*1\r\n$4\r\nPING\r\n"


@pytest.mark.parametrize("size", [1, 2, 7, 50, 1_000])
def test_commands_are_read_in_any_pieces(size: int) -> None:
    commands = Commands()
    found = [one for at in range(0, len(SAID), size) for one in commands.feed(SAID[at : at + size])]
    assert found == [[b"SET", b"k", b""], [b"PING"]]


@pytest.fixture
async def proxy(valkey_url: str, redis: Redis, tmp_path: Path) -> AsyncIterator[Proxy]:
    port = urlsplit(valkey_url).port
    assert port is not None
    opened = await Proxy("host", lambda: port, {HASH.encode(): "count"}, Tally(tmp_path)).start()
    yield opened
    await opened.close()
    opened.tally.close()


@pytest.fixture
async def through(proxy: Proxy) -> AsyncIterator[Redis]:
    """A client without retries."""
    client = Redis.from_url(proxy.url, socket_timeout=TIMEOUT)
    yield client
    await client.aclose()


def hurry(through: Redis) -> None:
    """Its patience is short from now on."""
    pool: Any = through.connection_pool
    pool.connection_kwargs["socket_timeout"] = 0.5
    for connection in pool._available_connections:
        connection.socket_timeout = 0.5


async def count(redis: Redis) -> Any:
    return await redis.execute_command("EVALSHA", HASH, 1, "n")  # type: ignore[no-untyped-call]


async def test_a_lost_reply_is_lost_after_the_execution(proxy: Proxy, through: Redis, redis: Redis) -> None:
    await redis.script_load(SCRIPT)
    proxy.lose_reply("other")
    assert await count(through) == 1
    proxy.lose_reply("count")
    with pytest.raises(RedisConnectionError):
        await count(through)
    assert await redis.get("n") == b"2"
    assert proxy.tally.counts == {"lost reply": 1}
    assert await count(through) == 3


async def test_an_unknown_script_loses_nothing_yet(proxy: Proxy, through: Redis, redis: Redis) -> None:
    await redis.script_flush()
    proxy.lose_reply()
    with pytest.raises(Exception, match="No matching script"):
        await count(through)
    assert proxy.tally.total == 0
    await redis.script_load(SCRIPT)
    with pytest.raises(RedisConnectionError):
        await count(through)
    assert proxy.tally.total == 1


async def test_cut(proxy: Proxy, through: Redis) -> None:
    await through.ping()
    assert proxy.cut() == 1
    with pytest.raises(RedisConnectionError):
        await through.ping()


async def test_half_open_upwards_nothing_is_executed(proxy: Proxy, through: Redis, redis: Redis) -> None:
    await through.ping()
    assert proxy.half_open("up") == 1
    hurry(through)
    with pytest.raises(RedisTimeoutError):
        await through.incr("n")
    assert await redis.get("n") is None


async def test_half_open_downwards_it_is(proxy: Proxy, through: Redis, redis: Redis) -> None:
    await through.ping()
    proxy.half_open("down")
    hurry(through)
    with pytest.raises(RedisTimeoutError):
        await through.incr("n")
    async for _ in ticks():  # it is sent, and may be on its way
        if await redis.get("n"):
            break
    assert await redis.get("n") == b"1"


async def test_a_black_hole_ends(proxy: Proxy, through: Redis) -> None:
    proxy.deaf = True
    with pytest.raises((RedisTimeoutError, RedisConnectionError)):
        await through.ping()
    await proxy.black_hole(0.01)
    assert await through.ping()
