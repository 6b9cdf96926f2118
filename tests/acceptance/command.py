"""The command line as a process, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.forked import Command

COMMAND = (sys.executable, "-m", "offturn")
SECONDS = 200


PATIENT = {"OFFTURN_TIMEOUT": "20"}  # seconds: a busy machine must not pass for an outage

NONE: Mapping[str, str] = {}


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This one's, without what would set offturn."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
    return {**inherited, **PATIENT, **variables}


def offturn(
    *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] = NONE
) -> subprocess.CompletedProcess[bytes]:
    """A process that has ended; see `tests.prestarted` for how it starts."""
    (given, giving), (out, to_out), (err, to_err) = (os.pipe() for _ in range(3))
    theirs = (given, to_out, to_err)
    process = Command(arguments, environment(variables), theirs)
    for fd in theirs:
        os.close(fd)
    with ThreadPoolExecutor(2) as reading:
        told = [reading.submit(_read, fd) for fd in (out, err)]
        with suppress(BrokenPipeError), open(giving, "wb") as writing:  # noqa: PTH123 -- a descriptor
            writing.write(stdin)
        try:
            code = process.wait(SECONDS)
        except TimeoutError:
            process.kill()
            raise
        return subprocess.CompletedProcess(arguments, code, told[0].result(), told[1].result())


def _read(fd: int) -> bytes:
    with open(fd, "rb") as pipe:
        return pipe.read()


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
