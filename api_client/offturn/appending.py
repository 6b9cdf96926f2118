"""Appending to a session: one script, whose lost reply is asked for again under the same operation id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

from offturn.cache import Cache
from offturn.entries import Ids, OriginRule, Prepared, listed, prepare
from offturn.errors import Behind, StoreUnavailable
from offturn.handle import Handle, T
from offturn.health import UNATTENDED
from offturn.learning import seen_in
from offturn.links import Links
from offturn.overflow import Overflow
from offturn.recording import BEHIND, UNSURE, Measured, refusal
from offturn.shrinking import count_of
from offturn.store.replies import BehindLog, Gone, PathMoved, RecordReply
from offturn.store.replies import Recorded as Stored
from offturn.ticket import Ticket
from offturn.view import View
from offturn_engine.ranges import Ranges
from offturn_engine.triggers import Requirement


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a record did. `first_seq` to `last_seq` were appended; nothing, if `first_seq > last_seq`.

    path: seq ranges the session shows; generation: number in force; requirement: is a compaction wanted now?
    ticket: follows the compaction that this record made due; durable: the store acknowledged it.
    """

    first_seq: int
    last_seq: int
    path: Ranges
    generation: int
    requirement: Requirement
    ticket: Ticket | None
    durable: bool
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, reply: Stored, ticket: Ticket | None, warnings: tuple[str, ...]) -> Self:
        """From the store's answer."""
        return cls(
            first_seq=reply.first_seq,
            last_seq=reply.last_seq,
            path=reply.path,
            generation=reply.adopted,
            requirement=reply.requirement,
            ticket=ticket,
            durable=True,
            warnings=(*warnings, UNATTENDED) if reply.unattended else warnings,
        )


class Appending(Handle):
    """The part of a session that records."""

    async def record(
        self,
        messages: object,
        *,
        ids: Ids | None = None,
        usage: Any = None,
        view: View | None = None,
        origin: OriginRule = None,
        expect: int | None = None,
    ) -> Recorded:
        """Append messages: raw dicts, the SDK's response objects, or one of them. All of them, or none.

        ids: the host's own, one each; an id that is known with equal content is a no-op, with other content a Conflict.
        usage: of the call that was made with `view` (default: the last view of this handle), as the SDK gave it; it
        calibrates estimates. origin: who wrote the user-role messages: `human`, `host`, `restore` ... (see the class),
        or a function of the raw message; default: that of the session. expect: seq the next message must get.
        Raises InvalidMessage (index, field), InvalidSetting, Conflict, Behind. After StoreUnavailable make the same
        call again on this object: it takes effect once; from another process it does so with `ids` only.
        """
        async with self._open() as (links, cache):
            _refuse_lost(cache)
            batch = prepare(listed(messages), ids, cache.fmt, self._origin if origin is None else origin)
            return await self._record(links, cache, batch, self._measured(cache, usage, view), expect)

    def _measured(self, cache: Cache, usage: Any = None, view: View | None = None) -> Measured:
        config = cache.config or self._config
        return Measured.of(usage, view or self._last, cache.meta, config, seen_in(cache, config))

    async def _record(
        self, links: Links, cache: Cache, batch: Prepared, measured: Measured, expect: int | None
    ) -> Recorded:
        config = cache.config or self._config
        op = self._unsure.op(batch)

        async def write(op: str) -> RecordReply:
            return await links.store.record(
                self.key,
                op=op,
                incarnation=cache.incarnation or cache.next_incarnation,
                redactions=cache.redactions,
                tail_length=len(cache.log),
                tail_chain=cache.chain,
                entries=batch.entries,
                expect=expect,
                config=config.to_json(),
                limits=config.bounds,
                calibration=measured.calibration,
                thresholds=measured.thresholds,
                pace=measured.pace,
                usage=measured.event,
            )

        while isinstance(reply := await self._told(write, op), PathMoved):
            await cache.refresh()  # something was redacted: what this handle has read is not there any more
            _refuse_lost(cache)
        self._unsure.forget()
        if not isinstance(reply, Stored):
            if isinstance(reply, BehindLog | Gone):
                self._cache = None  # the next call starts from what the store holds
            raise refusal(self.key, reply, batch)
        cache.recorded(reply, batch, measured.calibration)
        if measured.event or any(message.origin == "assistant" for message in batch.messages):
            self._shrinking.answered()
        if reply.ring:
            await links.ring(self.key, reply.request_no)
        ticket = Ticket(links.store, self.key, reply.request_no) if reply.ring else None
        told = (reply.blocked,) if reply.blocked else ()
        return Recorded.of(reply, ticket, (*measured.warnings, *told, *self._warnings(cache)))

    async def _catch_up(self, links: Links, cache: Cache, said: Overflow, sent: View, pending: object) -> int:
        """Record what is pending, once in a row of overflows, and the provider's count of what was sent.

        Returns the estimate of what was recorded. Whether that held what is pending is not known, so its count teaches nothing where something is.
        """
        batch = prepare(listed(pending), None, cache.fmt, self._origin)
        digests = tuple(entry.digest for entry in batch.entries)
        new = batch.after(self._shrinking.known(digests))
        measured = self._measured(cache)
        if cache.meta and not digests and (count := count_of(said, sent)):
            measured = Measured.counted(count, sent, cache.meta, cache.config or self._config)
        if new.entries or measured.calibration:
            _refuse_lost(cache)
            await self._record(links, cache, new, measured, None)
            if cache.stale:
                await cache.refresh()
        self._shrinking.pending = digests or self._shrinking.pending
        return sum(message.tokens for message in new.messages)

    def _warnings(self, cache: Cache) -> tuple[str, ...]:
        """What of this handle's settings does not count, because the session keeps those of its first record."""
        if cache.config is None:
            assumed = f"no window given: {self._config.window} tokens are assumed, pass window="
            return () if self._window_given else (assumed,)
        sizes = () if self._window_given else ("window", "max_output")
        other = [name for name in self._config.differences(cache.config) if name not in sizes]
        if not other:
            return ()
        names = ", ".join(other)
        return (f"the session keeps {names} of its first record; this handle was opened with another value",)

    async def _told(self, write: Callable[[str], Awaitable[T]], op: str) -> T:
        """As `_once`; an error says what a host does about a record that may have taken effect."""
        try:
            return await self._once(write, op)
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error}; {UNSURE}") from None


def _refuse_lost(cache: Cache) -> None:
    """Raises Behind, once, where the store no longer holds what this handle has read."""
    if cache.lost:
        cache.lost = False
        raise Behind(BEHIND)
