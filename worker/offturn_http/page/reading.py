"""Sessions as the page reads them: their log kept at hand, so that looking again costs only what is new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from offturn import Conflict, InvalidSetting
from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.inspecting import Generation, Status, audited, generations, status
from offturn.links import Connector
from offturn.store.pausing import Pause, Pauses
from offturn.store.state import Meta
from offturn_config.keys import SessionKey
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.fates import lineage
from offturn_engine.formats.base import Format
from offturn_engine.messages import Message
from offturn_engine.ranges import inside, normalise
from offturn_engine.report import Report, report
from offturn_worker.cli.store import whole

SESSIONS = 8
FIRST_LOOKS = 2  # at a time: each holds the whole log of a session
REPORTS = 6


class NoSession(Exception):
    """There is none of that name, of this tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A session at one moment. records: the generations kept, by number, each audited; redacted: seqs."""

    key: SessionKey
    meta: Meta
    config: SessionConfig
    fmt: Format = field(repr=False)
    path: tuple[Message, ...] = field(repr=False)
    records: Mapping[int, Compaction] = field(repr=False)
    redacted: frozenset[int]
    status: Status
    place: Hashable

    @property
    def real(self) -> Callable[[int], int]:
        """Estimates as tokens of the session's model."""
        return real_of(self.meta, self.config)

    @property
    def generations(self) -> list[Generation]:
        """Those kept, oldest first."""
        return generations(self.meta, self.records)

    def can_be_in_force(self, number: int) -> bool:
        """Does the session still show all that it covers? The store puts no other generation in force; 0 always can be."""
        return inside(self.record(number).covered, normalise(self.meta.path))

    def record(self, number: int) -> Compaction:
        """Of a generation; 0 is the raw transcript. Raises NoSession where it is not kept."""
        if number and number not in self.records:
            raise NoSession(f"generation {number} is not kept: choose one of {', '.join(map(str, (0, *self.records)))}")
        return self.records.get(number, NOTHING)


def real_of(meta: Meta, config: SessionConfig) -> Callable[[int], int]:
    """Makes tokens of the session's model out of estimates."""
    return config.calibration(meta.calibration).real


class Shelf:
    """The sessions that were looked at last. One reads the same session at a time; what is given out does not change."""

    def __init__(self) -> None:
        self._caches: OrderedDict[SessionKey, Cache] = OrderedDict()
        self._reports: OrderedDict[Hashable, Report] = OrderedDict()
        self._turns = WeakValueDictionary[SessionKey, asyncio.Lock]()
        self._first_looks = asyncio.Semaphore(FIRST_LOOKS)
        self._running = set[asyncio.Task[Read]]()

    async def read(self, connector: Connector, key: SessionKey) -> Read:
        """Raises NoSession, and what the store raises."""
        pauses = await Pauses((await connector.links()).redis).known()
        turn = self._turns.setdefault(key, asyncio.Lock())
        await turn.acquire()
        # A browser that goes away cancels this call, and no thread of it: the turn is over when the thread has ended.
        reading = asyncio.create_task(self._read(connector, key, pauses))
        self._running.add(reading)

        def ended(_: object) -> None:
            turn.release()
            self._running.discard(reading)
            if not reading.cancelled():
                reading.exception()  # nobody may be there any more to raise it

        reading.add_done_callback(ended)
        return await asyncio.shield(reading)

    async def report(self, read: Read, number: int) -> Report:
        """On one generation; made outside of the event loop, of a long session it takes a second. Raises NoSession."""
        record = read.record(number)
        name = (read.key, number, record.nonce, read.place, read.redacted)
        made = self._reports.get(name)
        if made is None:
            line = lineage(record, read.records)
            made = await asyncio.to_thread(report, read.path, line, read.fmt, redacted=read.redacted)
            self._reports[name] = made
            if len(self._reports) > REPORTS:
                self._reports.popitem(last=False)
        return made

    async def _read(self, connector: Connector, key: SessionKey, pauses: list[Pause]) -> Read:
        try:
            cache = await self._refreshed(connector, key)
        except InvalidSetting as error:
            raise NoSession(str(error)) from None
        known = await cache.records()
        return await asyncio.to_thread(_taken, cache, known, pauses)

    async def _refreshed(self, connector: Connector, key: SessionKey) -> Cache:
        kept = self._caches.pop(key, None)
        if kept is not None:
            try:
                await kept.refresh()
            except Conflict:  # another life of the session, in another format
                kept = None
        cache = kept if kept is not None and kept.meta is not None else None
        if cache is None:
            async with self._first_looks:
                cache = await _whole(connector, key)
        self._caches[key] = cache
        if len(self._caches) > SESSIONS:
            self._caches.popitem(last=False)
        return cache


async def _whole(connector: Connector, key: SessionKey) -> Cache:
    """All of a session, read beside the event loop and by connections of its own: of a long one that takes seconds."""

    async def apart() -> Cache:
        own = Connector(connector.store_url, connector.queue_url, connector.timeout, connector.on_outage)
        try:
            return await whole(await own.links(), key)
        finally:
            await own.close()

    links = await connector.links()
    cache = await asyncio.to_thread(asyncio.run, apart())
    cache.store = links.store
    return cache


def _taken(cache: Cache, known: Mapping[int, Compaction], pauses: list[Pause]) -> Read:
    path, meta = tuple(cache.path), cache.live
    records = audited(known, path, cache.fmt)
    for number, record in records.items():
        if record is not known[number]:
            cache.keep(record)
    return Read(
        key=cache.key,
        meta=meta,
        config=SessionConfig.from_json(meta.config),
        fmt=cache.fmt,
        path=path,
        records=records,
        redacted=frozenset(cache.redacted()),
        status=status(cache, pauses),
        place=cache.place,
    )
