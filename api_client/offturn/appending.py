"""Appending to a session: one script, whose lost reply is asked for again under the same operation id."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.copying import made
from offturn.entries import Ids, OriginRule, Prepared, listed, prepare_in_pages
from offturn.errors import (
    Behind,
    Conflict,
    InvalidMessage,
    InvalidSetting,
    Moved,
    OffturnError,
    SessionFull,
    StoreFull,
    StoreUnavailable,
)
from offturn.filling import whole
from offturn.handle import Handle
from offturn.health import UNATTENDED
from offturn.learning import seen_in
from offturn.links import Links
from offturn.loading import requirement
from offturn.operations import operation_id
from offturn.outbox import MAX_MESSAGES, Batch, Undelivered
from offturn.recording import BEHIND, KEPT, RESTORED, UNSURE, Measured, refusal
from offturn.store.replies import BehindLog, Gone, PathMoved, RecordReply, Unexpected
from offturn.store.replies import Recorded as Stored
from offturn.ticket import Ticket
from offturn.tracing import traced
from offturn.usage import Usage
from offturn.view import View
from offturn.wording import several
from offturn.written import recorded
from offturn_engine.ranges import Ranges
from offturn_engine.triggers import Requirement

TRIES = 5
BUSY = "other processes changed the session at every try: call again"


@dataclass(frozen=True, kw_only=True)  # no slots: see `copying`
class Recorded:
    """What a record did. `first_seq` to `last_seq` were appended; nothing, if `first_seq > last_seq`.

    path: seq ranges the session shows; generation: number in force; requirement: is a compaction wanted now?
    ticket: follows the compaction that this record made due.
    durable: the store acknowledged it: a server that syncs its file every second, the default, may lose the last second
    when its machine loses power or it fails over, and this handle then records that again. False: the store is away and
    the messages are in this process only (`undelivered`), delivered in order once it is back; seqs are provisional,
    requirement and generation those last seen.
    warnings: sentences without content.
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
        return made(
            cls,
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

    _compared: tuple[SessionConfig, SessionConfig, tuple[str, ...]] | None = None  # settings, and what differs in them

    @traced("offturn.record")
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
        While the store is away or full the messages are kept in this process, at most 256 or 4 MB of them, and
        `Recorded.durable` is False; once there is no room, or with `on_outage="raise"`, it raises StoreUnavailable.
        Raises InvalidMessage (index, field), InvalidSetting, Conflict, Behind. After StoreUnavailable make the same
        call again on this object: it takes effect once; from another process it does so with `ids` only.
        """
        async with self._preparing:  # which nobody waits for, unless a record before is longer than a page
            rule = self._origin if origin is None else origin
            prepared = await prepare_in_pages(listed(messages), ids, self._fmt, rule)
            batch = self._batch(prepared, usage, view, expect)
            self._outbox.batches.append(batch)  # its place is that of the call, whichever call gets its turn first
        try:
            async with self._open(fresh=self._fmt.by_place, before=batch, lazy=not self._fmt.by_place) as (
                links,
                cache,
            ):
                return await self._send(links, cache, batch)
        except (StoreUnavailable, StoreFull) as error:
            return self._kept(batch, error)
        except asyncio.CancelledError:
            self._remember(batch)
            raise
        finally:
            if not batch.kept:
                self._outbox.drop(batch)

    def undelivered(self) -> list[Undelivered]:
        """Messages of this session that only this process has: those the store refused when it was back, then those that
        wait for it. What was refused stays here until newer messages need its room.
        """
        return self._outbox.undelivered()

    def _batch(
        self,
        prepared: Prepared,
        usage: Any,
        view: View | None = None,
        expect: int | None = None,
        mirrored: bool = False,
    ) -> Batch:
        """A record to be sent; where the one before was of the same messages and may have happened, that one again.

        Raises InvalidSetting: what waits for the store must not be refused by this process when it is back.
        """
        if view is not None and not isinstance(view, View):
            raise InvalidSetting(f"view is a {type(view).__name__}: give the View that was sent")
        if expect is not None and not (type(expect) is int and expect >= 0):
            raise InvalidSetting(f"expect {expect!r:.40}: use the seq that the next message must get")
        unsure = self._unsure.same(prepared)
        return Batch(
            op=unsure.op if unsure else operation_id("record"),
            prepared=unsure.prepared if unsure else prepared,
            config=self._config,
            usage=Usage.from_response(usage) or usage,
            view=view or self._last,
            expect=expect,
            at=unsure.at if unsure else (len(self._cache.log) if self._cache else 0),
            mirrored=mirrored,
            sent=unsure is not None,
        )

    async def _send(
        self, links: Links, cache: Cache, batch: Batch, counted: tuple[int, View] | None = None
    ) -> Recorded:
        """Record it. `counted`: a provider's count of a request, and the view it was. Raises what `record` does."""
        batch.prepared = batch.prepared.measured(cache.fmt)
        if not batch.sent:
            batch.prepared = cache.placed(batch.prepared)
        for _ in range(TRIES):
            _refuse_lost(cache, batch)
            again = batch.sent
            if again and (known := await self._known(cache, batch)):
                return known
            config = cache.config or batch.config
            if counted and cache.meta:
                measured = Measured.counted(*counted, cache.meta, config)
            else:
                measured = Measured.of(batch.usage, batch.view, cache.meta, config, await seen_in(cache, config))
            # What was looked for in vain must not come in between, from another process that brings it back.
            place = len(cache.log) if again and batch.expect is None else batch.expect
            reply = await self._sent(links, cache, batch, config, measured, place)
            came_between = isinstance(reply, PathMoved) or (isinstance(reply, Unexpected) and place != batch.expect)
            if not came_between and not isinstance(reply, BehindLog):
                break
            await cache.refresh()  # which brings back what was lost, or tells that it cannot; and what was redacted
        if came_between:
            raise StoreUnavailable(BUSY)
        self._unsure.forget()
        if not isinstance(reply, Stored):
            if isinstance(reply, BehindLog | Gone):
                self._cache = None  # the next call starts from what the store holds
            raise refusal(self.key, reply, batch.prepared)
        recorded(cache, reply, batch.prepared, measured.calibration)
        batch.recorded = True
        if cache.unread:  # others were there before: what this handle does not know it could not bring back
            with suppress(OffturnError):
                await cache.refresh()
        if not batch.kept:  # else it was answered when it was kept
            self._answered(batch)
        if reply.ring:
            await links.ring(self.key, reply.request_no)
        ticket = Ticket(links.store, self.key, reply.request_no, self._applied) if reply.ring else None
        told = (reply.blocked,) if reply.blocked else ()
        return Recorded.of(reply, ticket, (*measured.warnings, *told, *self._warnings(cache)))

    async def _known(self, cache: Cache, batch: Batch) -> Recorded | None:
        """Of a record that may have happened: it is in the log, if it has.

        Asked before its operation id is, which the store has forgotten after 128 newer ones, or lost in a failover that
        another process has made good.
        """
        await cache.refresh()
        await whole(cache, batch.at)
        _refuse_lost(cache, batch)
        first, meta = cache.place_of(batch.prepared, batch.at), cache.meta
        if first is None or meta is None:
            return None
        self._unsure.forget()
        batch.recorded = True
        if not batch.kept:
            self._answered(batch)
        return Recorded(
            first_seq=first,
            last_seq=first + len(batch.prepared.entries) - 1,
            path=meta.path,
            generation=meta.adopted,
            requirement=requirement(meta),
            ticket=None,
            durable=True,
            warnings=self._warnings(cache),
        )

    async def _sent(
        self, links: Links, cache: Cache, batch: Batch, config: SessionConfig, measured: Measured, place: int | None
    ) -> RecordReply:
        batch.sent = True
        return await self._once(
            lambda op: links.store.record(
                self.key,
                op=op,
                incarnation=cache.incarnation or cache.next_incarnation,
                redactions=cache.redactions,
                tail_length=len(cache.log),
                tail_chain=cache.chain,
                entries=batch.prepared.entries,
                expect=place,
                config=None if cache.log else config.to_json(),
                limits=None if cache.log else config.bounds,
                calibration=measured.calibration,
                thresholds=measured.thresholds,
                pace=measured.pace,
                usage=measured.event,
            ),
            batch.op,
        )

    async def _deliver(self, links: Links, cache: Cache, before: Batch | None) -> bool:
        """What the store refuses is told apart from what it could not take: the rest goes on without it."""
        done = False
        behind: Behind | None = None
        for batch in self._outbox.deliverable(before):
            done = True
            try:
                if behind:  # it was said before the host could know
                    raise behind
                await self._send(links, cache, batch)
                self._outbox.drop(batch)
            except Moved as error:
                if not batch.mirrored:
                    self._outbox.refuse(batch, error)
                self._outbox.drop(batch)  # the list it came from brings it again
            except (Conflict, InvalidMessage, Behind, SessionFull) as error:
                behind = error if isinstance(error, Behind) else None
                self._outbox.refuse(batch, error)
        return done

    def _kept(self, batch: Batch, error: StoreUnavailable | StoreFull) -> Recorded:
        """In the outbox, or raised again: as the client was told, or because there is no room."""
        if self._is_final(error):
            self._remember(batch)
            raise _unsure(error, batch) from None
        seq = self._next_seq(before=batch)
        try:
            self._outbox.keep(batch)
        except StoreUnavailable as full:
            self._remember(batch)
            raise _unsure(full, batch) from None
        self._answered(batch)
        self._connector.courier.hold(self._outbox, self._redeliver)
        meta, waiting = self._cache and self._cache.meta, sum(one.weight for one in self._outbox.waiting)
        return Recorded(
            first_seq=seq,
            last_seq=seq + len(batch.prepared.entries) - 1,
            path=meta.path if meta else (),
            generation=meta.adopted if meta else 0,
            requirement=requirement(meta) if meta else "none",
            ticket=None,
            durable=False,
            warnings=(KEPT.format(error, waiting, MAX_MESSAGES),),
        )

    def _is_final(self, error: StoreUnavailable | StoreFull) -> bool:
        """Is this for the host, and not an outage that it is spared?"""
        return self._connector.on_outage == "raise" or isinstance(error, SessionFull)

    def _next_seq(self, before: Batch | None = None) -> int:
        """The provisional seq after what is known, and what waits before this batch."""
        waiting = 0
        for batch in self._outbox.batches:
            if batch is before:
                break
            waiting += len(batch.prepared.entries)
        return (len(self._cache.log) if self._cache else 0) + waiting

    async def _redeliver(self) -> None:
        async with self._open(report=False, lazy=not self._fmt.by_place):
            pass

    def _remember(self, batch: Batch) -> None:
        if batch.sent:
            self._unsure.remember(batch)

    def _answered(self, batch: Batch) -> None:
        """A model's answer ends a row of overflows, whether or not the store has it yet."""
        if Usage.from_response(batch.usage) or any(
            message.origin == "assistant" for message in batch.prepared.messages
        ):
            self._shrinking.answered()

    async def _record(
        self, links: Links, cache: Cache, batch: Batch, counted: tuple[int, View] | None = None
    ) -> Recorded:
        """As `_send`, for a call that does more than that."""
        try:
            return await self._send(links, cache, batch, counted)
        except StoreUnavailable as error:
            self._remember(batch)
            raise _unsure(error, batch) from None
        except asyncio.CancelledError:
            self._remember(batch)
            raise

    def _warnings(self, cache: Cache) -> tuple[str, ...]:
        """What of this handle's settings does not count, because the session keeps those of its first record.

        And what the store had lost, once.
        """
        restored = (RESTORED.format(several(cache.restored, "message")),) if cache.restored else ()
        cache.restored = 0
        if cache.config is None:
            assumed = f"no window given: {self._config.window} tokens are assumed, pass window="
            return restored if self._window_given else (*restored, assumed)
        if self._compared is None or self._compared[0] is not cache.config or self._compared[1] is not self._config:
            self._compared = cache.config, self._config, self._differing(cache.config)
        return (*restored, *self._compared[2])

    def _differing(self, kept: SessionConfig) -> tuple[str, ...]:
        sizes = () if self._window_given else ("window", "max_output")
        names = ", ".join(name for name in self._config.differences(kept) if name not in sizes)
        told = f"the session keeps {names} of its first record; this handle was opened with another value"
        return (told,) if names else ()


def _refuse_lost(cache: Cache, batch: Batch) -> None:
    """Raises Behind, once, where the store no longer holds what this handle has read; a whole list brings it again."""
    if cache.lost and not batch.mirrored:
        cache.lost = False
        raise Behind(BEHIND)


def _unsure(error: StoreUnavailable | StoreFull, batch: Batch) -> StoreUnavailable | StoreFull:
    """The error, and what a host does about a record that may have taken effect."""
    may_have = batch.sent and isinstance(error, StoreUnavailable)
    return StoreUnavailable(f"{error}; {UNSURE}") if may_have else error
