"""A view on request: held, where the host wants that, while a compaction is on its way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from offturn.appending import Appending
from offturn.attachments import fetched
from offturn.cache import Cache
from offturn.crossing import show_as_asked
from offturn.deadline import one_call
from offturn.errors import InvalidSetting
from offturn.filling import LookAgain
from offturn.links import Links
from offturn.shrinking import DOUBTED
from offturn.unchanged import Kept
from offturn.view import Options, View
from offturn_engine.errors import CannotFit
from offturn_engine.ranges import length

LONGEST_HOLD = 600.0  # seconds
FIRST_PAUSE, LONGEST_PAUSE, SLOWER = 0.05, 0.25, 1.5  # seconds between two looks, and how they grow
LOST = "the store no longer holds messages this handle has seen: it lost writes, or the session was purged or expired"
MENDED = "the store had lost the records of {} generations: an earlier one took their place"


class Holding(Appending):
    """The part of a session that gives views."""

    async def _viewed(self, options: Options, hold: float) -> View:
        """What to send. Other calls of this handle go on while it is held."""
        if hold:
            urgent, held = await self._held(options, hold)
            return replace(await self._anew(replace(options, urgent=urgent)), held=held)
        links = await self._connector.links()  # an embedded server takes the time it needs
        with one_call(self._connector.timeout):
            return await self._unchanged(links, options) or await self._anew(options)

    async def _anew(self, options: Options) -> View:
        while True:
            with suppress(LookAgain):
                async with self._open(fresh=True, lazy=True) as (_, cache):
                    view = await self._show(cache, options)
                    self._before = Kept.of(cache, options, view)
                    return view

    async def _unchanged(self, links: Links, options: Options) -> View | None:
        """The view before, where it is the one to give; None: that cannot be told without this handle's turn."""
        kept, cache, last = self._before, self._cache, self._last
        if kept is None or cache is None or not kept.answers(options, cache) or self._is_busy():
            return None
        if links.store is not cache.store or await cache.store.stamp(self.key) != kept.stamp:
            return None
        if self._before is not kept or self._last is not last:  # another call was faster
            return None
        self._last = kept.again()
        return self._last

    def _is_busy(self) -> bool:
        return self._lock.locked() or bool(self._outbox.batches) or not self._outbox.is_empty

    async def _show(self, cache: Cache, options: Options, *, stale: str = "") -> View:
        """The view; `stale`: the warning of one that is made without the store."""
        self._before = None
        config = cache.config or self._config
        options, limited = self._shrinking.limited(config, options)
        try:
            view = await show_as_asked(cache, config, options, offline=bool(stale))
        except CannotFit:
            if options.allowed is None or options.most is not None:  # none was learnt; or just now, see `_smaller`
                raise
            with self._shrinking.doubting(config, options):
                view = await show_as_asked(cache, config, replace(options, allowed=None), offline=bool(stale))
            limited = (DOUBTED.format(options.allowed, view.limit),)
            cache.settled = False
        same = 0
        for old, new in zip(self._last.messages if self._last else (), view.messages, strict=False):
            if old != new:
                break
            same += 1
        cache.settled = cache.settled and not (cache.restored or cache.lost or cache.mended)  # which is told once
        warnings = (*view.warnings, *limited, *self._warnings(cache), *_losses(cache))
        warnings += (stale,) if stale else (cache.meta.warnings if cache.meta else ())
        cache.lost, cache.mended = False, 0
        cache.saw((0, len(cache.log)))
        name = f"{view.id}+{cache.waiting[1] - cache.waiting[0]}" if stale else view.id
        self._last = replace(view, id=name, prefix=same, warnings=warnings, stale=bool(stale))
        return self._last

    async def _with_media(self, view: View) -> View:
        """The view with what the host keeps itself. Asked for after this handle's turn: its other calls go on meanwhile."""
        if self._attachments is None:
            return view
        attachments, missing = await fetched(self._attachments, view.messages, self._connector.timeout)
        return replace(view, attachments=attachments, warnings=(*view.warnings, *missing))

    async def _held(self, options: Options, hold: float) -> tuple[bool, float]:
        """Wait from the hard level while a job is on its way: whether the session is at that level all the same, and for
        how many seconds it waited.
        """
        loop = asyncio.get_running_loop()
        began, pause, waited = loop.time(), FIRST_PAUSE, 0.0
        while True:
            left = hold - (loop.time() - began)
            async with self._open(fresh=True, lazy=True) as (_, cache):
                if options.generation is not None or not _at_hard_level(cache):
                    return False, waited
                if left <= 0 or not await _on_its_way(cache, left):
                    return True, waited
            await asyncio.sleep(min(pause, left))
            pause, waited = min(pause * SLOWER, LONGEST_PAUSE), loop.time() - began


def checked_hold(hold: object) -> float:
    """The same. Raises InvalidSetting for what is no number of seconds from 0 to 600."""
    if isinstance(hold, bool) or not isinstance(hold, int | float) or not 0 <= hold <= LONGEST_HOLD:
        raise InvalidSetting(f"hold {hold!r:.40}: use a number of seconds from 0 to {LONGEST_HOLD:.0f}")
    return float(hold)


def _at_hard_level(cache: Cache) -> bool:
    """Also of a shadow session? No: nothing that comes would be shown."""
    meta, config = cache.meta, cache.config
    if meta is None or config is None or config.adopt == "never":
        return False
    return meta.pressure >= meta.hard and length(meta.path) >= config.policy.trigger.hard_messages


async def _on_its_way(cache: Cache, seconds: float) -> bool:
    """Does a worker hold the session, or may one take it within that time? Not where none was seen."""
    if cache.live.leased:
        return True
    if cache.live.unattended:
        return False
    wait = await cache.store.due_in_ms(cache.key)
    return wait is not None and wait < seconds * 1000


def _losses(cache: Cache) -> list[str]:
    return ([LOST] if cache.lost else []) + ([MENDED.format(cache.mended)] if cache.mended else [])
