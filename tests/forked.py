"""Commands that are forked from a process which has imported what they need; see `prestarted`."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

PRESTARTED = Path(__file__).with_name("prestarted.py")
SECONDS = 200
NUMBER = 4  # bytes, as there


class Command:
    """A process that runs `offturn` with these arguments, variables and standard streams; used like a `Popen`."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str], streams: Sequence[int]) -> None:
        self._told, theirs = os.pipe()
        self._code: int | None = None
        body = json.dumps({"arguments": arguments, "variables": dict(variables), "cwd": str(Path.cwd())}).encode()
        try:
            socket.send_fds(_prestarted(), [len(body).to_bytes(NUMBER, "little")], [*streams, theirs])
        finally:
            os.close(theirs)
        _prestarted().sendall(body)
        self.pid = self._number(SECONDS)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        with suppress(TimeoutError):
            return self.wait(0)
        return None

    def wait(self, timeout: float = SECONDS) -> int:
        """The exit code. Raises TimeoutError after `timeout` seconds."""
        if self._code is None:
            self._code = self._number(timeout)
            os.close(self._told)
        return self._code

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _number(self, timeout: float) -> int:
        ready, _, _ = select.select([self._told], [], [], timeout)
        if not ready:
            raise TimeoutError
        told = os.read(self._told, NUMBER)
        assert len(told) == NUMBER, "the process that becomes commands has ended"
        return int.from_bytes(told, "little", signed=True)


@cache
def _prestarted() -> socket.socket:
    """The link to the process that becomes commands. It ends when this one does."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", str(PRESTARTED), str(theirs.fileno())]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=env)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
