"""Ports of this machine: which are free, and which server answers on one."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

_REPLY_SECONDS = 1


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
    """One of the kernel's choice."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _client(port: int) -> Redis:
    return Redis(host="127.0.0.1", port=port, socket_timeout=_REPLY_SECONDS, socket_connect_timeout=_REPLY_SECONDS)
