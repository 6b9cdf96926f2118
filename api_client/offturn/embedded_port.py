"""Ports of this machine: which are free, and which server answers on one."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

_REPLY_SECONDS = 1
_PORTS = range(10_000, 20_000)  # outgoing connections take none of these, and a cluster's bus listens 10,000 above
_TRIES = 100


def server_on(port: int, directory: Path) -> int | None:
    """The process id of the server on this port, if its data is this directory's. It may still be loading."""
    with _client(port) as client:
        try:
            info: dict[str, Any] = client.info("server")
            config: dict[str, str] = client.config_get("dir")
        except (RedisError, OSError):
            return None
    return int(info["process_id"]) if Path(config["dir"]) == directory else None


def ready(port: int) -> bool:
    """A server answers there and has loaded its data."""
    with _client(port) as client:
        try:
            return bool(client.ping())
        except (RedisError, OSError):
            return False


def is_free(port: int) -> bool:
    """A server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def free_port() -> int:
    """Below the ports that outgoing connections take, and at random: processes that ask together find different ones."""
    for port in random.SystemRandom().sample(_PORTS, _TRIES):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _client(port: int) -> Redis:
    return Redis(host="127.0.0.1", port=port, socket_timeout=_REPLY_SECONDS, socket_connect_timeout=_REPLY_SECONDS)
