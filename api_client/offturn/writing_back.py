"""Write-back: a host's function is told of each generation at a boundary where it may take it over.

The store notes the sessions whose current generation has changed; a note is settled when the function has returned. So
it is called at least once for the newest one, whenever that was made, and (session, generation) tells a repetition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from typing import TypeAlias

from offturn.session import Session
from offturn.stopping import stop
from offturn.store.errors import StoreFault, StoreFull, StoreUnavailable
from offturn.store.sinks import Note, Sinks
from offturn.view import View
from offturn_config.keys import SessionKey

Sink: TypeAlias = Callable[[Session, View], Awaitable[None]]
"""Gets a handle of the session, and its view."""

POLL_SECONDS = 0.5
LEASE_SECONDS = 60.0  # for one call of the function
FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0  # before a session is tried again


class WriteBack:
    """Calls a sink, in a task of its own, until `close`. From `CompactionClient.on_generation`."""

    def __init__(self, sinks: Sinks, opened: Callable[[SessionKey], Awaitable[Session | None]], sink: Sink) -> None:
        self._sinks = sinks
        self._opened = opened
        self._sink = sink
        self._tries: dict[SessionKey, int] = {}
        self._failing: dict[str, BaseException] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def failing(self) -> Mapping[str, BaseException]:
        """By session id, what the sink raised last; each is called again, after 1 to 60 seconds."""
        return dict(self._failing)

    def start(self) -> None:
        """Begin. What it calls has nothing of the caller's deadline."""
        self._task = asyncio.create_task(self._run(), context=Context())

    async def close(self) -> None:
        """Stop. What was not told is told by the next `on_generation` of this name, wherever that runs."""
        if self._task is not None:
            await stop(self._task)

    async def forget(self) -> None:
        """Stop for good: nothing is noted for this sink any more. A next `on_generation` of its name starts anew."""
        await self.close()
        await self._sinks.forget()

    async def _run(self) -> None:
        pause = POLL_SECONDS
        while True:
            try:
                note = await self._next()
                pause = POLL_SECONDS
            except (StoreUnavailable, StoreFull, StoreFault):
                note, pause = None, min(2 * pause, LONGEST_SECONDS)
            if note is None:
                await asyncio.sleep(pause)

    async def _next(self) -> Note | None:
        """Tell of one session; None where there is none to tell of now."""
        for note in await self._sinks.take(limit=1, lease_ms=int(1000 * LEASE_SECONDS)):
            if await self._told(note.key):
                self._tries.pop(note.key, None)
                await self._sinks.settle(note)
            else:
                tries = self._tries[note.key] = self._tries.get(note.key, 0) + 1
                seconds = min(FIRST_SECONDS * 2 ** min(tries - 1, 10), LONGEST_SECONDS)
                await self._sinks.settle(note, delay_ms=int(1000 * seconds))
            return note
        return None

    async def _told(self, key: SessionKey) -> bool:
        """False where it has to be tried again: no boundary yet, the store is away, or the sink failed."""
        try:
            async with asyncio.timeout(LEASE_SECONDS):
                done = await self._tell(key)
        except (StoreUnavailable, StoreFull, StoreFault):
            return False
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopped():
                raise
            self._failing[key.session] = error
            return False
        self._failing.pop(key.session, None)
        return done

    async def _tell(self, key: SessionKey) -> bool:
        session = await self._opened(key)
        if session is None:
            return True
        view = await session.view()
        status = await session.status()
        if status.adopt == "never":
            return True
        if view.stale or status.current != view.generation:
            return False
        await self._sink(session, view)
        return True


def _is_stopped() -> bool:
    """Is it this task that was cancelled, and not something that the sink has waited for?"""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
