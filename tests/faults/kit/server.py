"""A Valkey of its own, its append-only file kept, to be killed, frozen, filled, and robbed of its last second."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn.embedded import EmbeddedServer, open_server
from tests.faults.processes import written_when_answered


class Server:
    """Call `start` first. `port` may change with a restart."""

    def __init__(self, folder: Path) -> None:
        self.port = 0
        self.pid = 0
        self.up = asyncio.Event()
        self._folder = folder
        self._server: EmbeddedServer | None = None

    @property
    def url(self) -> str:
        """Straight to it, past every proxy."""
        return f"redis://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        """On the data that is there."""
        self._server = await asyncio.to_thread(open_server, self._folder)
        self.port, self.pid = self._server.port, self._server.pid
        await written_when_answered(self.url)  # losing it is `lose_last_second`'s part, where the judge knows of it
        self.up.set()

    async def kill(self) -> None:
        """SIGKILL."""
        self.up.clear()
        assert self._server is not None
        os.kill(self.pid, signal.SIGKILL)
        await asyncio.to_thread(self._server.close)

    async def stop(self) -> None:
        """In order."""
        self.up.clear()
        if self._server is not None:
            os.kill(self.pid, signal.SIGCONT)
            await asyncio.to_thread(self._server.close)

    async def kill_and_restart(self, seconds: float) -> None:
        """SIGKILL, and back on the same data after `seconds`."""
        await self.kill()
        await asyncio.sleep(seconds)
        await self.start()

    async def lose_last_second(self, seconds: float = 1.0) -> int:
        """SIGKILL, and back on the append-only file as it was `seconds` before; returns the bytes lost."""
        before = {path: path.stat().st_size for path in self._files()}
        await asyncio.sleep(seconds)
        await self.kill()
        lost = 0
        if set(before) == set(self._files()):  # no rewrite meanwhile
            for path, size in before.items():
                lost += path.stat().st_size - size
                os.truncate(path, size)
        await self.start()
        return lost

    async def load(self, scripts: Iterable[str]) -> None:
        """Make them known, so that the first call of each is by its hash already."""
        redis = Redis.from_url(self.url)
        for script in scripts:
            await redis.script_load(script)
        await redis.aclose()

    async def freeze(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after `seconds`."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            os.kill(self.pid, signal.SIGCONT)

    async def fill(self, seconds: float) -> bool:
        """No room for writes for `seconds`; False: it could not be told."""
        redis = Redis.from_url(self.url, socket_timeout=5.0)
        try:
            await redis.config_set("maxmemory", "100kb")
            await asyncio.sleep(seconds)
            await redis.config_set("maxmemory", "0")
        except (RedisError, OSError):
            return False
        finally:
            await redis.aclose()
        return True

    def _files(self) -> list[Path]:
        return sorted((self._folder / "appendonlydir").glob("*.incr.aof"))
