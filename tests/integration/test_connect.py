"""Connections: what each kind of URL opens, and what a connection withstands."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis, SSLConnection
from redis.exceptions import ConnectionError, TimeoutError  # noqa: A004

from offturn import CompactionClient, StoreUnavailable, embedded
from offturn.connect import open_redis
from offturn.embedded import open_server
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from tests.conftest import TIMEOUT


def connection_of(client: Redis) -> Any:
    make: Callable[[], Any] = client.connection_pool.make_connection
    return make()


async def test_a_tls_server_must_have_the_name_it_is_called_by() -> None:
    client = await open_redis("rediss://user:p%40ss@host:1/2", timeout=1)
    connection = connection_of(client)
    assert isinstance(connection, SSLConnection)
    context = connection.ssl_context.get()
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (connection.username, connection.password, connection.db) == ("user", "p@ss", 2)


async def test_a_connection_has_limits_and_shows_no_password() -> None:
    client = await open_redis("redis://:hunter2@host/0", timeout=1.5)
    connection = connection_of(client)
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (1.5, 1.5)
    assert connection.socket_keepalive
    assert connection.health_check_interval == 0  # else the last test of this file ends in a RecursionError
    assert OSError in connection.retry_on_error
    assert "hunter2" not in repr(client) + repr(connection)


async def test_nothing_is_contacted_before_the_first_command() -> None:
    client = await open_redis("redis://127.0.0.1:1/0", timeout=0.2)
    with pytest.raises(ConnectionError):
        await client.ping()
    await client.aclose()


async def test_a_bad_url_names_its_setting() -> None:
    with pytest.raises(InvalidSetting, match="OFFTURN_QUEUE_URL"):
        await open_redis("http://x", timeout=1, setting="OFFTURN_QUEUE_URL")


async def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(embedded._CONFIG, "unixsocket", "valkey.sock")
    server = open_server(tmp_path)
    client = await open_redis(f"unix://{tmp_path}/valkey.sock?db=3", timeout=TIMEOUT)
    await client.set("a", 1)
    await client.aclose()
    other = Redis(port=server.port, db=3)
    assert await other.get("a") == b"1"
    await other.aclose()
    server.close()


async def test_a_client_outlives_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = open_server(tmp_path)
    client = await open_redis(f"redis://127.0.0.1:{server.port}/0", timeout=TIMEOUT)
    await client.set("a", 1)
    server.close()
    restarted: list[embedded.EmbeddedServer] = []

    async def restart(seconds: float) -> None:
        """In the pause before the second try, which lasts as long as it takes."""
        if not restarted:
            restarted.append(await asyncio.to_thread(open_server, tmp_path))

    monkeypatch.setattr("redis.asyncio.retry.sleep", restart)
    assert await client.get("a") == b"1"  # sent while nothing listens
    await client.aclose()
    restarted[0].close()


async def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    server = open_server(tmp_path)
    client = await open_redis(f"redis://127.0.0.1:{server.port}/0", timeout=0.1)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises((TimeoutError, ConnectionError)):
            await client.ping()
    finally:
        os.kill(server.pid, signal.SIGCONT)
        await client.aclose()
        server.close()


async def test_a_ring_at_a_silent_server_is_given_up_whoever_rings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = open_server(tmp_path)
    async with CompactionClient.from_url(f"redis://127.0.0.1:{server.port}/0", timeout=TIMEOUT) as client:
        links = await client._connector.links()
        assert await links.doorbell.ring(SessionKey("default", "s"), 1)
        monkeypatch.setattr(links.redis, "_timeout", 0.3)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(120):
                with pytest.raises(StoreUnavailable):
                    await links.doorbell.ring(SessionKey("default", "s"), 2)
        finally:
            os.kill(server.pid, signal.SIGCONT)
    server.close()
