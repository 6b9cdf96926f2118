"""Processes of the kit: JSON lines to their standard input, JSON lines back from their standard output, logs in a file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

Message = dict[str, Any]
LIMIT = 16 * 1024 * 1024  # bytes of one line


class Child:
    """One process. `heard` gets every line that answers no question."""

    def __init__(self, name: str, heard: Callable[[Child, Message], None] | None = None) -> None:
        self.name = name
        self.frozen = False
        self._heard = heard
        self._process: Process | None = None
        self._questions = count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Has it not ended?"""
        return self._process is not None and self._process.returncode is None

    async def start(self, module: str, *arguments: str, log: Path, environment: Mapping[str, str] = {}) -> Child:
        """`python -m module`; waits for its first line, `{"ready": true}`."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
        path = os.pathsep.join(part for part in sys.path if part)
        with log.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                *arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env={**inherited, "PYTHONPATH": path, **environment},
                limit=LIMIT,
            )
        self._reading = asyncio.create_task(self._read())
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait((ready, self._reading), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not self._ready.is_set():
            raise ChildProcessError(f"{self.name} did not start: see {log}")
        return self

    def tell(self, **message: Any) -> None:
        """One line to it; lost where it is gone."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError, RuntimeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self, patience: float, **message: Any) -> Message | None:
        """Its answer; None where it is gone or takes longer than `patience` seconds."""
        number = next(self._questions)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self.tell(id=number, **message)
        try:
            async with asyncio.timeout(patience):
                return await answer
        except (TimeoutError, ConnectionError):
            return None
        finally:
            self._waiting.pop(number, None)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        self.frozen = number == signal.SIGSTOP or (self.frozen and number != signal.SIGCONT)

    async def kill(self) -> None:
        """SIGKILL, and gone on return."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if not line.endswith(b"\n"):
                break  # killed in the middle of it
            self._take(json.loads(line))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(f"{self.name} is gone"))

    def _take(self, message: Message) -> None:
        if message.get("ready"):
            self._ready.set()
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is not None:
            if not waiting.done():
                waiting.set_result(message)
        elif self._heard is not None:
            self._heard(self, message)
