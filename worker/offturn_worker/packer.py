"""Packs what compactions have covered, off the turn: nobody waits for it, and no session changes by it."""

from __future__ import annotations

import asyncio
from secrets import SystemRandom

import structlog
from redis.exceptions import RedisError

from offturn.packing import pack_covered
from offturn.store.errors import Archived, StoreFull, StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.store.sinks import Note
from offturn.store.unpacked import Unpacked
from offturn_config.errors import OffturnError

EVERY_SECONDS = 30.0
"""Between two looks, jittered by half: what has waited for an hour is in no hurry."""

AT_ONCE = 8
"""Sessions taken at a time."""

ROUNDS = 20
"""Of these at one look; then others may have more to do with the server."""

LEASE_MS = 600_000
"""How long nobody else looks at a session that a worker has taken."""

log = structlog.get_logger(__name__)


class Packer:
    """Looks for sessions that were compacted at least `after` seconds ago."""

    def __init__(self, store: SessionStore, notes: Unpacked, *, after: float) -> None:
        self._store, self._notes = store, notes
        self._after_ms = int(after * 1000)
        self._lost = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS * SystemRandom().uniform(0.5, 1.5))
            try:
                for _ in range(ROUNDS):
                    if not await self.once():
                        break
            except (OffturnError, RedisError, OSError) as error:
                if not self._lost:
                    log.warning("packing_failed", error=type(error).__name__)
                self._lost = True
                continue
            self._lost = False

    async def once(self) -> int:
        """How many sessions were looked at. Raises StoreUnavailable and other store errors that no session is to blame for."""
        taken = await self._notes.take(limit=AT_ONCE, age_ms=self._after_ms, lease_ms=LEASE_MS)
        for note in taken:
            await self._notes.settle(note, again=await self._again(note))
        return len(taken)

    async def _again(self, note: Note) -> bool:
        """Pack it; has it to be looked at again although nothing happens to it?"""
        key = note.key
        told = {"tenant": key.tenant, "session": key.session}
        try:
            done = await pack_covered(self._store, key, before_ms=await self._store.now_ms() - self._after_ms)
        except Archived:  # noted again when it is back
            return False
        except (StoreUnavailable, StoreFull):
            raise
        except OffturnError as error:  # one session nobody can read must not keep the others from it
            log.warning("session_not_packed", **told, error=type(error).__name__)
            return True
        if done.bytes:
            log.info("packed", **told, bytes=done.bytes, stored=done.stored)
        return done.later
