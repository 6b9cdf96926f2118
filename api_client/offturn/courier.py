"""Delivers what was kept while the store was away, once it is back, also for handles that nobody calls any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from weakref import WeakValueDictionary

from offturn.deadline import one_call
from offturn.errors import Archived, OffturnError, StoreUnavailable
from offturn.outbox import Outbox, Undelivered
from offturn.stopping import stop
from offturn_config.keys import SessionKey

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 15.0

Deliver = Callable[[], Awaitable[None]]


class Courier:
    """The outboxes of a client, one a session, and the task that empties them."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._known: WeakValueDictionary[SessionKey, Outbox] = WeakValueDictionary()
        self._held: dict[SessionKey, tuple[Outbox, Deliver]] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def outbox(self, key: SessionKey) -> Outbox:
        """The one that all handles of a session share."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Outbox(key)
        return found

    def hold(self, outbox: Outbox, deliver: Deliver) -> None:
        """Something was kept: deliver it when the store is back."""
        self._held[outbox.key] = outbox, deliver
        if not self._closed and (self._task is None or self._task.done()):
            # In a context of its own: the call that starts it may have a deadline that is over.
            self._task = asyncio.create_task(self._run(), context=Context())

    @property
    def untold(self) -> dict[SessionKey, int]:
        """By session, messages that only this process has and that no error has told of yet."""
        return {key: count for key, (outbox, _) in self._held.items() if (count := outbox.untold)}

    def undelivered(self) -> list[Undelivered]:
        """Everything that only this process has."""
        return [one for outbox, _ in self._held.values() for one in outbox.undelivered()]

    async def close(self) -> None:
        """Try once more, within the timeout. Whatever is left stays readable."""
        self._closed = True
        if self._task is not None:
            await stop(self._task)
        with one_call(self._timeout):
            await self._round()

    async def _run(self) -> None:
        delay = FIRST_SECONDS
        await asyncio.sleep(delay)
        while not await self._round():
            delay = min(2 * delay, LONGEST_SECONDS)
            await asyncio.sleep(delay)

    async def _round(self) -> bool:
        """Deliver each session's; False where the store did not take all of it."""
        for key, (outbox, deliver) in list(self._held.items()):
            try:
                if outbox.waiting:
                    await deliver()
            except Archived:  # only this session is not there yet
                continue
            except StoreUnavailable:
                return False
            except OffturnError:  # the host hears of it at its next call
                pass
            if outbox.is_empty:
                self._held.pop(key, None)
        return not any(outbox.waiting for outbox, _ in self._held.values())
