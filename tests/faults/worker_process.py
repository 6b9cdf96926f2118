"""A worker process whose compaction a test can follow through Redis: argv is the name of a list and seconds to
work; it ends sooner when there is a key of that name with `:go` behind it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from redis.asyncio import Redis

from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_engine.outcome import Outcome, Skipped
from offturn_worker.app import Running, open_servers, serve
from offturn_worker.logs import configure_logging


async def main(told: str, seconds: float) -> None:
    settings = load_worker_settings()
    configure_logging(level="info", style="json")
    async with open_servers(settings) as servers:

        async def compact(key: SessionKey) -> Outcome:
            await _tell(servers.store, told, f"begun {key.session}")
            ends = time.monotonic() + seconds
            try:
                while time.monotonic() < ends and not await servers.store.exists(f"{told}:go"):  # noqa: ASYNC110 -- a server's key
                    await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                await asyncio.shield(_tell(servers.store, told, f"cancelled {key.session}"))
                raise
            await _tell(servers.store, told, f"done {key.session}")
            return Skipped(reason="test")

        def started(running: Running) -> None:
            sys.stdout.write(f"{running.health_port}\n")
            sys.stdout.flush()

        await serve(settings, servers, compact, started)


async def _tell(redis: Redis, name: str, text: str) -> None:
    execute: Callable[..., Awaitable[int]] = redis.execute_command
    await execute("RPUSH", name, text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
