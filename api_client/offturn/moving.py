"""What moves, copies or steers a session. Nothing of the log is changed or deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from offturn.cache import Cache
from offturn.config import Adopt, SessionConfig, checked_adopt, checked_model
from offturn.copying import copied
from offturn.entries import entry_of
from offturn.errors import Conflict, InvalidSetting, Refused
from offturn.exporting import export
from offturn.handle import Handle
from offturn.links import Links
from offturn.paths import Move, Ref, amended, phase_ends, place, up_to
from offturn.room import no_room
from offturn.store.errors import StoreFault
from offturn.store.replies import (
    ConfigureReply,
    Gone,
    Meta,
    Overfull,
    PathMoved,
    Steered,
    SteerReply,
    Undone,
    UndoReply,
)
from offturn.store.replies import Recorded as Stored
from offturn.written import configured, moved
from offturn_config.keys import SessionKey
from offturn_config.policy import Policy
from offturn_config.presets import load
from offturn_engine.compaction import PhaseEnd
from offturn_engine.messages import RawMessage

TRIES = 5
MOVED = "the path is not the one this handle has seen: look again (view, mirror or status), then take it back"
BUSY = "the session changed at every try: call again"


class Moving(Handle):
    """The part of a session that hosts call seldom."""

    async def rewind(self, *, to: Ref | None = None, turns: int = 1, messages: int | None = None) -> list[RawMessage]:
        """Take the newest messages off the path: the last `turns` human ones and all after them, or all after `to`, or
        the last so many `messages`, whatever they are. Returns those messages, the oldest first.

        They stay in the log and are not shown any more; their ids may come again. In force is then the newest generation
        that covers none of them; a running job is superseded. A list of yours is shortened in the same way before it is
        mirrored again. to: a seq or your own id; that message stays.
        Raises Refused where there is nothing to take back, and Conflict where another process recorded or took back
        messages that this handle has not seen.
        """
        _check_count("turns", turns)
        if messages is not None:
            _check_count("messages", messages)
        async with self._open() as (links, cache):
            seen = cache.incarnation, cache.meta and cache.meta.path
            taken: list[RawMessage] = []

            async def move() -> Move:
                if seen != (cache.incarnation, cache.live.path):
                    raise Conflict(MOVED)
                kept = up_to(cache, to, turns, messages)
                taken[:] = [copied(message.raw) for message in cache.path[len(kept) :]]
                return await Move.to(cache, kept)

            await self._move(links, cache, move)
            return taken

    async def amend(self, ref: Ref, message: Any) -> int:
        """Put another message in the place of one of the path; what follows it stays. Returns the new one's seq.

        ref: a seq or your own id, which the new message takes over. The old one stays in the log. In force is then the
        newest generation that does not cover it; a running job is superseded. Equal content changes nothing.
        Raises Refused where the message is not on the path or results would lose their calls, and InvalidMessage.
        """
        async with self._open(fresh=True) as (links, cache):
            old = cache.path[place(cache, ref)]

            async def move() -> Move:
                messages, made = amended(cache, ref, message, self._origin)
                return await Move.to(cache, messages, made.entries, {old.seq: len(cache.log)})

            if amended(cache, ref, message, self._origin)[1].messages[0].raw == old.raw:
                return old.seq
            return await self._move(links, cache, move) - 1

    async def fork(self, new_id: str, *, at: Ref | None = None) -> Self:
        """A new session with a copy of the path, up to and with `at`; both go on on their own.

        It has the same settings, ids and pins, and its phases end where they did, except those that only a damaged
        generation tells of. Generations are not copied: a long copy is
        due for a compaction at once. Nor is what was requested, by `phase_done` either: who asked for that waits for it here.
        Raises Refused where `new_id` holds messages already, or nothing is recorded here.
        """
        key = SessionKey(self.key.tenant, new_id)
        async with self._open(fresh=True) as (links, cache):
            told = await _ends_told(cache)  # first: where its generation is lost, the session is read anew
            meta = cache.live
            stop = None if at is None else place(cache, at) + 1
            old = SessionConfig.from_json(meta.config)
            pins = tuple(i for i, message in enumerate(cache.path[:stop]) if message.pinned)
            entries = [
                entry_of(message, i) for message, i in zip(cache.path[:stop], cache.path_ids[:stop], strict=True)
            ]
            phases = phase_ends(cache, told, stop)
            there = await links.store.sync(key, incarnation=0, length=0, chain="", limit_entries=0)
            if there.meta is not None:
                raise Refused(f"session {key.session!r} exists: fork to another id")
            reply = await self._once(
                lambda op: links.store.record(
                    key,
                    op=op,
                    incarnation=there.next_incarnation,
                    tail_length=0,
                    tail_chain="",
                    entries=entries,
                    expect=0,
                    config=replace(old, pins=pins).onto(meta.config),
                    limits=(meta.ttl, meta.quota, meta.too_dense),
                    calibration=meta.calibration,
                    thresholds=(meta.soft, meta.hard, meta.growth),
                    pace=meta.pace,
                    phases=phases,
                )
            )
            if isinstance(reply, Overfull):
                raise no_room(key, reply)
            if not isinstance(reply, Stored):
                raise Conflict(f"session {key.session!r} was created or purged meanwhile: fork to another id")
            if reply.ring:
                await links.ring(key, reply.request_no)
        return type(self)(key, old, self._connector, self._origin, self._window_given)

    async def cancel(self) -> None:
        """Withdraw what was requested; a running job is superseded. Automatic triggers go on as before."""
        await self._steer(lambda links, cache, op: links.store.cancel(self.key, op=op, incarnation=cache.incarnation))

    async def unblock(self) -> None:
        """Let a session be compacted again that was parked because too many jobs ended badly, or that is blocked or held
        because compactions made no room.
        """
        await self._steer(lambda links, cache, op: links.store.unblock(self.key, op=op, incarnation=cache.incarnation))

    async def configure(
        self,
        *,
        policy: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        model: str | None = None,
        window: int | None = None,
        adopt: Adopt | None = None,
    ) -> None:
        """Change what the first record stored; None: as it is. A running job is superseded.

        overrides: parameters of `policy`, or of the session's own. model: another one forgets what usage has taught.
        A session goes on measuring as its first record did, whatever `trigger.estimator` another policy names: its sizes
        could not be compared otherwise. The view stays the same until the next compaction. Processes that change different things at once lose nothing.
        Raises UnknownPolicy, InvalidPolicy, InvalidSetting, and Conflict where others change the session at every try.
        """
        async with self._open(fresh=True) as (links, cache):
            for _ in range(TRIES):
                meta = cache.live
                old = SessionConfig.from_json(meta.config)
                base = old.policy if policy is None else load(policy)
                new = replace(
                    old.resized(old.window if window is None else window),
                    policy=_measuring(base.override(overrides) if overrides else base, old.policy),
                    model=old.model if model is None else checked_model(model),
                    adopt=old.adopt if adopt is None else checked_adopt(adopt),
                )
                learnt = "" if new.model != old.model else (meta.calibration or "")
                reply = await self._configured(links, meta, new, learnt)
                if isinstance(reply, Steered):
                    configured(cache, new, learnt)
                    self._config = new
                if not isinstance(reply, PathMoved):
                    await self._steered(links, cache, reply)
                    return
                await cache.refresh()  # another process has configured it too: on top of that
            raise Conflict(BUSY)

    async def export(self) -> AsyncIterator[dict[str, Any]]:
        """Everything, as JSON values: one of kind `session`, then each `message` of the log, then each `generation`.

        Messages carry `seq`, `on_path`, `pinned`, `origin`, `id`, `at` and `redacted` (why, or None); they hold content. Raises Refused where nothing is
        recorded.
        """
        async with self._open(fresh=True) as (links, cache):
            meta = cache.live
        async for line in export(links.store, self.key, meta):
            yield line

    async def _configured(self, links: Links, meta: Meta, new: SessionConfig, learnt: str) -> ConfigureReply:
        """learnt: what usage has taught, and still counts."""
        known = new.calibration(learnt)
        levels = new.thresholds(known)
        return await self._once(
            lambda op: links.store.configure(
                self.key,
                op=op,
                incarnation=meta.incarnation,
                epoch=meta.epoch,
                config=new.onto(meta.config),
                thresholds=(levels.soft, levels.hard, levels.growth),
                limits=new.bounds,
                pace=new.pace(known),
                calibration=learnt,
            )
        )

    async def _move(self, links: Links, cache: Cache, move: Callable[[], Awaitable[Move]]) -> int:
        """The log's length afterwards. What was read and judged must still be so when it is written."""
        for _ in range(TRIES):
            await cache.refresh()
            meta = cache.live  # of before: where a lost generation is mended meanwhile, the store asks for another look
            made = await move()
            reply = await self._moved(links, meta, made)
            if isinstance(reply, PathMoved):
                continue
            if isinstance(reply, Overfull):
                raise no_room(self.key, reply)
            if not isinstance(reply, Undone):
                raise Conflict(f"session {self.key.session!r} was purged: record first")
            moved(cache, reply, made)
            if reply.ring:
                await links.ring(self.key, reply.request_no)
            return reply.length
        raise Conflict(BUSY)

    async def _moved(self, links: Links, meta: Meta, made: Move) -> UndoReply:
        return await self._once(
            lambda op: links.store.undo(
                self.key,
                op=op,
                incarnation=meta.incarnation,
                epoch=meta.epoch,
                length=meta.log_len,
                chain=meta.chain,
                counter=meta.counter,
                path=made.path,
                path_tokens=made.path_tokens,
                open_calls=made.open_calls,
                unfit=made.unfit,
                shown_tokens=made.shown_tokens,
                shadow=made.shadow,
                entries=made.entries,
                config=made.config,
            )
        )

    async def _steer(self, write: Callable[[Links, Cache, str], Awaitable[SteerReply]]) -> None:
        async with self._open(fresh=True) as (links, cache):
            cache.live  # noqa: B018 -- refuses a session that holds nothing
            await self._steered(links, cache, await self._once(lambda op: write(links, cache, op)))

    async def _steered(self, links: Links, cache: Cache, reply: SteerReply) -> None:
        if isinstance(reply, Gone):
            raise Conflict(f"session {self.key.session!r} was purged: record first")
        cache.stale = True
        if reply.ring:
            await links.ring(self.key, reply.request_no)


async def _ends_told(cache: Cache) -> tuple[PhaseEnd, ...]:
    """The ends of phases that the current generation tells of; none where it is damaged: a fork is the way out of that."""
    try:
        return cache.whole(await cache.pointed("current")).phases
    except StoreFault:
        await cache.refresh()  # raises where more than the generation is damaged
        return ()


def _check_count(name: str, count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidSetting(f"{name} {count!r:.40}: use a whole number from 1")


def _measuring(policy: Policy, old: Policy) -> Policy:
    """The policy with the estimator the session's stored sizes were made with."""
    estimator = old.trigger.estimator
    return policy if policy.trigger.estimator == estimator else policy.override({"trigger.estimator": estimator})
