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
from offturn.store.sessions import SessionStore
from offturn.view import Options, View
from offturn_engine.match import Form
from offturn_engine.messages import RawMessage

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
        if not cache.path or (wanted and not _known(cache, wanted)):
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
            found = await recognise(cache, history, ids, partial)
        except Conflict:
            found = None
        if found is None or found.other is not None or not cache.path:  # a path is moved with the store only
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
        if not cache.path:
            raise error
        return await self._show(cache, self._smaller(cache, said, sent, batch), stale=self._stale(error))

    def _smaller(self, cache: Cache, said: Overflow, sent: View, batch: Batch) -> Options:
        """What the view after an overflow has to keep to. Raises CannotFit at the end of a row."""
        added = sum(message.tokens for message in batch.prepared.messages)
        return self._shrinking.next(cache, cache.config or self._config, said, sent, added)

    def _keep_new(
        self, error: StoreUnavailable | StoreFull, cache: Cache, found: Recognised, ids: Ids | None, usage: Any
    ) -> str:
        """What of the list is new goes into the outbox; a warning where it has no room."""
        if not found.new and usage is None:
            return ""
        batch = self._mirrored_batch(cache, found.new, found.start, ids, usage)
        try:
            self._kept(batch, error)
        except StoreUnavailable as full:
            return NO_ROOM.format(full)
        return ""

    def _mirrored_batch(
        self, cache: Cache, new: Sequence[RawMessage], start: int, ids: Ids | None, usage: Any
    ) -> Batch:
        """What is new in a host's list, from `start` on, for the end of the log as this cache has it."""
        prepared = prepare(new, None if ids is None or not new else ids[start:], self._fmt, self._origin, start)
        return self._batch(prepared, usage, expect=len(cache.log) if new else None, mirrored=True)

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
            made.log, made.ids, made.forms = list(known.log), list(known.ids), list(known.forms)
            made.generations, made.passing = known.generations, known.passing
            if known.meta:
                shown = known.meta.adopted if _known(known, known.meta.adopted) else 0
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
        made.stale = False
        return made


def _known(cache: Cache, number: int) -> bool:
    """Is this generation's record in the cache?"""
    info = cache.meta.generations.get(number) if cache.meta else None
    return number == 0 or (info is not None and (number, info.nonce) in cache.generations)


def _append(cache: Cache, prepared: Prepared) -> None:
    prepared = cache.placed(prepared)
    for message, entry in zip(prepared.messages, prepared.entries, strict=True):
        cache.log.append(message.placed(len(cache.log)))
        cache.ids.append(entry.host_id)
        cache.forms.append(Form(message.raw, cache.fmt))
    cache.waiting = (cache.waiting[0], len(cache.log))
