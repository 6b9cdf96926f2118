"""For hosts that keep their own list: what is new in it is recorded, what differs becomes a new path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from offturn.away import Away
from offturn.cache import Cache
from offturn.config import checked_model
from offturn.crossing import checked_format
from offturn.entries import Ids, Prepared, prepare_in_pages
from offturn.errors import Conflict, InvalidMessage, Moved, StoreFull, StoreUnavailable
from offturn.holding import checked_hold
from offturn.links import Links
from offturn.matching import Recognised, leading, recognise
from offturn.moving import BUSY, Moving
from offturn.paths import Move
from offturn.room import no_room
from offturn.store.replies import Overfull, PathMoved, Refused, Undone
from offturn.tracing import traced
from offturn.view import Options, View
from offturn.wording import several
from offturn.written import moved
from offturn_engine.groups import pair
from offturn_engine.messages import Json, Message
from offturn_engine.ranges import contains
from offturn_engine.realign import Realigned

TRIES = 5
DIFFERS = "mirror: the list differs from the session at message {} (the first is 0): {} left the path, {} new"
APART = (
    "mirror: none of the {} messages is the session's; as partial=True says that older ones came before, all were "
    "recorded after what the session has"
)


class Mirroring(Away, Moving):
    """The part of a session that follows a host's list."""

    @traced("offturn.mirror")
    async def mirror(
        self,
        history: Sequence[Any],
        *,
        ids: Ids | None = None,
        usage: Any = None,
        partial: bool = False,
        model: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        format: str | None = None,  # noqa: A002 -- the public contract
        system: Json = None,
        tools: Json = None,
        hold: float = 0.0,
    ) -> View:
        """For hosts that keep their own list: make the session what the list says, and get the view to send.

        The list is the transcript, or a view of ours that took its place; what is new at its end is recorded. Its
        leading system messages go out in place of the recorded ones. A strict prefix changes nothing (`View.behind`):
        only `rewind` shortens.
        Any other list becomes a new path, and a warning of the view says how many messages left it and how many are new:
        after an undo, the messages before it and the new ones; after an edit, what is the session's before and behind
        it, and the edited message in between; of a list that shares nothing, only its own. Nothing is deleted from the
        log. In force is then the newest generation that covers only messages of the new path; a running job is superseded.
        ids: the host's own, None where it has none; they decide before content. With them the list may lack its oldest
        messages, and one that is missing in the middle leaves the path.
        partial: the list holds only your newest messages. It goes on where it overlaps with the session, the longest
        overlap counts, and what is older stays. Messages that repeat can only be told apart by ids.
        model, hold, format: as in `view`; the list itself is in the session's own format.
        Raises Conflict, naming the message and the remedy, where messages would leave the path that this handle has not
        seen yet (recorded by another process, or before this handle was opened: call `view`, then mirror again); where a
        list without ids or `partial` starts in the middle of the session; for a summary of another session. Raises
        InvalidMessage where a result would have no call, and what `record` and `view` raise; after CannotFit the new
        messages are recorded, put the answer that `view` speaks of into the list too.
        """
        options = Options(
            model=checked_model(model),
            window=window,
            max_output=max_output,
            format=checked_format(format),
            system=system,
            tools=tools,
        )
        seconds = checked_hold(hold)
        try:
            async with self._open(fresh=True) as (links, cache):
                found, warnings = await self._mirrored(links, cache, history, ids, usage, partial)
                options = replace(options, lead=found.system)
                view = None if seconds else await self._show(cache, options)
            view = view or await self._viewed(options, seconds)
        except (StoreUnavailable, StoreFull) as error:
            return await self._with_media(await self._mirror_away(error, history, ids, usage, partial, options))
        return await self._with_media(replace(view, behind=found.behind, warnings=(*warnings, *view.warnings)))

    async def _applied(self, history: Sequence[Any]) -> View:
        return await self.mirror(history)

    async def _mirrored(
        self, links: Links, cache: Cache, history: Sequence[Any], ids: Ids | None, usage: Any, partial: bool
    ) -> tuple[Recognised, tuple[str, ...]]:
        """Record what is new, unless another process was faster: then look again what is."""
        warnings: tuple[str, ...] = ()
        for tries_left in reversed(range(TRIES)):
            found = await recognise(cache, history, ids, partial)
            new = found.new
            if found.other is not None:
                told = await self._follow(links, cache, found, found.other, ids)
                if told is None:
                    if not tries_left:
                        raise Conflict(BUSY)
                    continue
                warnings, new = told, ()
            if not new and usage is None:
                break
            try:
                names = None if ids is None or not new else ids[found.start :]
                prepared = await prepare_in_pages(new, names, self._fmt, self._origin, found.start)
                await self._record(links, cache, self._mirrored_batch(cache, prepared, usage))
                break
            except Moved:
                if not tries_left:
                    raise
                await cache.refresh()
        if cache.stale:
            await cache.refresh()
        return found, warnings

    async def _follow(
        self, links: Links, cache: Cache, found: Recognised, other: Realigned, ids: Ids | None
    ) -> tuple[str, ...] | None:
        """Put the list's path in place, and say what that did; None: the session is another one by now, look again."""
        names = None if ids is None else ids[found.start :]
        # All of them, because a message's place may say what it is.
        whole = await prepare_in_pages(found.new, names, cache.fmt, self._origin, found.start)
        batches = {place: whole.only([place]) for place in other.new}
        self._refuse_unseen(cache, found, other)
        messages, places = _path(cache, other, batches)
        _refuse_repeated(cache, messages, places, found.start, ids)
        _refuse_orphans(cache, messages, places, found.start)
        entries = [entry for place in other.new for entry in batches[place].entries]
        meta = cache.live  # of before, as in `_move`
        move = await Move.to(cache, messages, entries)
        reply = await self._moved(links, meta, move)
        if isinstance(reply, PathMoved):
            await cache.refresh()
            return None
        if isinstance(reply, Refused):  # it is the path already
            return ()
        if isinstance(reply, Overfull):
            raise no_room(self.key, reply)
        if not isinstance(reply, Undone):
            raise Conflict("the session was purged while this handle was open; nothing was written")
        moved(cache, reply, move)
        if any(message.origin == "assistant" for batch in batches.values() for message in batch.messages):
            self._shrinking.answered()
        if reply.ring:
            await links.ring(self.key, reply.request_no)
        await cache.refresh()
        if not other.left and not other.known:
            return (APART.format(len(entries)),)
        new = f"{len(entries)} {'is' if len(entries) == 1 else 'are'}"
        return (DIFFERS.format(found.start + other.differs, several(len(other.left), "message"), new),)

    def _refuse_unseen(self, cache: Cache, found: Recognised, other: Realigned) -> None:
        """A stale list must not take another process's messages off the path."""
        unseen = [seq for seq in sorted(other.left) if not contains(cache.seen, seq)]
        if unseen:
            raise Conflict(
                f"message {found.start + other.differs} of {found.start + len(found.new)} (the first is 0) is not what "
                f"the session has at its place, and this handle does not know "
                f"{several(len(unseen), 'message')} of the session, from m{unseen[0]} on, not in the list either: nothing "
                "was written. Take what is missing into your list, or look at view() and mirror again: then it leaves the path. Another conversation needs another session id"
            )


def _path(cache: Cache, other: Realigned, batches: dict[int, Prepared]) -> tuple[list[Message], dict[int, int]]:
    """The new path's messages; and of those that are in the list, by seq, their place there."""
    path = [*cache.path[: leading(cache)]]
    places: dict[int, int] = {}
    fresh = iter(range(len(cache.log), len(cache.log) + len(batches)))
    for step in other.order:
        seq = next(fresh) if step.seq is None else step.seq
        if step.place is not None:
            places[seq] = step.place
        path.append(cache.log[seq] if step.place not in batches else batches[step.place].messages[0].placed(seq))
    return path, places


def _refuse_orphans(cache: Cache, path: list[Message], places: dict[int, int], start: int) -> None:
    """A result whose call is not on the new path, unless it had none before."""
    old = cache.path
    before = {(old[i].seq, part) for i, part in pair(old).orphans}
    for i, part in pair(path).orphans:
        seq = path[i].seq
        if (seq, part) not in before:
            index = start + next((places[one.seq] for one in path[i:] if one.seq in places), 0)
            problem = "a result whose call is not in the list before it: keep calls and results together"
            raise InvalidMessage(index, f"part {part}", problem)


def _refuse_repeated(cache: Cache, path: list[Message], places: dict[int, int], start: int, ids: Ids | None) -> None:
    """An id names one message of the path."""
    if ids is None:
        return
    end = len(cache.log)
    names = [cache.ids[m.seq] if m.seq < end else ids[start + places[m.seq]] for m in path]
    times = Counter(name for name in names if name is not None)
    for message, name in zip(path, names, strict=True):
        if name is not None and times[name] > 1 and message.seq >= end:
            raise Conflict(
                f"message {start + places[message.seq]}: id {name!r} names another message too; nothing was written"
            )
