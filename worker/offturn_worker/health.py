"""`/livez`, `/readyz` and `/metrics`, over HTTP in the process itself: arq's own check says "some worker, within the hour".

aiohttp is loaded by the first call that needs it: a worker that serves no health starts without.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn_config.errors import InvalidSetting
from offturn_worker.fleet import Fleet
from offturn_worker.metrics import CONTENT_TYPE, Metrics
from offturn_worker.pulse import Pulse

if TYPE_CHECKING:
    from aiohttp import web

PING_SECONDS = 1.0


class Health:
    """Answers for one worker process. `servers` are pinged for readiness only."""

    def __init__(
        self, pulse: Pulse, servers: Sequence[Redis], draining: Callable[[], bool], metrics: Metrics, fleet: Fleet
    ) -> None:
        self._pulse = pulse
        self._servers = servers
        self._draining = draining
        self._metrics = metrics
        self._fleet = fleet

    async def livez(self, _request: web.Request) -> web.Response:
        """200 while the loops come round, whatever Redis does; a draining worker is alive."""
        alive = self._pulse.alive or self._draining()
        ages = {f"{name}_age_ms": round(age * 1000) for name, age in self._pulse.ages.items()}
        return _answer(alive, {"loop_lag_ms": round(self._pulse.lag * 1000), **ages})

    async def readyz(self, _request: web.Request) -> web.Response:
        """200 while every server answers and the worker takes jobs."""
        answers = await asyncio.gather(*map(_pings, self._servers))
        return _answer(all(answers) and not self._draining(), {"redis": all(answers), "draining": self._draining()})

    async def metrics(self, _request: web.Request) -> web.Response:
        """What was counted since the process started, and how the fleet is as far as the servers answer."""
        from aiohttp import web

        fleet = await self._fleet.text()
        return web.Response(body=self._metrics.text() + fleet, headers={"Content-Type": CONTENT_TYPE})

    @asynccontextmanager
    async def served(self, host: str, port: int) -> AsyncIterator[int | None]:
        """Serve inside the block; gives the port, None where `port` is -1. Raises InvalidSetting if it is taken."""
        if port < 0:
            yield None
            return
        from aiohttp import web

        app = web.Application()
        app.add_routes(
            [web.get("/livez", self.livez), web.get("/readyz", self.readyz), web.get("/metrics", self.metrics)]
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            yield await _listen(runner, host, port)
        finally:
            await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> int:
    from aiohttp import web

    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise InvalidSetting(
            f"OFFTURN_HEALTH_HOST, OFFTURN_HEALTH_PORT = {host}:{port}: {error.strerror or type(error).__name__}; "
            "0 takes a free port, -1 none"
        ) from None
    chosen: int = runner.addresses[0][1]
    return chosen


async def _pings(redis: Redis) -> bool:
    try:
        async with asyncio.timeout(PING_SECONDS):
            await redis.ping()
    except (RedisError, OSError):
        return False
    return True


def _answer(well: bool, facts: dict[str, object]) -> web.Response:
    from aiohttp import web

    return web.json_response({"status": "ok" if well else "failing", **facts}, status=200 if well else 503)
