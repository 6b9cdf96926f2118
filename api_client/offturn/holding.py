"""A view on request: held, where the host wants that, while a compaction is on its way."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from offturn.appending import Appending
from offturn.attachments import fetched
from offturn.cache import Cache
from offturn.crossing import show_as_asked
from offturn.errors import InvalidSetting
from offturn.shrinking import DOUBTED
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
        urgent = await self._held(options, hold) if hold else False
        async with self._open(fresh=True) as (_, cache):
            return await self._show(cache, replace(options, urgent=urgent))

    async def _show(self, cache: Cache, options: Options, *, stale: str = "") -> View:
        """The view; `stale`: the warning of one that is made without the store."""
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
        same = 0
        for old, new in zip(self._last.messages if self._last else (), view.messages, strict=False):
            if old != new:
                break
            same += 1
        warnings = (*view.warnings, *limited, *self._warnings(cache), *_losses(cache))
        warnings += (stale,) if stale else (cache.meta.warnings if cache.meta else ())
        cache.lost, cache.mended = False, 0
        cache.saw((0, len(cache.log)))
        name = f"{view.id}+{cache.waiting[1] - cache.waiting[0]}" if stale else view.id
        self._last = replace(view, id=name, prefix=same, warnings=warnings, stale=bool(stale))
        return self._last

    async def _with_media(self, view: View) -> View:
        """The view with what the host keeps itself. Asked for after this handle's turn: its other calls go on meanwhile."""
        attachments, missing = await fetched(self._attachments, view.messages, self._connector.timeout)
        return replace(view, attachments=attachments, warnings=(*view.warnings, *missing))

    async def _held(self, options: Options, hold: float) -> bool:
        """Wait from the hard level while a job is on its way. True: the session is at that level all the same."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + hold, FIRST_PAUSE
        while True:
            left = deadline - loop.time()
            async with self._open(fresh=True) as (_, cache):
                if options.generation is not None or not _at_hard_level(cache):
                    return False
                if left <= 0 or not await _on_its_way(cache, left):
                    return True
            await asyncio.sleep(min(pause, left))
            pause = min(pause * SLOWER, LONGEST_PAUSE)


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
