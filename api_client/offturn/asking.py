"""Ask the summarizer: in one call or several, each reply checked, repaired once, kept under its key once paid for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Protocol, TypeAlias

from offturn.summarizer import Summarizer
from offturn_config.groups import Summary
from offturn_engine.chunks import chunks
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Sections, Spent
from offturn_engine.contradictions import said
from offturn_engine.errors import SummarizerError
from offturn_engine.mask import mask
from offturn_engine.plan import Summarise
from offturn_engine.prompt import PROMPT_TOKENS, SYSTEM, budget_of, record_text, repair, request
from offturn_engine.reply import Refusal, check
from offturn_engine.sampling import newest, sampled
from offturn_engine.statements import Statement
from offturn_engine.summary import Prefix, SummaryReply, SummaryRequest
from offturn_engine.templates import TEMPLATES
from offturn_engine.tokens import estimate_text
from offturn_engine.transcript_text import Block, serialise, text_of

SMALLEST_CHUNK = 1_000  # tokens

Chunk: TypeAlias = tuple[Block, ...]


class Paid(Protocol):
    """Where results that were paid for are kept, by request key."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, value: str) -> None: ...


class BadAnswer(Exception):
    """The model answered twice, and neither answer is a summary."""


@dataclass(slots=True)
class Asking:
    """One summary. `spent` holds also where it fails; the counts: see `Written`."""

    wanted: Summarise
    summarizer: Summarizer
    paid: Paid
    spent: Spent = NOTHING_SPENT
    masked: int = 0
    head_trimmed: int = 0
    told: tuple[Statement, ...] | None = None
    _refused: BadAnswer | SummarizerError | None = None  # a part for good: no other call begins

    async def run(self) -> tuple[Sections, str]:
        """The sections, and who wrote them.

        A model whose window turns out smaller than told gets less at a time: what it could not take in smaller chunks, or,
        of a policy that samples or trims, less of all. Raises BadAnswer and SummarizerError.
        """
        rules = self.wanted.policy.summary
        room = max(_room(self.wanted, self.summarizer.window), SMALLEST_CHUNK)
        blocks = self._counted(_blocks(self.wanted))
        if rules.one_call or rules.trim:
            return await self._some(await asyncio.to_thread(list, blocks), room)
        parts = chunks(blocks, budget=room)
        if rules.chunking == "rolling":
            return await self._rolling(parts, self.wanted.previous, room)
        every = await asyncio.to_thread(list, parts)
        if len(every) < 2:
            return await self._rolling(iter(every), self.wanted.previous, room)
        return await self._at_once(every, room)

    def _counted(self, blocks: Iterable[Block]) -> Iterator[Block]:
        for block in blocks:
            self.masked += block.masked
            yield block

    async def _some(self, blocks: Sequence[Block], room: int) -> tuple[Sections, str]:
        """Of what is chosen of all, for each size anew."""
        rules = self.wanted.policy.summary
        while True:
            chosen, self.head_trimmed = await asyncio.to_thread(_shown, blocks, rules, room)
            try:
                return await self._rolling(chunks(chosen, budget=room), self.wanted.previous)
            except SummarizerError as error:
                if error.kind != "too_long" or room == SMALLEST_CHUNK:
                    raise
                room = max(room * 4 // 5 if rules.trim else room // 2, SMALLEST_CHUNK)

    async def _rolling(
        self, parts: Iterator[Chunk], previous: Sections, room: int = SMALLEST_CHUNK, *, merge: bool = False
    ) -> tuple[Sections, str]:
        """Each part updates the record. A part that is too long is cut, and what follows it: until parts are smallest."""
        sections, model = previous, self.summarizer.model
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            try:
                sections, model = await self._ask(text_of(part), sections, merge=merge)
            except SummarizerError as error:
                if error.kind != "too_long" or room == SMALLEST_CHUNK:
                    raise
                room = max(room // 2, SMALLEST_CHUNK)
                parts = chunks(chain(part, chain.from_iterable(parts)), budget=room)
        return sections, model

    async def _at_once(self, parts: Sequence[Chunk], room: int) -> tuple[Sections, str]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._part(part, room)) for part in parts]
        except ExceptionGroup as failed:  # the first one says why; the others were stopped
            raise failed.exceptions[0] from None
        results = [task.result() for task in tasks]
        for result in results:
            if not isinstance(result, Sections):
                raise self._refused or result
        records = [f"{record_text(result)}\n\n" for result in results if isinstance(result, Sections)]
        made = [Block(i, i + 1, record, estimate_text(record)) for i, record in enumerate(records)]
        return await self._rolling(chunks(made, budget=room), self.wanted.previous, room, merge=True)

    async def _part(self, part: Chunk, room: int) -> Sections | BadAnswer | SummarizerError:
        """A failure does not stop the other parts: what they are answered is kept for the next try, and the one call that
        finds out whether a provider is back must not end because the others were refused meanwhile. After one for good
        no other call begins.
        """
        try:
            return (await self._rolling(iter([part]), NO_SECTIONS, room))[0]
        except (BadAnswer, SummarizerError) as error:
            if self._refused is None and (isinstance(error, BadAnswer) or not error.retryable):
                self._refused = error
            return error

    async def _ask(self, text: str, previous: Sections, *, merge: bool = False) -> tuple[Sections, str]:
        reply, sections = await self._answer(await asyncio.to_thread(self._request, text, previous, merge))
        return sections, reply.model

    async def amended(self, sections: Sections, text: str) -> tuple[Sections, str]:
        """The sections with what this text tells. Raises BadAnswer and SummarizerError."""
        return await self._ask(text, sections)

    async def once(self, prefix: Prefix) -> tuple[Sections, str]:
        """In one call behind the host's own request. Raises BadAnswer and SummarizerError."""
        reply, sections = await self._answer(await asyncio.to_thread(self.whole, prefix))
        return sections, reply.model

    def whole(self, prefix: Prefix) -> SummaryRequest:
        """The request of `once`."""
        return self._request(text_of(_blocks(self.wanted)), self.wanted.previous, False, prefix)

    def _request(self, text: str, previous: Sections, merge: bool, prefix: Prefix | None = None) -> SummaryRequest:
        wanted = self.wanted
        return request(
            text,
            previous=previous if previous.titles else None,
            template=TEMPLATES[wanted.policy.summary.template],
            max_output_tokens=wanted.max_output_tokens,
            focus=wanted.focus,
            note=wanted.note,
            language=wanted.language,
            model=self.summarizer.model,
            merge=merge,
            prefix=prefix,
        )

    async def _answer(self, asked: SummaryRequest) -> tuple[SummaryReply, Sections]:
        if (kept := _kept(await self.paid.get(asked.key))) is not None:
            checked = await asyncio.to_thread(self._check, kept, asked)
            if isinstance(checked, Sections):
                return kept, checked
        reply = await self._pay(asked)
        checked = await asyncio.to_thread(self._check, reply, asked)
        if isinstance(checked, Refusal) and checked.repairable:
            reply = await self._pay(repair(asked, checked.reasons))
            checked = await asyncio.to_thread(self._check, reply, asked)
        if isinstance(checked, Refusal):
            raise BadAnswer
        await self.paid.put(asked.key, json.dumps(asdict(reply)))
        return reply, checked

    async def _pay(self, asked: SummaryRequest) -> SummaryReply:
        if self._refused is not None:
            raise self._refused
        reply = await self.summarizer.summarize(asked)
        paid = Spent(
            calls=1,
            input_tokens=reply.input_tokens,
            cached_tokens=reply.cached_tokens,
            output_tokens=reply.output_tokens,
            milliseconds=reply.milliseconds,
            prefix_tokens=asked.prefix.tokens if asked.prefix else 0,
        )
        self.spent = self.spent.plus(paid)
        # Its own model has read the conversation unmasked; what it writes goes on to others.
        return replace(reply, text=mask(reply.text).text) if asked.prefix else reply

    def _check(self, reply: SummaryReply, asked: SummaryRequest) -> Sections | Refusal:
        wanted = self.wanted
        if self.told is None:
            self.told = said(m.text for m in wanted.draft.path if m.origin == "human")
        return check(reply, asked, language=wanted.language, budget=wanted.max_output_tokens, told=self.told)


def _kept(text: str | None) -> SummaryReply | None:
    """A kept answer, of another release what this one knows; None for what is none, which is paid for again."""
    try:
        fields = json.loads(text) if text is not None else {}
        return SummaryReply(**{name: fields[name] for name in SummaryReply.__dataclass_fields__ if name in fields})
    except (ValueError, TypeError):
        return None


def calls_wanted(wanted: Summarise, window: int) -> int:
    """How many calls a summarizer of this window would get, none of them for a repair."""
    return len(inputs_wanted(wanted, window))


def inputs_wanted(wanted: Summarise, window: int) -> list[int]:
    """Estimated input tokens of each of these calls."""
    rules, room = wanted.policy.summary, max(_room(wanted, window), SMALLEST_CHUNK)
    blocks, _ = _shown(_blocks(wanted), rules, room)
    parts = [*map(estimate_text, map(text_of, chunks(blocks, budget=room)))]
    kept = estimate_text(record_text(wanted.previous)) if wanted.previous.titles else 0
    told, written = estimate_text(SYSTEM) + PROMPT_TOKENS // 2, budget_of(wanted.max_output_tokens)
    sizes = [told + part + (written if i else kept) for i, part in enumerate(parts)]
    merges = rules.chunking == "parallel" and len(parts) > 1
    return [*sizes, told + len(parts) * written] if merges else sizes


def _blocks(wanted: Summarise) -> Iterator[Block]:
    return serialise(wanted.messages, wanted.edits, result_characters=wanted.policy.summary.result_characters)


def _room(wanted: Summarise, window: int) -> int:
    return window - 2 * wanted.max_output_tokens - PROMPT_TOKENS


def _shown(blocks: Iterable[Block], rules: Summary, room: int) -> tuple[Iterable[Block], int]:
    """What of the blocks the calls get, and how many of the oldest messages are in none of them."""
    if rules.one_call:
        blocks = sampled(blocks, budget=room)
    return newest(blocks, budget=room) if rules.trim else (blocks, 0)
