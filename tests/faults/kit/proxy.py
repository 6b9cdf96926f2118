"""A TCP proxy in front of Redis, one per client process: slow, cut, half dead, deaf, or losing the reply of a script.

A lost reply is the worst case of a protocol: the script was executed, its caller is not told. The proxy knows scripts
by their hash, forwards the call, waits until the server has answered, and closes the connection instead of passing it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from tests.faults.kit.resp import Commands
from tests.faults.kit.tally import Tally

CHUNK = 65_536
Direction = Literal["up", "down"]


class Proxy:
    """`upstream` is asked at every connection: a restarted server may have moved. `scripts`: name by SHA-1."""

    def __init__(self, name: str, upstream: Callable[[], int], scripts: Mapping[bytes, str], tally: Tally) -> None:
        self.name = name
        self.tally = tally
        self.scripts = scripts
        self.port = 0
        self.delay = 0.0
        self.deaf = False
        self.open = asyncio.Event()  # cleared: new connections wait
        self.open.set()
        self.shut_on_loss = False  # the next lost reply clears `open`
        self.dropped = asyncio.Event()  # set by the next lost reply
        self._upstream = upstream
        self._links: set[Link] = set()
        self._drops: list[frozenset[str]] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """What the client is told."""
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> Proxy:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """Cut everything."""
        if self._server is not None:
            self._server.close()
        for link in list(self._links):
            link.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- faults

    def lose_reply(self, *scripts: str) -> None:
        """The reply of the next call of one of these scripts (none named: of any) is lost after its execution."""
        self._drops.append(frozenset(scripts))

    def cut(self) -> int:
        """Close every connection; how many there were."""
        links = list(self._links)
        for link in links:
            link.cut()
        return len(links)

    def half_open(self, direction: Direction) -> int:
        """One direction of every connection is dead from now on, and nobody is told; how many there were."""
        for link in self._links:
            link.dead.add(direction)
        return len(self._links)

    async def black_hole(self, seconds: float) -> None:
        """Nothing goes through, new connections are taken and hear nothing; then all of them are gone."""
        self.deaf = True
        try:
            await asyncio.sleep(seconds)
        finally:
            self.deaf = False
            self.cut()

    async def slow(self, delay: float, seconds: float) -> None:
        """Every piece of data waits `delay` seconds, both ways."""
        self.delay = delay
        try:
            await asyncio.sleep(seconds)
        finally:
            self.delay = 0.0

    def heal(self) -> None:
        """No more faults; half dead connections end."""
        self._drops.clear()
        self.delay = 0.0
        self.open.set()
        for link in list(self._links):
            if link.dead:
                link.cut()

    # -- what links ask

    def wants_lost(self, script: str) -> bool:
        """Is this call's reply to be lost? Asked once per call."""
        for i, scripts in enumerate(self._drops):
            if not scripts or script in scripts:
                del self._drops[i]
                return True
        return False

    def lost(self, script: str) -> None:
        """It was."""
        self.tally.add("lost reply", who=self.name, script=script)
        if self.shut_on_loss:
            self.shut_on_loss = False
            self.open.clear()
        self.dropped.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self.open.wait()
            link = Link(self, reader, writer)
            self._links.add(link)
            try:
                await link.run(self._upstream())
            finally:
                self._links.discard(link)
        except asyncio.CancelledError:
            return  # the proxy closes: asyncio's stream server would print what is raised here
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


class Link:
    """One client's connection and ours to the server."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.dead: set[Direction] = set()
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._upstream: asyncio.StreamWriter | None = None
        self._commands = Commands()
        self._losing = ""  # the script whose reply does not go through

    def cut(self) -> None:
        """Both ends see a reset or an end."""
        self._writer.transport.abort()
        if self._upstream is not None:
            self._upstream.transport.abort()

    async def run(self, port: int) -> None:
        """Until either end is gone."""
        try:
            from_server, self._upstream = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        pumps = [asyncio.create_task(self._up()), asyncio.create_task(self._down(from_server))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            self.cut()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _up(self) -> None:
        assert self._upstream is not None
        with suppress(OSError):
            while data := await self._reader.read(CHUNK):
                for command in self._commands.feed(data):
                    self._see(command)
                if await self._passes("up"):
                    self._upstream.write(data)
                    await self._upstream.drain()

    async def _down(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if self._losing and not data.startswith(b"-"):
                    self._proxy.lost(self._losing)
                    return
                if self._losing:  # an error, NOSCRIPT say: nothing was executed
                    self._proxy.lose_reply(self._losing)
                    self._losing = ""
                if await self._passes("down"):
                    self._writer.write(data)
                    await self._writer.drain()

    async def _passes(self, direction: Direction) -> bool:
        if self._proxy.delay:
            await asyncio.sleep(self._proxy.delay)
        return not self._proxy.deaf and direction not in self.dead

    def _see(self, command: list[bytes]) -> None:
        if command[0].upper() != b"EVALSHA" or len(command) < 2:
            return
        script = self._proxy.scripts.get(command[1])
        if script is not None and not self._losing and self._proxy.wants_lost(script):
            self._losing = script
