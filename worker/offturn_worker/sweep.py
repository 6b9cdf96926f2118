"""The sweep: rings again for every session that is due. It writes nothing to a session.

A ring can be lost in many ways (a killed host, an expired job, a foreign worker, a Redis that forgot its last second);
the due set cannot. Every worker sweeps on its own: a ring for a queued job is a no-op.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from secrets import SystemRandom
from typing import Protocol

import structlog
from redis.exceptions import RedisError

from offturn.store.state import Meta
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey

LIMIT = 200
"""Sessions looked at in one sweep, those due longest first, without those set aside."""

ASIDE_SECONDS = 60.0
"""How long a session that this release cannot read is left alone: others must get their turn.
Jittered by half, so that not all of them come back at once."""

FORGOTTEN_SECONDS = 3600.0
"""After which an unreadable session that was not met again is news again."""

SWEEP_SECONDS = 30
"""A sweep that takes longer is given up: the next one starts where the need is greatest again."""

log = structlog.get_logger(__name__)


class DueSessions(Protocol):
    """The part of the session store the sweep reads."""

    async def due(self, limit: int = 100, *, but: Container[SessionKey] = ()) -> list[tuple[SessionKey, int]]: ...

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
        self._aside: dict[SessionKey, float] = {}  # until when

    async def run(self) -> None:
        """Until cancelled. Jittered by half, so that workers started together do not sweep together."""
        while True:
            await asyncio.sleep(self._seconds * SystemRandom().uniform(0.5, 1.5))
            await self._guarded()
            self._beat()

    async def once(self) -> int:
        """One sweep: how many rings put a job in the queue. Raises StoreUnavailable and other store errors."""
        now, rung = time.monotonic(), 0
        self._aside = {key: until for key, until in self._aside.items() if until + FORGOTTEN_SECONDS > now}
        left_alone = {key for key, until in self._aside.items() if until > now}
        for key, _ in await self._store.due(LIMIT, but=left_alone):
            rung += await self._again(key)
        await self._store.tidy()
        return rung

    async def _again(self, key: SessionKey) -> bool:
        try:
            meta = await self._store.meta(key)
            if meta is None:
                await self._store.unlist(key)
                return False
        except (RedisError, OSError):
            raise
        except Exception as error:  # one session nobody can read must not silence the others
            if isinstance(error, OffturnError) and error.retryable:
                raise
            return self._set_aside(key, error)
        try:
            rung = await self._ring(key, meta.request_no)
        except (OffturnError, RedisError, OSError):  # the queue's trouble, whatever the session
            raise
        except Exception as error:  # noqa: BLE001 - a number no job can have
            return self._set_aside(key, error)
        self._aside.pop(key, None)
        return rung

    def _set_aside(self, key: SessionKey, error: Exception) -> bool:
        if key not in self._aside:
            told = {"tenant": key.tenant, "session": key.session, "error": type(error).__name__}
            log.warning("session_unreadable", **told)
        self._aside[key] = time.monotonic() + ASIDE_SECONDS * SystemRandom().uniform(0.5, 1.5)
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
