"""A call that finds its session in the archive: a worker brings it back, and the call goes on when it is there.

Hosts hold no keys of the archive. The call waits as long as its deadline; then it is as if the store were away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from offturn.deadline import QUEUE_SHARE, seconds_left, waiting
from offturn.store.errors import Archived, StoreFault, StoreFull, StoreUnavailable
from offturn.store.scripted import ARCHIVED
from offturn.store.stubs import Stubs
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey

FIRST_PAUSE, LONGEST_PAUSE, SLOWER = 0.02, 0.25, 1.5  # seconds between two looks, and how they grow
RING = 0
"""In the place of a request's number: requests count from 1, so this ring is told from theirs."""

LOST = {
    "missing": "its object {} is not there: put it back from a copy of the archive, or purge the session",
    "damaged": "its object {} is damaged: put it back from a copy of the archive, or purge the session",
}
UNSET, FULL = "unset", "full"
LATER = {
    "away": "the archive does not answer its workers; it is tried again",
    FULL: "the store has no room for it; it is tried again",
    UNSET: "no OFFTURN_ARCHIVE_URL is set for the worker that was to bring it back: set it",
}


class Bringing:
    """`ring`: wakes the workers. `timeout`: seconds, of a call without a deadline of its own."""

    def __init__(
        self,
        stubs: Stubs,
        ring: Callable[[SessionKey, int], Awaitable[object]],
        timeout: float,
    ) -> None:
        self._stubs = stubs
        self._ring = ring
        self._timeout = timeout

    async def __call__(self, key: SessionKey) -> None:
        """Raises Archived where it takes longer, StoreFault where waiting does not help."""
        clock, pause = asyncio.get_running_loop().time, FIRST_PAUSE
        ends = clock() + self._timeout
        archived, trouble = await self._stubs.want(key)
        if trouble:
            raise _refused(key, trouble, "")
        if archived:
            with suppress(TimeoutError, StoreUnavailable, StoreFull, StoreFault):  # every worker's sweep rings again
                async with waiting(self._timeout / QUEUE_SHARE):
                    await self._ring(key, RING)
        while archived:
            # What is left for a look must be enough for it: a look without an answer would pass for an outage.
            if min(seconds_left(), ends - clock()) < pause + self._timeout / QUEUE_SHARE:
                raise Archived(ARCHIVED.format(key.session))
            async with waiting(self._timeout):
                await asyncio.sleep(pause)
            pause = min(pause * SLOWER, LONGEST_PAUSE)
            stub = await self._stubs.stub(key)
            archived = stub is not None
            if stub and stub.trouble:
                raise _refused(key, stub.trouble, stub.object)


def _refused(key: SessionKey, trouble: str, name: str) -> OffturnError:
    told = f"session {key.session!r} is in the archive, and"
    if trouble in LOST:
        return StoreFault(f"{told} {LOST[trouble].format(name)}")
    return Archived(f"{told} {LATER.get(trouble, trouble)}")
