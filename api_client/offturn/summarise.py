"""Ask the summarizer, chunk by chunk: each reply checked, repaired once, kept under its key once paid for."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Protocol

from offturn.outlasting import outlasting
from offturn.progress import Progress
from offturn.store.errors import StoreFull, StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.summarizer import AnySummarizer, Extractive, Summarizer
from offturn.unsaved import UNSAVED
from offturn_config.keys import SessionKey
from offturn_engine.chunks import chunks
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Sections, Spent
from offturn_engine.errors import SummarizerError
from offturn_engine.plan import Summarise
from offturn_engine.prompt import PROMPT_TOKENS, repair, request
from offturn_engine.reply import Refusal, check
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.template import NINE_SECTION
from offturn_engine.transcript_text import serialise, text_of

SMALLEST_CHUNK = 1_000  # tokens


@dataclass(frozen=True, slots=True)
class Written:
    """Sections of the whole middle, what they cost, and how many secrets were masked in it."""

    sections: Sections
    spent: Spent
    model: str
    masked: int = 0


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No usable summary. `kind`: of the provider's error, or `bad_answer`; `try_again`: it may pass by itself."""

    kind: str
    try_again: bool
    retry_after: float
    spent: Spent


class Paid(Protocol):
    """Where results that were paid for are kept, by request key."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, value: str) -> None: ...


@dataclass(frozen=True, slots=True)
class PaidInSession:
    """Kept beside the session, also after the claim was lost: a retry pays only for what is missing.

    What the store does not take now stays in this process, and is offered again when a job asks for it.
    """

    store: SessionStore
    session: SessionKey
    incarnation: int
    redactions: int
    progress: Progress

    async def get(self, key: str) -> str | None:
        found = await outlasting(partial(self.store.chunk, self.session, key))
        if found is None and (found := UNSAVED.get((self.session, self.incarnation, key))) is not None:
            await self.put(key, found)
        return found

    async def put(self, key: str, value: str) -> None:
        place = self.session, self.incarnation, key
        UNSAVED.add(place, value)
        with suppress(StoreUnavailable, StoreFull):  # the result itself is still good
            lives = {"incarnation": self.incarnation, "redactions": self.redactions}
            await self.store.save_chunk(self.session, **lives, chunk_key=key, value=value)
            UNSAVED.drop(place)
        self.progress.made()


class _Refused(Exception):
    pass


async def summarise(wanted: Summarise, summarizer: AnySummarizer, paid: Paid) -> Written | Unavailable:
    """The sections of a plan. Extractive: none, the ledger is the summary."""
    if isinstance(summarizer, Extractive):
        return Written(NO_SECTIONS, NOTHING_SPENT, "")
    asking = _Asking(wanted, summarizer, paid)
    try:
        return await asking.run()
    except _Refused:
        return Unavailable("bad_answer", try_again=False, retry_after=0, spent=asking.spent)
    except SummarizerError as error:
        return Unavailable(error.kind, error.retryable, error.retry_after or 0, asking.spent)


@dataclass(slots=True)
class _Asking:
    wanted: Summarise
    summarizer: Summarizer
    paid: Paid
    spent: Spent = NOTHING_SPENT

    async def run(self) -> Written:
        """Chunk by chunk; where the model's window turns out smaller than told, in smaller chunks."""
        room = self.summarizer.window - 2 * self.wanted.max_output_tokens - PROMPT_TOKENS
        while room > SMALLEST_CHUNK:
            try:
                return await self._chunked(room)
            except SummarizerError as error:
                if error.kind != "too_long":
                    raise
                room //= 2
        return await self._chunked(SMALLEST_CHUNK)

    async def _chunked(self, room: int) -> Written:
        blocks = await asyncio.to_thread(serialise, self.wanted.messages, self.wanted.edits)
        sections, model = self.wanted.previous, self.summarizer.model
        for chunk in chunks(blocks, budget=room):
            asked = await asyncio.to_thread(self._request, text_of(chunk), sections)
            reply, sections = await self._answer(asked)
            model = reply.model
        return Written(sections, self.spent, model, sum(block.masked for block in blocks))

    def _request(self, text: str, previous: Sections) -> SummaryRequest:
        wanted = self.wanted
        return request(
            text,
            previous=previous if previous.titles else None,
            template=NINE_SECTION,
            max_output_tokens=wanted.max_output_tokens,
            focus=wanted.focus,
            note=wanted.note,
            language=wanted.language,
            model=self.summarizer.model,
        )

    async def _answer(self, asked: SummaryRequest) -> tuple[SummaryReply, Sections]:
        if (kept := await self.paid.get(asked.key)) is not None:
            reply = SummaryReply(**json.loads(kept))
            checked = self._check(reply, asked)
            if isinstance(checked, Sections):
                return reply, checked
        reply = await self._pay(asked)
        checked = self._check(reply, asked)
        if isinstance(checked, Refusal) and checked.repairable:
            reply = await self._pay(repair(asked, checked.reasons))
            checked = self._check(reply, asked)
        if isinstance(checked, Refusal):
            raise _Refused
        await self.paid.put(asked.key, json.dumps(asdict(reply)))
        return reply, checked

    async def _pay(self, asked: SummaryRequest) -> SummaryReply:
        reply = await self.summarizer.summarize(asked)
        self.spent = Spent(
            calls=self.spent.calls + 1,
            input_tokens=self.spent.input_tokens + reply.input_tokens,
            cached_tokens=self.spent.cached_tokens + reply.cached_tokens,
            output_tokens=self.spent.output_tokens + reply.output_tokens,
            milliseconds=self.spent.milliseconds + reply.milliseconds,
        )
        return reply

    def _check(self, reply: SummaryReply, asked: SummaryRequest) -> Sections | Refusal:
        return check(reply, asked, language=self.wanted.language, budget=self.wanted.max_output_tokens)
