"""A session: what a host records, what it asks for, and the view it gets back.

Every host write carries a random operation id and is sent again once after a lost reply; the store answers a known id
with the reply it gave, so a write takes effect once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from offturn import inspecting
from offturn.config import checked_model
from offturn.crossing import checked_format
from offturn.deadline import one_call
from offturn.entries import listed, prepare
from offturn.errors import Conflict, InvalidSetting, Refused, StoreFull, StoreUnavailable
from offturn.explaining import explain
from offturn.holding import checked_hold
from offturn.overflow import Overflow, unrecognised
from offturn.paths import Ref
from offturn.pinning import Pinning
from offturn.recalling import Recalling
from offturn.redacting import Redacting
from offturn.showing import require_room
from offturn.shrinking import count_of
from offturn.store.pausing import Pauses
from offturn.store.replies import Gone, RolledBack
from offturn.ticket import Ticket
from offturn.tracing import traced
from offturn.turning import Turning
from offturn.view import Options, View
from offturn.written import rolled_back
from offturn_engine.fates import Fate, lineage
from offturn_engine.groups import group_is_open
from offturn_engine.messages import Json

EVENT_ID = re.compile(r"[0-9]{1,19}(-[0-9]{1,19})?\Z")
REASONS = ("manual", "phase", "threshold")
OPEN = "a tool group is open: covered up to the last closed one"
LONGEST_NOTE = 4_000  # characters of a note or focus


class Session(Turning, Redacting, Recalling, Pinning):
    """A handle, from `CompactionClient.session`; cheap, one per session and process. Its calls run one after the other.

    Before each model call: `record` what is new and send what `view` gives, or give your own list to `mirror` and send
    what it gives; where the provider says that it is too long, send what `overflow` gives. `phase_done` and `request` ask
    for a compaction; `rollback` goes back to another one; `rewind` and `amend` change what was said, `redact` deletes it.

    Formats: `openai-chat`, the dicts of chat.completions; `openai-responses`, items of responses.create (record
    `response.output`); `anthropic`, the dicts of messages.create; `gemini`, contents of generate_content;
    `text-observation`, chats in which tools are called by text: a user message right after an assistant's message that
    ends with an action is the tool's, unless `origin=` says otherwise (`offturn_engine.formats.text_observation`).
    Origins, who wrote a message in the user role: `human` (the default; kept word for word), `host` (material your
    program put there), `restore` (a file or other state it put back), and, of what came from elsewhere, `assistant`,
    `tool`, `system`, `replay` and `summary`.
    Ids are your own names of messages, text and unique in the session, such as the keys of your database's rows: a
    message that comes again under its id is recorded once, from whatever process.
    Handles such as `m181` stand in a view for what it left out; `recall` gives the text behind one, `search` finds words
    in all that was recorded, and `recall_tool` is a tool by which the model does both.

    While the store is away `record` keeps the messages in this process, and `view`, `mirror` and `overflow` give a view
    of what it knows (`View.stale`): see `CompactionClient.from_url`, on_outage. What was kept is recorded, in order, before
    the next call that finds the store back, and by the client in the background. All other methods need the store.
    Every method may raise StoreUnavailable (no answer within the client's timeout), StoreFull, StoreFault, Closed,
    UnknownVersion, and Conflict where the session holds another format; NotRecorded, once, where the store refused what
    was kept.
    """

    @traced("offturn.view")
    async def view(
        self,
        *,
        model: str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        format: str | None = None,  # noqa: A002 -- the public contract
        system: Json = None,
        tools: Json = None,
        hold: float = 0.0,
        generation: int | None = None,
    ) -> View:
        """What to send next. It always fits, and never waits for a worker unless `hold` says so.

        model: another one for this call: its family's estimates count, an item that only the session's may read is left
        out, and usage of such a call does not calibrate. window, max_output: its tokens; what is given up for it is not
        committed.
        format: of another provider's API for this call. Words and calls with their results go over; `View.warnings`
        counts what could not (reasoning, items only their provider can read, media the format cannot hold). Usage of
        such a call does not calibrate estimates.
        system, tools: as the SDK takes them, counted here and passed on by `View.kwargs` (tools are not).
        hold: seconds, at most 600. From the hard level on (and with four messages or more) it waits that long for a
        compaction that is asked for, and shows it; else it is the emergency view. Below that level it does not wait, and
        other calls of this handle go on meanwhile.
        generation: show this one without adopting anything (0 is the raw transcript). One that is larger than the
        window gives way like any view, and a warning says so: pass window=offturn.ANY_WINDOW to see it as it is.
        Raises InvalidSetting, InvalidPolicy for an impossible window, Refused for an unknown generation, and CannotFit,
        with the numbers, where what may never be cut is too large: mostly one message pasted in. It is recorded, so
        take a larger window, or record an answer ("That was too long, please send a file."): answered, it may be cut.
        """
        if generation is not None:
            _check_generation(generation)
        options = Options(
            model=checked_model(model),
            window=window,
            max_output=max_output,
            format=checked_format(format),
            system=system,
            tools=tools,
            generation=generation,
        )
        seconds = checked_hold(hold)
        try:
            view = await self._viewed(options, seconds)
        except (StoreUnavailable, StoreFull) as error:
            view = await self._view_away(error, options)
        return await self._with_media(view)

    @traced("offturn.overflow")
    async def overflow(self, error_or_response: Any, *, sent: View, pending: object = ()) -> View:
        """A smaller view, after the provider said that `sent` was too long: send that instead.

        error_or_response: what the SDK raised, or an answer that stopped at the window. Anything that `is_overflow` does
        not know is raised again as it is (a response: InvalidSetting); nothing changes then.
        sent: the view that failed. pending: messages that the session does not have yet, raw; they are recorded first,
        and may be given again at the next overflow.
        It fits what the error says the provider takes, and is at most 80 % of what was sent, by the provider's count
        where the error has it. Every process sees it, unless `sent` was made for another window. The limit is kept for
        later views of this handle as long as they fit it, and its count calibrates estimates where nothing was pending.
        After three views with no answer recorded in between, on this handle, it raises CannotFit, as it does where what
        may never be cut is too large. Raises what `record` and `view` raise.
        """
        said = Overflow.of(error_or_response)
        if said is None:
            raise unrecognised(error_or_response)
        if not isinstance(sent, View):
            raise InvalidSetting(f"sent is a {type(sent).__name__}: give the View that was sent")
        prepared = prepare(listed(pending), None, self._fmt, self._origin)
        digests = tuple(entry.digest for entry in prepared.entries)
        batch = self._batch(prepared.after(self._shrinking.known(digests)), None)
        # Whether what was sent held what is pending is not known, so its count teaches nothing where something is.
        count = None if digests else count_of(said, sent)
        try:
            async with self._open(fresh=True) as (links, cache):
                if batch.prepared.entries or (count and cache.meta):
                    await self._record(links, cache, batch, (count, sent) if count else None)
                    if cache.stale:
                        await cache.refresh()
                self._shrinking.pending = digests or self._shrinking.pending
                view = await self._smaller(cache, said, sent, batch)
        except (StoreUnavailable, StoreFull) as error:
            self._keep_pending(error, batch, digests)
            view = await self._overflow_away(error, said, sent, batch)
        self._shrinking.made(view)
        return await self._with_media(view)

    @traced("offturn.phase_done")
    async def phase_done(
        self, note: str = "", *, history: Sequence[Any] | None = None, usage: Any = None, focus: str | None = None
    ) -> Ticket:
        """A phase ended: ask for a compaction now. `note` and `focus` tell the summarizer what mattered.

        history: the host's list, mirrored first. With a tool group open it covers up to the last closed one, and a
        warning of the ticket says so. Raises what `mirror` and `request` raise.
        """
        await self._connector.links()
        with one_call(self._connector.timeout):
            if history is not None:
                await self.mirror(history, usage=usage)
            elif usage is not None:
                await self.record([], usage=usage)
            return await self._request("phase", focus, note)

    @traced("offturn.request")
    async def request(self, reason: str = "manual", *, focus: str | None = None) -> Ticket:
        """Ask for a compaction. The ticket tells what becomes of it.

        reason: `manual`, `phase` or `threshold`; focus: what the summarizer is to keep most of all, at most 4,000
        characters. Raises Refused where nothing is recorded, InvalidSetting, Conflict for a session purged meanwhile.
        """
        return await self._request(reason, focus, "")

    async def rollback(self, *, generation: int, force: bool = False) -> None:
        """Put another generation in force (0: the raw transcript); automatic triggers wait for new growth.

        force: also where its view, with what was recorded since, is above the policy's ceiling and larger than the view
        in force. Two things do not wait then: triggers, once the view is at the hard level; and `view`, which gives way at once where it does not fit
        the window, so that another generation is in force.
        Raises InvalidSetting, Refused for a generation that is not kept or covers messages off the path, and without `force` for one
        that needs it, with the numbers.
        """
        _check_generation(generation)
        async with self._open(fresh=True) as (links, cache):
            incarnation = cache.live.incarnation
            await cache.generation(generation)  # which this handle can show then, whatever becomes of the store
            if not force:
                await require_room(cache, generation)
            reply = await self._once(
                lambda op: links.store.rollback(self.key, op=op, incarnation=incarnation, target=generation)
            )
            if not isinstance(reply, RolledBack):
                raise Refused(
                    f"generation {generation} cannot be put in force: messages it covers were taken back or replaced since; "
                    f"choose another of {cache.kept} (0, the transcript, always can be)"
                )
            rolled_back(cache, reply, generation)

    async def explain(self, ref_or_text: Ref) -> list[Fate]:
        """What became of messages in the view in force: verbatim, edited, cleared, summarised, omitted or redacted, by
        which rule of which generation, and since when. One `Fate` for each part, in the order of the log; the first one
        of a message also says what became of each fact that the ledger took from it.

        ref_or_text: a seq, a handle such as `m181` or `m181.2`, one of your own ids, or a text: then every part of the
        log that holds it, whatever its case and line breaks; those that the session no longer shows say so.
        Empty where no message holds the text. Raises Refused for a seq or handle that names nothing, InvalidSetting.
        """
        async with self._open(fresh=True) as (_, cache):
            shown = cache.whole(await cache.pointed("adopted"))
            return await asyncio.to_thread(explain, cache, ref_or_text, lineage(shown, await cache.records()))

    async def status(self) -> inspecting.Status:
        """Sizes, generations in force and current, and whether work is due. Raises Refused where nothing is recorded."""
        async with self._open(fresh=True) as (links, cache):
            return inspecting.status(cache, await Pauses(links.redis).known())

    async def place(self) -> inspecting.Place | None:
        """Where the session is now, by which a host tells whether another process moved it; None where nothing is recorded."""
        async with self._open(fresh=True) as (_, cache):
            return inspecting.place(cache.meta)

    async def generations(self) -> list[inspecting.Generation]:
        """The generations kept, oldest first; 0, the raw transcript, is always there and not listed."""
        async with self._open(fresh=True) as (_, cache):
            known, meta, path = await cache.records(), cache.meta, cache.path
        # Outside of the handle's turn: of a long session this takes a second.
        records = await asyncio.to_thread(inspecting.audited, known, path, cache.fmt)
        for number, record in records.items():
            if record is not known[number] and (number, record.nonce) in cache.generations:
                cache.keep(record)
        return inspecting.generations(meta, records)

    async def events(self, after: str | None = None, *, limit: int = 1_000) -> list[inspecting.Event]:
        """What happened to the session, oldest first: names, numbers and sizes, never content.

        after: the id of the last event seen; limit: events at most. The store keeps about the newest 1,000.
        Raises InvalidSetting.
        """
        _check_page(after, limit)
        links = await self._connector.links()
        found = await links.store.events(self.key, after=after, limit=limit)
        if not found and await links.store.stub(self.key):
            await links.store.meta(self.key)  # which waits until it is brought back
            found = await links.store.events(self.key, after=after, limit=limit)
        return found

    async def _request(self, reason: str, focus: str | None, note: str) -> Ticket:
        if reason not in REASONS:
            raise InvalidSetting(f"reason {reason!r:.40}: use one of {', '.join(REASONS)}")
        for name, text in (("focus", focus or ""), ("note", note)):
            if not isinstance(text, str):
                raise InvalidSetting(f"{name} is a {type(text).__name__}: use text")
            if len(text) > LONGEST_NOTE:
                raise InvalidSetting(f"{name} of {len(text)} characters: use at most {LONGEST_NOTE}")
        async with self._open(fresh=True) as (links, cache):
            incarnation = cache.live.incarnation
            reply = await self._once(
                lambda op: links.store.request(
                    self.key, op=op, incarnation=incarnation, reason=reason, focus=focus or "", note=note
                )
            )
            if isinstance(reply, Gone):
                raise Conflict(f"session {self.key.session!r} was purged: record first")
            if reply.ring:
                await links.ring(self.key, reply.request_no)
            warnings = (*cache.live.warnings, *((OPEN,) if group_is_open(cache.path) else ()))
            return Ticket(links.store, self.key, reply.request_no, self._applied, warnings)


def _check_generation(generation: object) -> None:
    if not isinstance(generation, int) or isinstance(generation, bool):
        raise InvalidSetting(f"generation {generation!r:.40}: use the number of a generation, or 0")


def _check_page(after: object, limit: object) -> None:
    inspecting.checked_limit(limit)
    if after is not None and not (isinstance(after, str) and EVENT_ID.match(after)):
        raise InvalidSetting(f"after {after!r:.40}: use the id of an event, such as 1796037757085-0")
