"""What asks the service: turn calls at a rate, whether or not the answers come, and followers of events.

HTTP by hand, so that the load takes little of a machine that it shares with what it measures.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

WORDS = "I looked into the next file of the parser and changed the way it reads a block. " * 3


@dataclass(slots=True)
class Answers:
    """Of one stretch: `seconds` from when a turn was due to its answer; `heard`: followers that got an event."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    events: int = 0
    heard: set[int] = field(default_factory=set)

    @property
    def done(self) -> int:
        return len(self.seconds)

    def quantile(self, share: float) -> float:
        """In milliseconds."""
        found = sorted(self.seconds) or [0.0]
        return 1000 * found[min(len(found) - 1, int(share * len(found)))]


class Load:
    """One process's worth of clients, each with a list of its own."""

    def __init__(self, address: str, key: str, *, sessions: int, connections: int, tail: bool) -> None:
        where = urlsplit(address)
        self._host, self._port = where.hostname, where.port
        self._head = f"Host: {where.netloc}\r\nAuthorization: Bearer {key}\r\n"
        self._want: Mapping[str, Any] = {"tail": tail}
        self._idle: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._connections = connections
        self._cursors: asyncio.Queue[tuple[int, str, str]] = asyncio.Queue()
        self._sessions = sessions
        self._followers: list[asyncio.Task[None]] = []
        self._ready = asyncio.Semaphore(0)
        self.answers = Answers()

    async def begin(self, readers: int) -> None:
        """Connections, sessions and followers."""
        for _ in range(self._connections):
            self._idle.put_nowait(await asyncio.open_connection(self._host, self._port))
        for number in range(self._sessions):
            await self._turn((number, "", ""), monotonic())
        self._followers = [asyncio.create_task(self._follow(i)) for i in range(readers)]
        for _ in self._followers:
            await self._ready.acquire()

    async def turns(self, rate: float, seconds: float) -> None:
        """At this rate for so long; a session has one turn at a time. Returns when the last answer is there, or late."""
        running = set[asyncio.Task[None]]()
        started, count = monotonic(), int(rate * seconds)
        for number in range(count):
            due = started + number / rate
            if (wait := due - monotonic()) > 0:
                await asyncio.sleep(wait)
            if monotonic() - started > 2 * seconds:
                break
            task = asyncio.create_task(self._turn(await self._cursors.get(), due))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)

    async def end(self) -> None:
        """Let go."""
        for task in self._followers:
            task.cancel()
        await asyncio.gather(*self._followers, return_exceptions=True)
        while not self._idle.empty():
            self._idle.get_nowait()[1].close()

    async def _turn(self, session: tuple[int, str, str], due: float) -> None:
        number, cursor, view = session
        body: dict[str, Any] = {
            "messages": [{"role": "assistant", "content": WORDS}, {"role": "user", "content": WORDS}]
        }
        if cursor:
            body |= {"after": cursor, "view": view, "usage": {"prompt_tokens": 400, "completion_tokens": 80}}
        else:
            body |= {"session": {"format": "openai-chat", "window": 1_000_000}}
        status, told = await self._asked("POST", f"/v1/sessions/s{number}/turn", {**body, "want": self._want})
        if status != 200:
            self.answers.failed += 1
        else:
            self.answers.seconds.append(monotonic() - due)
            cursor, view = told["cursor"], told["view"]["id"]
        self._cursors.put_nowait((number, cursor, view))

    async def _asked(self, method: str, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        reader, writer = await self._idle.get()
        raw = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        writer.write(head.encode() + raw)
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        size = int(told.partition("content-length: ")[2].partition("\r\n")[0])
        answer = await reader.readexactly(size)
        self._idle.put_nowait((reader, writer))
        return int(told.split()[1]), json.loads(answer)

    async def _follow(self, number: int) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=2**20)
        path = f"/v1/sessions/s{number % self._sessions}/events"
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n".encode())
        await reader.readuntil(b"retry: ")
        self._ready.release()
        try:
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    self.answers.events += 1
                    self.answers.heard.add(number)
        finally:
            with suppress(OSError):
                writer.close()
