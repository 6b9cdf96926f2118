"""The sweep: rings again for every session that is due. It writes nothing to a session.

A ring can be lost in many ways (a killed host, an expired job, a foreign worker, a Redis that forgot its last second);
the due set cannot. Every worker sweeps on its own: a ring for a queued job is a no-op.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from secrets import SystemRandom
from typing import Protocol

import structlog
from redis.exceptions import RedisError

from offturn.store.state import Meta
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey

LIMIT = 200
"""Sessions looked at in one sweep, those due longest first."""

SWEEP_SECONDS = 30
"""A sweep that takes longer is given up: the next one starts where the need is greatest again."""

log = structlog.get_logger(__name__)


class DueSessions(Protocol):
    """The part of the session store the sweep reads."""

    async def due(self, limit: int = 100) -> list[tuple[SessionKey, int]]: ...

    async def meta(self, key: SessionKey) -> Meta | None: ...

    async def unlist(self, key: SessionKey) -> None: ...

    async def tidy(self) -> None: ...


class Sweep:
    """Rings for what is due, about every `seconds`. `beat` is called after every sweep, also a failed one."""

    def __init__(
        self,
        store: DueSessions,
        ring: Callable[[SessionKey, int], Awaitable[bool]],
        *,
        seconds: float,
        beat: Callable[[], None],
    ) -> None:
        self._store = store
        self._ring = ring
        self._seconds = seconds
        self._beat = beat
        self._lost = False

    async def run(self) -> None:
        """Until cancelled. Jittered by half, so that workers started together do not sweep together."""
        while True:
            await asyncio.sleep(self._seconds * SystemRandom().uniform(0.5, 1.5))
            await self._guarded()
            self._beat()

    async def once(self) -> int:
        """One sweep: how many rings put a job in the queue. Raises StoreUnavailable and other store errors."""
        rung = 0
        for key, _ in await self._store.due(LIMIT):
            rung += await self._again(key)
        await self._store.tidy()
        return rung

    async def _again(self, key: SessionKey) -> bool:
        try:
            meta = await self._store.meta(key)
            if meta is None:
                await self._store.unlist(key)
            return meta is not None and await self._ring(key, meta.request_no)
        except (RedisError, OSError):
            raise
        except Exception as error:  # one session nobody can read must not silence the others
            if isinstance(error, OffturnError) and error.retryable:
                raise
            log.warning("session_unreadable", tenant=key.tenant, session=key.session, error=type(error).__name__)
            return False

    async def _guarded(self) -> None:
        try:
            async with asyncio.timeout(SWEEP_SECONDS):
                rung = await self.once()
        except (OffturnError, RedisError, OSError) as error:
            if not self._lost:
                log.warning("sweep_failed", error=type(error).__name__)
            self._lost = True
            return
        self._lost = False
        if rung:
            log.info("swept", rung=rung)
