"""Opens a connection to Redis or Valkey from a URL, with the time limits and retries every part of offturn needs.

redis-py's defaults wait for ever on a silent server, give up on the first reset, and retry only its own errors: a
reconnect raises the operating system's. Its health check is left off: it pings while it connects and connects to ping,
so that a server that accepts and says nothing ends in a RecursionError; a retried command finds a dead connection too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import ExponentialBackoff
from redis.exceptions import BusyLoadingError, ConnectionError, ReadOnlyError, TimeoutError  # noqa: A004

from offturn.connections import QuickConnection, QuickSentinelConnection, QuickSSLConnection, QuickUnixConnection
from offturn_config.errors import OffturnError
from offturn_config.urls import StoreUrl, parse_url

if TYPE_CHECKING:
    from offturn.embedded import EmbeddedServer

RETRIES = 3
LOST = (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError, OSError)
"""What an outage, a restart or a failover raises: the same command may succeed later."""


async def open_redis(
    url: str,
    *,
    timeout: float,  # noqa: ASYNC109 - socket option
    setting: str = "OFFTURN_STORE_URL",
    bounded: bool = False,
) -> Redis:
    """A client of the server at `url`; `timeout` is seconds for one connect and one reply. Values are bytes.

    bounded: whoever uses it has a deadline over each command, so that replies need none, which costs a fifth of a command.

    `embedded://PATH` starts the server or joins the one that runs there; the last client to close stops it, and a client
    that finds it killed starts it again.
    Other servers are not contacted before the first command. Raises InvalidSetting naming `setting`.
    """
    address = parse_url(url, setting)
    if address.scheme == "sentinel":
        return _SentinelRedis(address, timeout, bounded)
    if address.scheme != "embedded":
        return Redis.from_pool(_pool(address, timeout, bounded))
    # Not every system that can run a host can run the embedded server.
    from offturn.embedded import open_server

    server = await asyncio.to_thread(open_server, Path(address.path))
    local = StoreUrl(scheme="redis", host="127.0.0.1", port=server.port)
    options = _options(local, timeout, bounded) | {"host": local.host, "port": local.port, "socket_keepalive": True}
    return _EmbeddedRedis(server, ConnectionPool(connection_class=_EmbeddedConnection, server=server, **options))


class _EmbeddedConnection(QuickConnection):
    """One that has the server started again where nobody listens any more."""

    def __init__(self, *, server: EmbeddedServer, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def _connect(self) -> None:
        self.port = self._server.port
        try:
            await super()._connect()  # type: ignore[no-untyped-call]
        except ConnectionRefusedError:
            with suppress(OffturnError, OSError):  # then the server is away, and the next one tries
                await asyncio.to_thread(self._server.revive)
            self.port = self._server.port
            await super()._connect()  # type: ignore[no-untyped-call]


class _EmbeddedRedis(Redis):
    """A client that also holds the embedded server."""

    def __init__(self, server: EmbeddedServer, pool: ConnectionPool) -> None:
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True  # as Redis.from_pool does
        self.server = server

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        try:
            closing = asyncio.get_running_loop().run_in_executor(None, self.server.close)
        except RuntimeError:  # the interpreter is ending and starts no thread any more
            self.server.close()
        else:
            await closing


class _SentinelRedis(Redis):
    """A client of the server that the sentinels name, also after a failover; it closes its connections to them too."""

    def __init__(self, address: StoreUrl, timeout: float, bounded: bool) -> None:
        limits = {"socket_timeout": timeout, "socket_connect_timeout": timeout, "socket_keepalive": True}
        watching: Callable[..., Sentinel] = Sentinel
        pooled: Callable[..., SentinelConnectionPool] = SentinelConnectionPool
        self._sentinel = watching(address.sentinels, sentinel_kwargs=limits)
        options = _options(address, timeout, bounded) | {"connection_class": QuickSentinelConnection}
        pool = pooled(address.service, self._sentinel, **options, socket_keepalive=True)
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        for client in self._sentinel.sentinels:
            await client.aclose()


def _options(address: StoreUrl, timeout: float, bounded: bool) -> dict[str, Any]:
    return {
        "db": address.db,
        "username": address.username,
        "password": address.password,
        "socket_timeout": None if bounded else timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), RETRIES),
        "retry_on_error": list(LOST),
    }


def _pool(address: StoreUrl, timeout: float, bounded: bool) -> ConnectionPool:
    options = _options(address, timeout, bounded)
    if address.scheme == "unix":
        return ConnectionPool(connection_class=QuickUnixConnection, path=address.path, **options)
    options |= {"host": address.host, "port": address.port, "socket_keepalive": True}
    if address.scheme == "rediss":
        return ConnectionPool(connection_class=QuickSSLConnection, ssl_check_hostname=True, **options)
    return ConnectionPool(connection_class=QuickConnection, **options)
