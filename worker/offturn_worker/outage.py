"""Notices outages of store and queue, and says when jobs may start again: one lease after the servers take writes.

While a server is away no lease can be renewed. When it is back, the worker that still holds a session must be heard
before another one claims it, else a finished summary is thrown away and paid for twice. A server that has run for less
than a lease may have come back just so before this process began.

A write is tried four times in a lease, so an outage that outlasts a lease is never missed: also that of a server that is
full, read-only or frozen, and also while this worker asks for nothing else. While a server is away it is tried twice as
often: then somebody waits.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog
from redis.asyncio import Redis

from offturn.store.errors import mapped
from offturn_config.errors import OffturnError
from offturn_config.keys import probe

LEAST_ANSWER_SECONDS = 0.5

log = structlog.get_logger(__name__)


def is_outage(error: BaseException) -> bool:
    """The same command may succeed later: no answer, a replica, a server that loads, is full or cannot save."""
    try:
        with mapped():
            raise error
    except OffturnError as known:
        return known.retryable
    except BaseException:  # noqa: BLE001 - an error that is not the server's is no outage
        return False


class Watch:
    """Over the servers by name. `run` must be running for `ready` to come back after an outage.

    `met` is told of every error that is met, outage or not.
    """

    def __init__(
        self,
        servers: Mapping[str, Redis],
        *,
        lease_ms: int,
        met: Callable[[str, BaseException], None] = lambda *_: None,
    ) -> None:
        self._servers = servers
        self._lease = lease_ms / 1000
        self._met = met
        self._lost: set[str] = set()
        self._ready_at = 0.0

    @property
    def ready(self) -> bool:
        """Jobs may start: every server takes writes, and has done so for a lease."""
        return not self._lost and time.monotonic() >= self._ready_at

    def meet(self, name: str, error: BaseException) -> None:
        """Somebody met an error of that server."""
        self._met(name, error)
        if not is_outage(error):
            return
        if name not in self._lost:
            log.warning("server_lost", server=name, error=type(error).__name__)
        self._lost.add(name)

    async def begin(self) -> None:
        """Where other workers may hold sessions: ask each server for how long it has run. One that does not tell has run
        for long.
        """
        for redis in self._servers.values():
            execute: Callable[..., Awaitable[Any]] = redis.execute_command
            with suppress(OffturnError), mapped():
                facts: Mapping[str, Any] = await execute("INFO", "server")
                least = facts.get("uptime_in_seconds", math.inf) - 1  # counted in whole seconds of a clock
                self._ready_at = max(self._ready_at, time.monotonic() + self._lease - max(0, least))

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(*(self._watch(name, redis) for name, redis in self._servers.items()))

    async def _watch(self, name: str, redis: Redis) -> None:
        while True:
            await self.look(name, redis)
            await asyncio.sleep(self._lease / (8 if name in self._lost else 4))

    async def look(self, name: str, redis: Redis) -> None:
        """Try one write. A server that refuses it for good (permissions) answers, too."""
        execute: Callable[..., Awaitable[Any]] = redis.execute_command
        try:
            with mapped():
                async with asyncio.timeout(max(LEAST_ANSWER_SECONDS, self._lease / 4)):
                    await execute("SET", probe(), "", "PX", round(self._lease * 1000))
        except OffturnError as error:
            self.meet(name, error)
            if error.retryable:
                return
        if name in self._lost:
            self._lost.discard(name)
            self._ready_at = time.monotonic() + self._lease
            log.info("server_found", server=name)
