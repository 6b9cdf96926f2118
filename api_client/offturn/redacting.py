"""Deleting the content of messages, which is the one exception to a log that is only ever appended to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from secrets import token_hex

from offturn.cache import Cache
from offturn.deadline import holding, one_call
from offturn.errors import Conflict, InvalidSetting, Refused
from offturn.handle import Handle
from offturn.links import Links
from offturn.packing import unpack
from offturn.paths import Ref
from offturn.store.entries import Redaction, Tombstone
from offturn.store.errors import NotConfirmed, StoreFault
from offturn.store.replies import Meta, PathMoved, Purged, Redacted, RedactReply, StillPacked
from offturn.written import redacted
from offturn_engine.messages import Message
from offturn_engine.ranges import contains, normalise

TRIES = 5
BUSY = "the session changed at every try, nothing was redacted: call again"
LONGEST_REASON = 300  # characters
UNCONFIRMED = "done, but the store did not say within {} s whether its replicas have it: make the same call again"
CONFIRMING = 0.75  # of the client's timeout: the answer has to come within the socket's


class Redacting(Handle):
    """The part of a session that deletes content."""

    async def redact(
        self, refs: Sequence[Ref] | Ref = (), *, author: str | None = None, reason: str
    ) -> tuple[int, ...]:
        """Delete what these messages say, for good. Returns the seqs of those that this call has redacted.

        refs: seqs, also of messages off the path (a rewound one, the one an amended one has replaced), or your own ids:
        an id names every message that was recorded under it. author: every message whose `name` field says so, as
        openai-chat has it on user, assistant and system messages; the anthropic format has no such field.
        reason: why, in at most 300 characters. It is kept with each message and in the event, so it must not quote them.

        A message keeps its seq, role, origin and id, and which calls it makes and answers, under the names of their
        functions; arguments become empty and texts `[redacted]`, and reasoning, media and other fields go. So it is in
        every view. All that may quote it goes too: generations that cover it, shorten what quotes it or cannot be
        read, all paid chunks, a request's note and focus with the generations that were told one since, and their events. In force is then the
        newest generation left, down to the transcript; a compaction may become due. A running job is superseded, and
        what it still pays for is not kept.

        The same words in another message, in a fork, in your program, at a provider or in files that the server wrote
        before are not looked for (SECURITY.md). A list that you mirror may keep the message or have `[redacted]` in its
        place, with ids anything; it is not recorded again. A list that starts with a
        summary from before is not known any more: go on with `view`.
        It returns when the server's replicas have it. Raises Refused for a ref that names no message, InvalidSetting,
        Conflict where others change the session at every try, and StoreUnavailable where a replica does not confirm: then
        the primary has it, make the same call again.
        """
        wanted = _checked(refs, author, reason)
        async with self._open(fresh=True) as (links, cache):
            cache.live  # noqa: B018 -- refuses a session that holds nothing
            for _ in range(TRIES):
                seqs = _named(cache, wanted, author)
                left = await asyncio.to_thread(_left, cache, seqs)
                reply = await self._redacted(links, cache, left, reason)
                if isinstance(reply, StillPacked):
                    await unpack(links.store, self.key, cache.live, down_to=min(message.seq for message in left))
                elif isinstance(reply, PathMoved):
                    await cache.refresh()
                else:
                    break
            else:
                raise Conflict(BUSY)
            if not isinstance(reply, Redacted):
                raise Conflict(f"session {self.key.session!r} was purged: nothing is left of it to redact")
            redacted(cache, reply, left)
            self._last = None
            if reply.ring:
                await links.ring(self.key, reply.request_no)
            await self._confirmed(links, reply.replicas)
            return tuple(message.seq for message in left)

    async def purge(self) -> None:
        """Delete the session: log, generations, replies and events. Its id may be used again, for a new session.

        Handles that were open before get a Conflict at their next write; a running job ends without a result. It also
        deletes what is left of a session that the server has lost a part of.
        It returns when the server's replicas have it. Raises StoreUnavailable where one does not confirm that: then the
        primary has it, make the same call again.
        """
        links = await self._connector.links()
        try:
            with one_call(links.timeout):
                stub = await links.store.stub(self.key)
                if stub is not None:  # it goes as it is, nobody waits for the archive
                    async with holding(self._lock, links.timeout):
                        return await self._purged(links, stub.incarnation)
            async with self._open(fresh=True) as (links, cache):
                # Else a tombstone's, where a purge was not confirmed.
                await self._purged(links, cache.incarnation or cache.next_incarnation - 1)
        except StoreFault:  # what cannot be read, or is not all there, can be deleted
            with one_call(links.timeout):
                async with holding(self._lock, links.timeout):
                    await self._purged(links, await links.store.life(self.key))

    async def _purged(self, links: Links, incarnation: int) -> None:
        said_before = self._outbox.waiting  # delivered later, it would begin a new life of the session
        reply = await self._once(lambda _: links.store.purge(self.key, incarnation=incarnation))
        self._cache = self._last = None
        self._unsure.forget()
        if isinstance(reply, Purged):
            for batch in said_before:
                self._outbox.drop(batch)
            await self._confirmed(links, reply.replicas)

    async def _redacted(self, links: Links, cache: Cache, left: Sequence[Message], reason: str) -> RedactReply:
        """Also with nothing left to do: an earlier call may not be confirmed yet."""
        meta, salt = cache.live, token_hex(32)
        tombstones, tokens = await asyncio.to_thread(_tombstones, cache, left, reason)
        quoting = await _quoting(cache, meta, [message.seq for message in left])
        return await self._once(
            lambda op: links.store.redact(
                self.key,
                op=op,
                incarnation=meta.incarnation,
                epoch=meta.epoch,
                length=meta.log_len,
                chain=meta.chain,
                counter=meta.counter,
                tombstones=tombstones,
                quoting=quoting,
                tokens=tokens,
                reason=reason,
                salt=salt,
            )
        )

    async def _confirmed(self, links: Links, replicas: int) -> None:
        try:
            async with asyncio.timeout(links.timeout):
                await links.store.confirm(self.key, replicas=replicas, seconds=links.timeout * CONFIRMING)
        except TimeoutError:
            raise NotConfirmed(UNCONFIRMED.format(links.timeout)) from None


def _checked(refs: Sequence[Ref] | Ref, author: str | None, reason: object) -> list[Ref]:
    """Raises InvalidSetting."""
    if not isinstance(refs, int | str | Iterable):
        raise InvalidSetting(f"refs is a {type(refs).__name__}: give seqs, or your own ids as text")
    if author is not None and not isinstance(author, str):
        raise InvalidSetting(f"author is a {type(author).__name__}: give the name in the messages' `name` field")
    wanted = [refs] if isinstance(refs, int | str) else [*refs]
    for ref in wanted:
        if isinstance(ref, bool) or not isinstance(ref, int | str):
            raise InvalidSetting(f"a {type(ref).__name__} names no message: give its seq, or your own id as text")
    if not wanted and not author:
        raise InvalidSetting("redact: name messages (refs) or an author")
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidSetting("reason: say why, in words that do not quote what is deleted")
    if len(reason) > LONGEST_REASON:
        raise InvalidSetting(f"reason of {len(reason)} characters: use at most {LONGEST_REASON}")
    return wanted


def _named(cache: Cache, wanted: Iterable[Ref], author: str | None) -> list[int]:
    """Seqs, ascending. Raises Refused for a ref that names no message of the log."""
    found: set[int] = set()
    for ref in wanted:
        if isinstance(ref, int):
            seqs = [ref] if 0 <= ref < len(cache.log) else []
        else:
            seqs = [seq for seq, host_id in enumerate(cache.ids) if host_id == ref]
        if not seqs:
            raise Refused(f"message {ref!r:.80} is not in session {cache.key.session!r}, which has {len(cache.log)}")
        found.update(seqs)
    if author:
        found.update(m.seq for m in cache.log if m.role != "tool" and m.raw.get("name") == author)
    return sorted(found)


def _left(cache: Cache, seqs: Sequence[int]) -> list[Message]:
    """What stays of these messages; nothing of those that are redacted already."""
    old = [cache.log[seq] for seq in seqs if seq not in cache.tombstones]
    kept = ((m, cache.fmt.parse(cache.fmt.redacted(m.raw), index=m.seq, origin=m.origin)) for m in old)
    return [new.placed(m.seq, m.at) for m, new in kept]


def _tombstones(cache: Cache, left: Sequence[Message], reason: str) -> tuple[list[Tombstone], int]:
    """What takes their places, and by how many tokens the path gets lighter."""
    shown, tokens, made = normalise(cache.live.path), 0, []
    for new in left:
        seq = new.seq
        if contains(shown, seq):
            tokens += cache.log[seq].tokens - new.tokens
        redaction = Redaction(reason=reason, size=cache.form(seq).size)
        made.append(
            Tombstone.of(
                seq, new.raw, origin=new.origin, tokens=new.tokens, host_id=cache.ids[seq], redaction=redaction
            )
        )
    return made, tokens


async def _quoting(cache: Cache, meta: Meta, seqs: Sequence[int]) -> list[int]:
    """Generations whose edits quote one of them: of itself, or of a result whose stub tells what its call was given.

    Also those that cannot be read: what is in them is not known, and no other call would ever delete it.
    """
    calls = {call.id for seq in seqs for _, call in cache.log[seq].calls}
    touching = {*seqs, *(m.seq for m in cache.log if _answers(m, calls))}
    found = []
    for number in meta.generations:
        record = None
        with suppress(StoreFault):
            record = await cache.store.half(cache.key, number)
        if record is None or any(edit.seq in touching for edit in record.edits):
            found.append(number)
    return found


def _answers(message: Message, calls: set[str]) -> bool:
    return any(result.call_id in calls for _, result in message.results)
