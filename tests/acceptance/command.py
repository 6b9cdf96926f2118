"""The command line as a process, in a pipe or on a terminal."""

from __future__ import annotations

import atexit
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

COMMAND = (sys.executable, "-m", "offturn")
SECONDS = 90
PRESTARTED = Path(__file__).with_name("prestarted.py")
NUMBER = 4  # bytes, as there


NONE: Mapping[str, str] = {}


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This one's, without what would set offturn."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
    return {**inherited, **variables}


def offturn(
    *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] = NONE
) -> subprocess.CompletedProcess[bytes]:
    """A process that has ended; see `prestarted` for how it starts."""
    link = _prestarted()
    pipes = [os.pipe() for _ in range(3)]
    told = {"arguments": arguments, "variables": environment(variables), "cwd": str(Path.cwd())}
    body = json.dumps(told).encode()
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    socket.send_fds(link, [len(body).to_bytes(NUMBER, "little")], theirs)
    link.sendall(body)
    for fd in theirs:
        os.close(fd)
    pid = _number(link)
    with ThreadPoolExecutor(2) as reading:
        out, err = (reading.submit(_read, pipe[0]) for pipe in pipes[1:])
        with suppress(BrokenPipeError), open(pipes[0][1], "wb") as writing:  # noqa: PTH123 -- a descriptor
            writing.write(stdin)
        try:
            code = _number(link)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            _prestarted.cache_clear()
            raise
        return subprocess.CompletedProcess(arguments, code, out.result(), err.result())


def _number(link: socket.socket) -> int:
    told = link.recv(NUMBER)
    assert len(told) == NUMBER, "the process that becomes commands has ended"
    return int.from_bytes(told, "little", signed=True)


def _read(fd: int) -> bytes:
    with open(fd, "rb") as pipe:
        return pipe.read()


@cache
def _prestarted() -> socket.socket:
    """The link to a process that becomes commands. It ends when this one does."""
    ours, theirs = socket.socketpair()
    ours.settimeout(SECONDS)
    with theirs:
        command = [sys.executable, "-P", str(PRESTARTED), str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def on_a_terminal(*arguments: str, cwd: Path, columns: int = 200) -> str:
    """What a command writes to a terminal as its stdout."""
    ours, theirs = pty.openpty()
    command = [*COMMAND, *arguments]
    env = environment({"COLUMNS": str(columns), "TERM": "dumb"})
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, cwd=cwd, env=env):
        os.close(theirs)
        read = b""
        while True:
            try:
                read += (chunk := os.read(ours, 65_536))
            except OSError:  # Linux' word for the end
                break
            if not chunk:
                break
    os.close(ours)
    return read.decode().replace("\r\n", "\n")
