"""What the connections do in another way than redis-py's ends the same: bytes, dead connections, turns."""

from __future__ import annotations

import asyncio
import os
import select
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from redis.asyncio import Connection, Redis
from redis.exceptions import DataError

from offturn import StoreUnavailable
from offturn.connect import open_redis
from offturn.connections import LARGE, Quick, QuickConnection, _is_silent
from offturn.deadline import Turns, holding
from tests.conftest import TIMEOUT
from tests.integration.shell import until

ARGUMENTS = st.one_of(
    st.text(),
    st.binary(),
    st.integers(),
    st.floats(),
    st.binary().map(lambda data: memoryview(data)),
    st.sampled_from([b"x" * (LARGE + 1), memoryview(b"y" * (LARGE + 7)), "é" * LARGE, bytearray(b"z")]),
)


def scripted(keys: list[Any], count: Any, rest: list[Any]) -> list[Any]:
    """What a script is run with; `count` may be wrong."""
    return ["0" * 40, len(keys) if count is None else count, *keys, *rest]


SCRIPTED = st.builds(scripted, st.lists(st.text() | ARGUMENTS, max_size=4), st.none() | ARGUMENTS, st.lists(ARGUMENTS))


@given(
    st.sampled_from(["EVALSHA", "CONFIG GET", "SCRIPT LOAD", b"GET"]),
    st.lists(ARGUMENTS) | SCRIPTED,
    st.sampled_from([{}, {"encoding": "latin-1"}, {"encoding_errors": "replace"}]),
)
@example("EVALSHA", scripted(["é"], None, ["é"]), {"encoding": "latin-1"})
@example("GET", ["\ud800"], {"encoding_errors": "replace"})
def test_a_command_is_packed_as_redis_py_packs_it(
    name: str | bytes, arguments: list[Any], told: dict[str, Any]
) -> None:
    def packed(connection: Connection) -> bytes | type[Exception]:
        try:
            return b"".join(connection.pack_command(name, *arguments))
        except (DataError, UnicodeEncodeError) as error:
            return type(error)

    expected = packed(Connection(**told))
    connection = QuickConnection(**told)

    assert (packed(connection), packed(connection)) == (expected, expected)  # also the second time, of what was kept


async def test_a_connection_that_the_server_has_closed_is_not_used_again(redis: Redis, valkey_url: str) -> None:
    client = await open_redis(valkey_url, timeout=TIMEOUT)
    number = await client.client_id()
    pool: Any = client.connection_pool
    (connection,) = pool._available_connections
    assert _is_silent(connection._reader, connection._writer)

    await redis.client_kill_filter(_id=str(number))

    await until(lambda: not _is_silent(connection._reader, connection._writer))  # else it is found out by an error
    assert await client.client_id() != number
    await client.aclose()


@pytest.mark.parametrize("where", ["socket", "event loop", "parser"])
async def test_a_connection_in_which_something_was_left_is_not_used_again(valkey_url: str, where: str) -> None:
    client = await open_redis(valkey_url, timeout=TIMEOUT)
    number = await client.client_id()
    pool: Any = client.connection_pool
    (connection,) = pool._available_connections
    replies = ["read", "left"] if where == "parser" else ["left"]
    socket: int = connection._writer.get_extra_info("socket").fileno()
    for one in replies:
        os.write(socket, b"".join(connection.pack_command("ECHO", one)))
    if where == "socket":  # this thread waits, so the event loop cannot read it
        assert select.select([socket], [], [], TIMEOUT)[0]
    else:
        await until(lambda: connection._reader._buffer.endswith(b"left\r\n"))
    if where == "parser":
        assert await connection.read_response() == b"read"

    again = await client.client_id()

    assert isinstance(again, int)  # no other command's reply
    assert again != number
    await client.aclose()


async def test_a_connection_whose_insides_have_other_names_is_looked_at_by_redis_py() -> None:
    """There is no upper bound for redis-py."""

    class Later(Connection):
        async def can_read_destructive(self) -> bool:
            return True

    class Quicker(Quick, Later):
        pass

    connection: Any = Quicker()
    for name in ("_reader", "_writer", "_parser"):
        delattr(connection, name)
    assert await connection.can_read_destructive()


async def test_turns_come_in_the_order_of_asking() -> None:
    lock, order = Turns(), list[int]()

    async def one(number: int) -> None:
        async with holding(lock, 5):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(5)))

    assert (order, lock.asking, lock.locked()) == ([0, 1, 2, 3, 4], 0, False)


async def test_who_waits_for_a_turn_waits_for_a_time_only() -> None:
    lock = Turns()

    async with holding(lock, 5):
        with pytest.raises(StoreUnavailable, match=r"0\.01 s: earlier calls wait for it"):
            async with holding(lock, 0.01):
                pass
        waits = asyncio.create_task(lock_for(lock))
        await asyncio.sleep(0)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        assert lock.asking == 1
    async with holding(lock, 0):
        assert lock.locked()
    assert (lock.asking, lock.locked()) == (0, False)


async def lock_for(lock: Turns) -> None:
    async with holding(lock, 5):
        pass
