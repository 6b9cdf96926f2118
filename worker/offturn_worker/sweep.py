"""The sweep: rings again for every session that is due. It writes nothing to a session.

A ring can be lost in many ways (a killed host, an expired job, a foreign worker, a Redis that forgot its last second);
the due set cannot. Every worker tries as often, and one sweep of a fleet is enough for a while: with many workers and a
long due set they would otherwise ask the store for the same again and again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from secrets import SystemRandom
from typing import Protocol

import structlog
from redis.exceptions import RedisError

from offturn.bringing import RING
from offturn.store.errors import Archived
from offturn.store.pausing import Pause, held
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

REST = 0.4
"""Part of the time between two sweeps for which nobody sweeps after one; below half, so that a lone worker, jittered by
half, never waits for itself."""

TIDY_EVERY = 60
"""Looks at an empty due set after which a sweep is made all the same: parked sessions expire, too."""

SWEEP_SECONDS = 30
"""A sweep that takes longer is given up: the next one starts where the need is greatest again."""

log = structlog.get_logger(__name__)


class Bell(Protocol):
    """The part of the doorbell the sweep uses."""

    async def ring(self, key: SessionKey, request_no: int) -> bool: ...

    async def waiting(self, requests: Sequence[tuple[SessionKey, int]]) -> list[bool]: ...


class DueSessions(Protocol):
    """The part of the session store the sweep reads."""

    async def due(self, limit: int = 100, *, but: Container[SessionKey] = ()) -> list[tuple[SessionKey, int]]: ...

    async def meta(self, key: SessionKey) -> Meta | None: ...

    async def unlist(self, key: SessionKey) -> None: ...

    async def any_due(self) -> bool: ...

    async def request_numbers(self, sessions: Sequence[SessionKey]) -> list[int | None]: ...

    async def sweep_turn(self, rest_ms: int) -> bool: ...

    async def tidy(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Sessions that are not rung for."""

    aside: Container[SessionKey]
    pauses: Sequence[Pause] = ()

    def __contains__(self, key: object) -> bool:
        return key in self.aside or (isinstance(key, SessionKey) and held(self.pauses, key.tenant) is not None)


async def unpaused() -> Sequence[Pause]:
    """Nothing is paused."""
    return ()


class Sweep:
    """Rings for what is due, about every `seconds`. `beat` is called after every sweep, also a failed one; `swept` is
    told how many jobs it put in the queue, None where it failed; `waiting` is called where jobs wait in it already, maybe
    unheard. pauses: those that hold now; asked only where something is due.
    """

    def __init__(
        self,
        store: DueSessions,
        bell: Bell,
        *,
        seconds: float,
        beat: Callable[[], None],
        pauses: Callable[[], Awaitable[Sequence[Pause]]] = unpaused,
        swept: Callable[[int | None], None] = lambda _: None,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._pauses = pauses
        self._bell = bell
        self._seconds = seconds
        self._beat = beat
        self._swept = swept
        self._waiting = waiting
        self._lost = False
        self._looks = 0
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
        aside = {key for key, until in self._aside.items() if until > now}
        for key in await self._unheard(await self._to_ring(aside)):
            rung += await self._again(key)
        await self._store.tidy()
        return rung

    async def _to_ring(self, aside: Container[SessionKey]) -> list[SessionKey]:
        due = await self._store.due(LIMIT, but=aside)
        if due and (pauses := await self._pauses()):
            everything = any(pause.tenant is None for pause in pauses)
            due = [] if everything else await self._store.due(LIMIT, but=LeftAlone(aside, pauses))
        return [key for key, _ in due]

    async def _unheard(self, due: list[SessionKey]) -> list[SessionKey]:
        """Those whose job is not in the queue, asked at once: with a long queue that is nearly none of them."""
        requests = {
            key: number
            for key, number in zip(due, await self._store.request_numbers(due), strict=True)
            if number is not None
        }
        heard = await self._bell.waiting(list(requests.items()))
        waiting = {key for key, is_there in zip(requests, heard, strict=True) if is_there}
        if waiting:
            self._waiting()
        for key in waiting:
            self._aside.pop(key, None)
        return [key for key in due if key not in waiting]

    async def _again(self, key: SessionKey) -> bool:
        try:
            meta = await self._store.meta(key)
            if meta is None:
                await self._store.unlist(key)
                return False
        except Archived:  # somebody waits for it
            return await self._bell.ring(key, RING)
        except (RedisError, OSError):
            raise
        except Exception as error:  # one session nobody can read must not silence the others
            if isinstance(error, OffturnError) and error.retryable:
                raise
            return self._set_aside(key, error)
        try:
            rung = await self._bell.ring(key, meta.request_no)
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

    async def _in_turn(self) -> int:
        """Where nothing is due, now or later, that costs the store one command."""
        self._looks += 1
        if self._looks % TIDY_EVERY and not await self._store.any_due():
            return 0
        turn = await self._store.sweep_turn(max(1, int(self._seconds * REST * 1000)))
        return await self.once() if turn else 0

    async def _guarded(self) -> None:
        try:
            async with asyncio.timeout(SWEEP_SECONDS):
                rung = await self._in_turn()
        except (OffturnError, RedisError, OSError) as error:
            if not self._lost:
                log.warning("sweep_failed", error=type(error).__name__)
            self._lost = True
            self._swept(None)
            return
        self._lost = False
        self._swept(rung)
        if rung:
            log.info("swept", rung=rung)
