"""Whether a job gets on: its deadline counts from what it last got done, not from its start."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context

_LONGEST_SLEEP = 3_600.0  # seconds


class Progress:
    """A part of a summary that is paid for and kept counts; a job of many parts may take as long as they take."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._waits = False

    @property
    def variables(self) -> Context:
        """For the task of the job, so that `others_first` there is of this one."""
        copied = copy_context()
        copied.run(_progress.set, self)
        return copied

    def made(self) -> None:
        """The job got something done that a later one need not do again."""
        self._last = time.monotonic()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While others are served: no time passes, and it counts anew afterwards."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
            self.made()

    async def stalled(self, patience: float = math.inf) -> None:
        """Returns once nothing was made for so many seconds."""
        while True:
            left = patience if self._waits else self._last + patience - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LONGEST_SLEEP))


_progress: ContextVar[Progress | None] = ContextVar("offturn_progress", default=None)


@contextmanager
def others_first() -> Iterator[None]:
    """Around a wait for others of the job that this runs in, if it is one: that is no stall of its own."""
    progress = _progress.get()
    if progress is None:
        yield
        return
    with progress.waiting():
        yield
