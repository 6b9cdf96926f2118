"""A server between a client and the store: it goes away, falls silent, or loses replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """Passes bytes on to a server; `lose` replies are dropped with their connection, `silent` ones never come.

    `down`: nobody is there, for new connections and those that are open. `changed` is called when one of the two was set.
    """

    host: str
    port: int
    changed: Callable[[], None] = lambda: None
    lose: int = 0
    silent: bool = False
    down: bool = False
    url: str = ""
    lost: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in {"silent", "down"}:
            self.changed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.close()
            return
        there, back = await asyncio.open_connection(self.host, self.port)
        up = asyncio.create_task(self._pass(reader, back))
        self.tasks |= {up, cast("asyncio.Task[None]", asyncio.current_task())}
        try:
            while data := await there.read(65_536):
                if self.silent:
                    continue
                if self.down:
                    break
                if self.lose:
                    self.lose -= 1
                    self.lost += 1
                    break
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            up.cancel()
            for end in (writer, back):
                end.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (data := await reader.read(65_536)) and not self.down:
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()


@asynccontextmanager
async def proxy(valkey_url: str) -> AsyncIterator[Proxy]:
    where = urlsplit(valkey_url)
    made = Proxy(where.hostname or "", where.port or 0)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}{where.path}"
    try:
        yield made
    finally:
        server.close()
        for task in made.tasks:
            task.cancel()
        await asyncio.gather(*made.tasks, return_exceptions=True)
