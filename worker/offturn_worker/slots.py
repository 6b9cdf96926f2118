"""Which jobs of a worker run at a time.

A job holds a slot until its model has answered: what is left then, checks, the view and the commit, passes beside the model
of the next one. To ask once more, for a later chunk or a repair, it waits for a slot again, before any new job.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context

from offturn.progress import others_first

_place: ContextVar[Place | None] = ContextVar("offturn_place", default=None)


class Place:
    """A job's, with one of these slots taken for it. `left` is called whenever it gives its slot back."""

    def __init__(self, slots: asyncio.Semaphore, number: int, left: Callable[[], None]) -> None:
        self.number = number
        """Grows from job to job."""
        self.holds = True
        """Has it a slot?"""
        self._slots = slots
        self._left = left
        self._calls = 0
        self._turn = asyncio.Lock()

    @property
    def variables(self) -> Context:
        """For the task of the job."""
        copied = copy_context()
        copied.run(_place.set, self)
        return copied

    def leave(self) -> None:
        """Give the slot back."""
        if self.holds:
            self.holds = False
            self._slots.release()
            self._left()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Around a request to a model; several at a time need one slot."""
        self._calls += 1
        try:
            async with self._turn:
                if not self.holds:
                    with others_first():
                        await self._slots.acquire()
                    self.holds = True
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self.leave()


def current_place() -> Place | None:
    """Of the job that this runs in; None outside of jobs."""
    return _place.get()


@asynccontextmanager
async def asking() -> AsyncIterator[None]:
    """Around a request to a model, of a job or of nobody's."""
    place = current_place()
    if place is None:
        yield
        return
    async with place.asking():
        yield
