"""The walk that finds idle sessions, and what else the archive needs: one worker at a time does it, a page after the other.

It also looks whether what the list of archived sessions names is still there: the object of one that has expired is deleted;
and whether what counts for a tenant is: a session that has expired counts no more.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Sequence
from secrets import SystemRandom, token_hex

import structlog
from redis.exceptions import RedisError

from offturn.store.archiving import ArchiveStore, Resting
from offturn.store.tenants import Tenants
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper, Kept
from offturn_worker.archive.objects import ArchiveAway, ArchiveError

LOOK_SECONDS, LONGEST_LOOK_SECONDS = 1.0, 10.0
"""Between two looks, jittered by half: the first in the middle of a round, else a tenth of the time between two rounds."""

STEP_SECONDS = 0.5
"""A look goes on to the next page for so long."""

TURN_MS = 30_000
"""After which another worker goes on where this one is, unless it has said that it is there."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 600.0  # seconds between two rounds
AT_ONCE = 4  # sessions written at a time
DELETED_AT_ONCE = 20
AGAIN_MS = 60_000  # until an object that could not be deleted comes again
OUTAGE_SECONDS = 15.0

SESSIONS, LISTED, COUNTED = "s", "l", "t"
"""What a place of the walk is in: all sessions, the list of archived ones, or what counts for a tenant; then the cursor, and
the tenant."""

log = structlog.get_logger(__name__)


class Walk:
    """`after`: seconds without a write after which a session goes; None, or without a keeper: none does."""

    def __init__(self, store: ArchiveStore, tenants: Tenants, keeper: Keeper | None, *, after: float | None) -> None:
        self._store = store
        self._tenants = tenants
        self._keeper = keeper
        self._after = after
        self._token = token_hex(8)
        self._names: list[str] = []
        self._lost = False
        self._goes_on = False  # the last look left something to do at once

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            pause = OUTAGE_SECONDS if self._lost else self._look_seconds
            await asyncio.sleep(pause * SystemRandom().uniform(0.5, 1.5))
            await self._guarded()

    async def once(self) -> int:
        """One look: how many sessions went. Raises the errors of the store and of the archive; an archive that is away keeps
        nobody from looking at what has expired, which may be what fills it.
        """
        away: ArchiveAway | None = None
        self._goes_on = False
        if self._keeper is not None:
            try:
                self._goes_on = await self._delete(self._keeper)
            except ArchiveAway as error:
                away = error
        place = await self._store.walk(self._token, turn_ms=TURN_MS)
        ends, gone = time.monotonic() + STEP_SECONDS, 0
        while place is not None:
            try:
                place, found = await self._step(place or self._begin)
                gone += found
            except ArchiveAway as error:
                away, place = error, f"{LISTED}0"
            over = place == ""
            turn = 0 if over else TURN_MS
            kept = await self._store.walk(
                self._token, turn_ms=turn, place=place or self._begin, pause_ms=self._pause_ms
            )
            if kept is None:
                break
            if over or time.monotonic() >= ends:
                self._goes_on = self._goes_on or not over
                break
        if away is not None:
            raise away
        return gone

    @property
    def _begin(self) -> str:
        return f"{LISTED}0" if self._after is None else f"{SESSIONS}0"

    @property
    def _look_seconds(self) -> float:
        if self._goes_on:
            return LOOK_SECONDS
        return min(max(self._pause_ms / 10_000, LOOK_SECONDS), LONGEST_LOOK_SECONDS)

    @property
    def _pause_ms(self) -> int:
        wanted = LONGEST_PAUSE if self._after is None else self._after / 10
        return int(1000 * min(max(wanted, SHORTEST_PAUSE), LONGEST_PAUSE))

    async def _step(self, place: str) -> tuple[str, int]:
        """One page: where the next one is, "" at the end, and how many sessions went."""
        part, (number, _, tenant) = place[:1], place[1:].partition(":")
        if not number.isdigit():  # another release's
            return self._begin, 0
        if part == SESSIONS and self._keeper is not None:
            after, page = await self._store.resting(int(number))
            gone = await self._archive(self._keeper, [one.key for one in page if self._goes(one)])
            return (f"{SESSIONS}{after}" if after else f"{LISTED}0"), gone
        if part == COUNTED:
            return await self._count(int(number), tenant), 0
        after, entries = await self._store.vanished(int(number) if part == LISTED else 0)
        for one in entries:
            await self._store.forget(one)
        return (f"{LISTED}{after}" if after else f"{COUNTED}0:"), 0

    async def _count(self, cursor: int, tenant: str) -> str:
        """One page of a tenant, "": before the first. The tenants come in the order of their names."""
        after = 0
        if tenant:
            after, gone = await self._tenants.vanished(tenant, cursor)
            for key in gone:
                await self._tenants.forget(key)
        if after:
            return f"{COUNTED}{after}:{tenant}"
        if not tenant or not self._names:  # once a round, or where this worker goes on for another
            self._names = await self._tenants.names()
        place = bisect_right(self._names, tenant)
        return f"{COUNTED}0:{self._names[place]}" if place < len(self._names) else ""

    def _goes(self, one: Resting) -> bool:
        return not one.busy and self._after is not None and one.idle_ms >= self._after * 1000

    async def _archive(self, keeper: Keeper, found: Sequence[SessionKey]) -> int:
        gone = 0
        for start in range(0, len(found), AT_ONCE):
            some = found[start : start + AT_ONCE]
            ended = await asyncio.gather(*(keeper.archive(key) for key in some), return_exceptions=True)
            for key, end in zip(some, ended, strict=True):
                about = {"tenant": key.tenant, "session": key.session}
                if isinstance(end, Kept):
                    gone += 1
                    log.info("archived", **about, bytes=end.bytes, messages=end.messages)
                elif isinstance(end, BaseException):
                    if _is_outage(end):
                        raise end
                    # one session that nobody can read must not keep the others here
                    log.warning("archive_failed", **about, error=type(end).__name__)
            await self._store.walk(self._token, turn_ms=TURN_MS)
        return gone

    async def _delete(self, keeper: Keeper) -> bool:
        """Is there more to delete?"""
        names = await self._store.trash(DELETED_AT_ONCE, AGAIN_MS)
        for name in names:
            try:
                await keeper.objects.delete(name)
            except ArchiveAway:
                raise
            except ArchiveError:
                continue
            await self._store.deleted(name)
        return len(names) == DELETED_AT_ONCE

    async def _guarded(self) -> None:
        try:
            await self.once()
        except (OffturnError, RedisError, OSError) as error:
            if not self._lost:
                log.warning("walk_failed", error=type(error).__name__)
            self._lost = True
            return
        self._lost = False


def _is_outage(error: BaseException) -> bool:
    """Of the store, of the archive, or the end of this process."""
    if isinstance(error, OffturnError):
        return error.retryable
    return isinstance(error, RedisError | OSError) or not isinstance(error, Exception)
