"""Pinning messages: what a session keeps word for word in every later view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.errors import Conflict, Refused
from offturn.moving import BUSY, TRIES, Moving
from offturn.paths import Ref, place
from offturn.store.replies import Meta, PathMoved, Steered
from offturn.written import configured
from offturn_engine.handles import handle
from offturn_engine.pins import SHARE, marked, missing, size

MOST = 1_000  # pins of a session
TOO_LARGE = (
    "{} pinned messages with their tool groups would take about {} tokens of every view, pins may take {}, half of the "
    "policy's target: unpin others, or configure a larger window or size.target"
)
COVERED = (
    "{} is summarised or shortened already: it comes back with the next compaction, which request() asks for (on the "
    "command line `offturn session compact`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What is pinned now. `seqs`: all pinned messages of the path. `tokens`, calibrated estimate: what they and their
    tool groups take of every view, of `room`. `warnings`: sentences without content.
    """

    seqs: tuple[int, ...]
    tokens: int
    room: int
    warnings: tuple[str, ...] = ()


class Pinning(Moving):
    """The part of a session that pins."""

    async def pin(self, ref: Ref) -> Pinned:
        """Keep a message of the path word for word in every later view, with its tool group. Pinned again it stays so.

        ref: a seq or your own id. What a summary has taken already comes back, without its group, after the summary at the next compaction.
        Pins hold as long as the message is on the path: an amended message hands its pin to the new one, a redacted one
        has none, a fork copies them. Together they may take half of the policy's target. Where they leave no valid
        request all the same, as in a smaller window, the oldest give way last of all and `View.warnings` says so.
        A running job is superseded. Raises Refused for a message that is not on the path or redacted, and with the numbers
        where pins would take too much; Conflict where others change the session at every try.
        """

        def more(cache: Cache, pins: Sequence[int]) -> Sequence[int]:
            message = cache.path[place(cache, ref)]
            if message.seq in cache.redacted():
                raise Refused(f"message m{message.seq} is redacted: there is nothing to keep")
            return (*pins, message.seq)

        return await self._pinned(more, growing=True)

    async def unpin(self, ref: Ref) -> Pinned:
        """Let a message go again, from the next compaction on. Raises Refused for one that is not on the path."""

        def less(cache: Cache, pins: Sequence[int]) -> Sequence[int]:
            seq = cache.path[place(cache, ref)].seq
            return [pin for pin in pins if pin != seq]

        return await self._pinned(less, growing=False)

    async def _pinned(self, change: Callable[[Cache, Sequence[int]], Sequence[int]], *, growing: bool) -> Pinned:
        async with self._open(fresh=True) as (links, cache):
            for _ in range(TRIES):
                meta = cache.live
                old = SessionConfig.from_json(meta.config)
                pins = tuple(sorted({*change(cache, old.pins)}))
                told = await _told(cache, meta, old, pins)
                if growing and pins != old.pins and (told.tokens > told.room or len(pins) > MOST):
                    raise Refused(TOO_LARGE.format(len(told.seqs), told.tokens, told.room))
                if pins == old.pins:
                    return told
                new = replace(old, pins=pins)
                reply = await self._configured(links, meta, new, meta.calibration or "")
                if isinstance(reply, Steered):
                    configured(cache, new, meta.calibration or "")
                if not isinstance(reply, PathMoved):
                    await self._steered(links, cache, reply)
                    return told
                await cache.refresh()
            raise Conflict(BUSY)


async def _told(cache: Cache, meta: Meta, config: SessionConfig, pins: Sequence[int]) -> Pinned:
    calibration, path = config.calibration(meta.calibration), cache.path
    seqs = frozenset(pins) - cache.redacted()
    gone = missing(marked(path, seqs), await cache.pointed("adopted"))
    return Pinned(
        seqs=tuple(m.seq for m in path if m.seq in seqs),
        tokens=calibration.real(size(path, seqs)),
        room=int(config.limits.target * SHARE),
        warnings=tuple(COVERED.format(handle(seq)) for seq in gone),
    )
