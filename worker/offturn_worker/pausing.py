"""Honours pauses: a job of a paused tenant does not begin. Running ones end as they would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from offturn.store.pausing import Pause, held
from offturn_config.keys import SessionKey
from offturn_engine.outcome import Outcome, Skipped
from offturn_worker.jobs import PAUSED, Compact

FRESH_SECONDS = 0.5
"""How long what was read is believed: a pause holds everywhere a second after it was made, and many jobs share a look."""


class KnownPauses:
    """The pauses as this process knows them. `read`: `Pauses.every`; its errors come through."""

    def __init__(self, read: Callable[[], Awaitable[Sequence[Pause]]]) -> None:
        self._read = read
        self._pauses: Sequence[Pause] = ()
        self._until = -1.0
        self._reading = asyncio.Lock()

    async def now(self) -> Sequence[Pause]:
        """Those that hold, as of half a second ago at most."""
        async with self._reading:
            asked = time.monotonic()
            if asked >= self._until:
                self._pauses = await self._read()
                self._until = asked + FRESH_SECONDS
            return self._pauses


def unless_paused(compact: Compact, known: KnownPauses) -> Compact:
    """A `compact` that leaves the sessions of paused tenants as they are, due. No attempt is counted."""

    async def compacted(key: SessionKey) -> Outcome:
        if held(await known.now(), key.tenant):
            return Skipped(reason=PAUSED)
        return await compact(key)

    return compacted
