"""Real processes to harm: workers with all they say kept, and a store that can be killed and comes back."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn.embedded import EmbeddedServer, open_server
from offturn_config.keys import due
from offturn_engine.outcome import Outcome
from tests.integration.host import turns

LEASE = 1_000  # ms
PATIENCE = 100.0  # seconds: a busy machine is no fault
TIMEOUT = 20.0  # seconds of one call
WINDOW = 14_000


class Worker:
    """`python -m offturn_worker`, its output in a file."""

    def __init__(self, url: str, output: Path, **settings: str) -> None:
        quick = {"LEASE_MS": str(LEASE), "POLL_SECONDS": "0.05", "SWEEP_SECONDS": "0.2", "HEALTH_PORT": "-1"}
        wanted = {"STORE_URL": url, "WORKER_ID": output.stem, **quick, **settings}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
        ours = {f"OFFTURN_{name}": value for name, value in wanted.items()}
        self.output = output
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "offturn_worker"],
                env={**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **ours},
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        whole, _, _ = self.said.rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    async def started(self) -> Worker:
        await until(lambda: '"started"' in self.said or not self.alive)
        assert self.alive, self.said
        return self

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


class Workers:
    """Starts workers of one store, each with an output of its own; kills them all at the end."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self.every: list[Worker] = []

    async def start(self, **settings: str) -> Worker:
        output = self._folder / f"worker{len(self.every)}.log"
        worker = Worker(self._url, output, **settings)
        self.every.append(worker)
        return await worker.started()

    def kill(self) -> None:
        for worker in self.every:
            worker.kill()


@asynccontextmanager
async def workers(url: str, folder: Path) -> AsyncIterator[Workers]:
    crew = Workers(url, folder)
    try:
        yield crew
    finally:
        crew.kill()


async def written_when_answered(url: str) -> None:
    """With `everysec` a server whose disk is slow answers before it writes, for up to two seconds, and SIGKILL takes what
    was acknowledged. Without any sync it writes before each answer, and what is written outlives the process.
    """
    async with Redis.from_url(url) as redis:
        await redis.config_set("appendfsync", "no")


class Store:
    """A Valkey of its own, its append-only file kept, for tests that kill it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: EmbeddedServer | None = None
        self.url = ""

    async def start(self) -> None:
        self._server = await asyncio.to_thread(open_server, self._folder)
        self.url = f"redis://127.0.0.1:{self._server.port}/0"
        await written_when_answered(self.url)

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    async def kill(self) -> None:
        assert self._server is not None
        os.kill(self._server.pid, signal.SIGKILL)
        await asyncio.to_thread(self._server.close)

    def freeze(self) -> None:
        assert self._server is not None
        os.kill(self._server.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._server is not None
        os.kill(self._server.pid, signal.SIGCONT)

    async def stop(self) -> None:
        assert self._server is not None
        await asyncio.to_thread(self._server.close)


async def ticks() -> AsyncIterator[None]:
    async with asyncio.timeout(PATIENCE):
        while True:
            yield
            await asyncio.sleep(0.03)


async def until(condition: Callable[[], bool]) -> None:
    async for _ in ticks():
        if condition():
            return


async def until_true(ask: Callable[[], Awaitable[bool]]) -> None:
    async for _ in ticks():
        if await ask():
            return


def handle(client: CompactionClient, name: str, fmt: str = "openai-chat") -> Session:
    return client.session(name, format=fmt, window=WINDOW)


async def fill(session: Session, fmt: str = "openai-chat", count: int = 16, start: int = 0) -> list[dict[str, Any]]:
    messages = turns(fmt, count, size=1_500, start=start)
    await session.record(messages)
    return messages


async def settled(session: Session) -> None:
    async def ask() -> bool:
        status = await session.status()
        return not status.due and not status.running

    await until_true(ask)


async def compacted(session: Session) -> Outcome:
    """Ask for a compaction and wait for its outcome."""
    return await (await session.request()).wait(PATIENCE)


async def count(session: Session, kind: str) -> int:
    return sum(event.kind == kind for event in await session.events())


DUE = due()
