"""What a host gets while the store is away: views of what this process knows. Nothing is committed or adopted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from offturn.cache import Cache
from offturn.entries import Ids, Prepared, prepare
from offturn.errors import Conflict, StoreFull, StoreUnavailable
from offturn.holding import Holding
from offturn.matching import Recognised, recognise
from offturn.outbox import Batch
from offturn.overflow import Overflow
from offturn.store.replies import Meta
from offturn.store.sessions import SessionStore
from offturn.view import Options, View
from offturn_engine.errors import CannotFit

STALE = "{}: this view is of what this process knows, {} of its messages wait for the store"
UNKNOWN = "{}: this process does not know the session well enough to tell what of the list is new, nothing was recorded"
NO_ROOM = "{}: what is new in the list was not kept, the next list brings it again"


class Away(Holding):
    """The part of a session that shows something without the store."""

    async def _view_away(self, error: StoreUnavailable | StoreFull, options: Options) -> View:
        """Of what was read and what waits. Raises the error again where that is nothing, or as the client was told."""
        self._refuse_outage(error)
        cache = self._offline()
        wanted = options.generation
        if cache.is_empty or (wanted and not _known(cache, wanted)):
            raise error
        return await self._show(cache, options, stale=self._stale(error))

    async def _mirror_away(
        self,
        error: StoreUnavailable | StoreFull,
        history: Sequence[Any],
        ids: Ids | None,
        usage: Any,
        partial: bool,
        options: Options,
    ) -> View:
        """Of the session with the list's new messages, which are kept; of the list alone where that cannot be told."""
        self._refuse_outage(error)
        cache = self._offline()
        try:
            found = None if cache.absent else await recognise(cache, history, ids, partial)
        except Conflict:
            found = None
        if found is None or found.other is not None or cache.is_empty:  # a path is moved with the store only
            prepared = prepare(history, ids, self._fmt, self._origin)
            if not prepared.messages:
                raise error
            return await self._show(self._list_only(prepared), options, stale=UNKNOWN.format(error))
        told = self._keep_new(error, cache, found, ids, usage)
        view = await self._show(self._offline(), replace(options, lead=found.system), stale=told or self._stale(error))
        return replace(view, behind=found.behind)

    def _keep_pending(self, error: StoreUnavailable | StoreFull, batch: Batch, digests: tuple[str, ...]) -> None:
        """What an overflow was to record first; `digests` are those of all its pending messages."""
        self._refuse_outage(error)
        if batch.prepared.messages and not batch.recorded:
            self._kept(batch, error)
        self._shrinking.pending = digests or self._shrinking.pending

    async def _overflow_away(
        self, error: StoreUnavailable | StoreFull, said: Overflow, sent: View, batch: Batch
    ) -> View:
        """A smaller view, of what was read, what waits, and what is pending now."""
        cache = self._offline()
        if cache.is_empty:
            raise error
        return await self._smaller(cache, said, sent, batch, stale=self._stale(error))

    async def _smaller(self, cache: Cache, said: Overflow, sent: View, batch: Batch, *, stale: str = "") -> View:
        """The view after an overflow. Where none fits the window that the provider named, it is as if it had named none.

        Raises CannotFit, also at the end of a row.
        """
        self._before = None  # what is learnt counts for later views too, also where this one does not fit
        config, added = cache.config or self._config, sum(message.tokens for message in batch.prepared.messages)
        options = self._shrinking.next(cache, config, said, sent, added)
        try:
            return await self._show(cache, options, stale=stale)
        except CannotFit as error:
            if said.window is None:
                raise
            try:
                with self._shrinking.doubting(config, options):
                    options = self._shrinking.next(cache, config, replace(said, window=None), sent, added)
                    return await self._show(cache, options, stale=stale)
            except CannotFit:
                raise error from None

    def _keep_new(
        self, error: StoreUnavailable | StoreFull, cache: Cache, found: Recognised, ids: Ids | None, usage: Any
    ) -> str:
        """What of the list is new goes into the outbox; a warning where it has no room."""
        if not found.new and usage is None:
            return ""
        names = None if ids is None or not found.new else ids[found.start :]
        batch = self._mirrored_batch(cache, prepare(found.new, names, self._fmt, self._origin, found.start), usage)
        try:
            self._kept(batch, error)
        except StoreUnavailable as full:
            return NO_ROOM.format(full)
        return ""

    def _mirrored_batch(self, cache: Cache, new: Prepared, usage: Any) -> Batch:
        """What is new in a host's list, for the end of the log as this cache has it."""
        return self._batch(new, usage, expect=len(cache.log) if new.entries else None, mirrored=True)

    def _refuse_outage(self, error: StoreUnavailable | StoreFull) -> None:
        if self._is_final(error):
            raise error

    def _stale(self, error: Exception) -> str:
        waiting = sum(len(batch.prepared.messages) for batch in self._outbox.waiting)
        return STALE.format(error, waiting)

    def _offline(self) -> Cache:
        """What was read of the session, and behind it what waits for the store."""
        made, known = self._blank(), self._cache
        if known is not None:
            made.log, made.ids = list(known.log), list(known.ids)
            made.forms, made.tombstones = dict(known.forms), dict(known.tombstones)
            made.generations, made.passing = known.generations, known.passing
            made.absent, made.enough = known.absent, known.enough
            if known.meta:
                shown = _shown(known, known.meta)
                # Of the generations only those whose record is here: there is no store to ask for others.
                here = {number: info for number, info in known.meta.generations.items() if _known(known, number)}
                made.meta = replace(known.meta, adopted=shown, current=shown, generations=here)
        made.waiting = (known.recorded_from if known else 0, len(made.log))
        for unread in known.unread if known else ():
            _append(made, unread.batch)
        for batch in self._outbox.waiting:
            if not batch.sent or made.place_of(batch.prepared, batch.at) is None:
                _append(made, batch.prepared)
        return made

    def _list_only(self, prepared: Prepared) -> Cache:
        """A host's list in the place of the session, whose settings and calibration count."""
        made, meta = self._blank(), self._cache and self._cache.meta
        made.meta = replace(meta, path=(), adopted=0, current=0, generations={}) if meta else None
        _append(made, prepared)
        return made

    def _blank(self) -> Cache:
        made = Cache(cast("SessionStore", None), self.key, self._fmt, self._config)  # nothing of it is asked for
        made.stale, made.offline = False, True
        return made


def _shown(cache: Cache, meta: Meta) -> int:
    """Of the generation in force and those that it replaced, the newest whose record is here; each covers less than the next."""
    number = meta.adopted
    while not _known(cache, number):
        info = meta.generations.get(number)
        number = info.replaces if info else 0
    return number


def _known(cache: Cache, number: int) -> bool:
    """Is this generation's record in the cache?"""
    info = cache.meta.generations.get(number) if cache.meta else None
    return number == 0 or (info is not None and (number, info.nonce) in cache.generations)


def _append(cache: Cache, prepared: Prepared) -> None:
    prepared = cache.placed(prepared)
    for message, entry in zip(prepared.messages, prepared.entries, strict=True):
        cache.log.append(message.placed(len(cache.log)))
        cache.ids.append(entry.host_id)
    cache.waiting = (cache.waiting[0], len(cache.log))
