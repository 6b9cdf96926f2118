"""Whether a job gets on: its deadline counts from what it last got done, not from its start."""

from __future__ import annotations

import asyncio
import math
import time

_LONGEST_SLEEP = 3_600.0  # seconds


class Progress:
    """A part of a summary that is paid for and kept counts; a job of many parts may take as long as they take."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def made(self) -> None:
        """The job got something done that a later one need not do again."""
        self._last = time.monotonic()

    async def stalled(self, patience: float = math.inf) -> None:
        """Returns once nothing was made for so many seconds."""
        while True:
            left = self._last + patience - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LONGEST_SLEEP))
