"""How many jobs of one tenant run at a time: a place is taken before a job starts, kept like a lease, given back after it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from secrets import SystemRandom, token_hex

from offturn.stopping import stop
from offturn.store.limits import SharedLimits
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_engine.outcome import Outcome, Skipped
from offturn_worker.jobs import TENANT_BUSY, Compact

DELAY_MS = (1_000, 3_000)
"""A session that finds no place is looked at again after a time between these, so that waiting ones come in turn."""


def within_places(compact: Compact, limits: SharedLimits, *, places: int, lease_ms: int) -> Compact:
    """A `compact` that leaves a session due where all of its tenant's places are taken. No attempt is counted."""

    async def compacted(key: SessionKey) -> Outcome:
        token = token_hex(8)
        delay = SystemRandom().randint(*DELAY_MS)

        async def enter() -> bool:
            return await limits.tenant_enter(key, token=token, places=places, lease_ms=lease_ms, delay_ms=delay)

        async def keep() -> None:
            while True:
                await asyncio.sleep(lease_ms / 4_000)
                with suppress(OffturnError):
                    await enter()

        if not await enter():
            return Skipped(reason=TENANT_BUSY)
        keeping = asyncio.create_task(keep())
        try:
            return await compact(key)
        finally:
            await stop(keeping)
            with suppress(OffturnError):  # then the place's lease runs out
                await asyncio.shield(limits.tenant_leave(key, token=token))

    return compacted
