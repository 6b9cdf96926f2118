"""The command line as a process, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

COMMAND = (sys.executable, "-m", "offturn")
SECONDS = 90


NONE: Mapping[str, str] = {}


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This one's, without what would set offturn."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
    return {**inherited, **variables}


def offturn(
    *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] = NONE
) -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=SECONDS, env=environment(variables))


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
