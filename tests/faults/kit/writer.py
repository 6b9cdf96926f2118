"""One host's use of one session: turns, views, and what it does when it is told that something went wrong.

It behaves as the documents ask of a host: a record that failed is made again on the same object, `Behind` is answered
by looking at what the store holds and sending what is missing, a purged session is begun anew.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import offturn
from offturn import Behind, CompactionClient, Conflict, OffturnError, Session, Ticket, View
from offturn.errors import CannotFit, Refused
from tests.faults.kit.sendlog import SendLog, digest
from tests.integration.host import calls, human, long_text, result, says

T = TypeVar("T")

PATIENCE = 60.0  # seconds a host goes on trying
PAUSE = 0.15
ALLOWED = (0.45, 0.55)  # of the window: views at which a job is due are larger
NOT_RECORDED: tuple[type[OffturnError], ...] = tuple(
    error for name in ("NotRecorded",) if (error := getattr(offturn.errors, name, None)) is not None
)
"""What was kept while the store was away was refused when it was back: it is missing, and the host is told so."""

LOST = "no longer holds messages"
GONE = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """How a session is used. `size`: characters of an answer; `pace`: seconds between turns; `shared`: two writers."""

    session: str
    writer: str
    format: str = "openai-chat"
    window: int = 8_000
    size: int = 1_800
    pace: float = 1.0
    ids: bool = True
    shared: bool = False


@dataclass(slots=True)
class Sent:
    """One message of this writer."""

    raw: Any
    h: str
    kind: str
    id: str | None
    seq: int | None = None


class GaveUp(Exception):
    """The patience of this host is over."""


class Writer:
    """Call `turn` as often as you like. `path` holds what this writer has on the session's path, oldest first."""

    def __init__(self, spec: Spec, client: CompactionClient, log: SendLog, seed: int, tamper: str = "") -> None:
        self.spec = spec
        self.log = log
        self.path: list[Sent] = []
        self.tickets: list[Ticket] = []
        self.life = 1
        self.lock = asyncio.Lock()  # between turns
        self._client = client
        self.session = self.another()
        self._random = random.Random(f"{seed} {spec.session} {spec.writer}")
        share = random.Random(f"{seed} {spec.session} allowed").uniform(*ALLOWED)
        self.allowed = int(spec.window * share)  # tokens the session's provider takes
        self._number = 0
        self._shown = ""
        self._tamper = tamper

    # -- turns

    async def turns(self, count: int) -> None:
        """Several, without a pause."""
        for _ in range(count):
            await self.turn()

    async def turn(self) -> None:
        """A question, perhaps a few calls with their results, an answer; a view before every model call."""
        async with self.lock:
            await self.send([("human", self._human())])
            view = await self.look()
            for _ in range(self._random.choice((0, 1, 1, 2))):
                await self._call_and_results()
            mark = self.mark("part")
            said = f"I have fixed {mark}, and its tests passed. Next I will look at what calls {mark}. "
            usage = None
            if view is not None and self._random.random() < 0.5:
                usage = offturn.Usage(input_tokens=view.tokens, output_tokens=self.spec.size // 4)
            await self.send([("says", says(said + long_text(self.spec.size, mark)))], usage=usage)

    async def _call_and_results(self) -> None:
        names = [self.mark("call") for _ in range(self._random.choice((1, 1, 2)))]
        asked = calls(self.spec.format, *names, command=f"cat {names[0]}.py")
        got = [result(self.spec.format, name, long_text(self.spec.size // 2, f"{name} says:")) for name in names]
        if self._random.random() < 0.5:
            await self.send([("call", asked), *(("result", one) for one in got)])
        else:
            await self.send([("call", asked)])
            await self.look()
            await self.send([("result", one) for one in got])
        await self.look()

    def _human(self) -> Any:
        return human(f"Please look into {self.mark('part')} of the parser, and always keep its tests green.")

    def mark(self, word: str) -> str:
        """A name that no other message holds."""
        self._number += 1
        return f"{word} ref-{self.spec.session}-{self.spec.writer}-{self.life}-{self._number:05d}".replace("call ", "")

    # -- records

    async def send(self, given: Sequence[tuple[str, Any]], usage: Any = None) -> None:
        """Record these, whatever it takes. Raises GaveUp."""
        batch = []
        for kind, raw in given:
            (name,) = self.log.messages([raw], kind=kind)
            batch.append(Sent(raw, name, kind, f"{self.spec.writer}{self.life}-{name}" if self.spec.ids else None))
        await self._record(batch, usage)

    async def _record(self, batch: list[Sent], usage: Any = None) -> None:
        number = self.log.begin("send", hs=[m.h for m in batch], life=self.life)
        until = time.monotonic() + PATIENCE
        while True:
            given = self._given(batch)
            try:
                told = await self.session.record(
                    [m.raw for m in given], ids=[m.id for m in given] if self.spec.ids else None, usage=usage
                )
            except Behind:
                self.log.write("told", k=number, error="Behind")
                if await self._resync(batch, number):
                    return
            except NOT_RECORDED as error:
                self.log.write("told", k=number, error=type(error).__name__)
                if await self._resync(batch, number):
                    return
            except Conflict as error:
                if GONE not in str(error):
                    self._unexpected(number, error)
                    return
                self._reborn(number)
            except OffturnError as error:
                self.log.write("failed", k=number, error=type(error).__name__)
                if not error.retryable:
                    self._unexpected(number, error)
                    return
                if time.monotonic() > until:
                    self.log.write("gave up", k=number)
                    raise GaveUp from None
                await asyncio.sleep(PAUSE)
            else:
                self._acknowledged(batch, told, number)
                return

    def _acknowledged(self, batch: list[Sent], told: offturn.Recorded, number: int) -> None:
        whole = told.durable and told.last_seq - told.first_seq + 1 == len(batch)
        for i, message in enumerate(batch):
            message.seq = told.first_seq + i if whole else None
        self.path += batch
        self.log.write("ack", k=number, durable=told.durable, seqs=[m.seq for m in batch], life=self.life)
        if told.ticket is not None:
            self._follow(told.ticket)

    async def _resync(self, batch: list[Sent], number: int) -> bool:
        """Look what the store holds and send again what it has lost; True: nothing of `batch` is left to do."""
        there = await self.raw()
        present = {digest(message) for message in there.messages}
        missing = [m for m in self.path if m.h not in present]
        self.log.write("missing", k=number, hs=[m.h for m in missing])
        self.path = [m for m in self.path if m.h in present]
        if missing:
            await self._record(missing)
        if batch and all(m.h in present for m in batch):
            self.path += batch
            self.log.write("ack", k=number, durable=True, seqs=[None] * len(batch), life=self.life)
            return True
        return False

    def _reborn(self, number: int) -> None:
        self.log.write("ended", k=number, life=self.life)
        self.forget()
        self.session = self.another()

    def another(self) -> Session:
        """A handle of the session that knows nothing yet."""
        # A run compacts a session more often than an hour allows.
        options = {"trigger.most_per_hour": 0}
        return self._client.session(
            self.spec.session, format=self.spec.format, window=self.spec.window, overrides=options
        )

    def forget(self) -> None:
        """This life of the session is over."""
        self.life += 1
        self.path.clear()
        self.tickets.clear()

    def _unexpected(self, number: int, error: Exception) -> None:
        self.log.write("unexpected", k=number, error=type(error).__name__, text=str(error)[:300])

    def _given(self, batch: list[Sent]) -> list[Sent]:
        if self._tamper == "message-dropped" and len(batch) > 2 and len(self.path) > 3:
            self._tamper = ""
            return batch[:-1]
        return batch

    # -- views

    async def look(self, **options: Any) -> View | None:
        """The view a model call would get, written down; None where the host was told that there is none now."""
        started = time.monotonic()
        try:
            view = await self.session.view(**options)
        except OffturnError as error:
            self.log.write("no view", error=type(error).__name__, seconds=time.monotonic() - started)
            if isinstance(error, NOT_RECORDED):
                await self._resync([], 0)
                return None
            fits = not options and isinstance(error, CannotFit)
            if not error.retryable and (fits or not isinstance(error, Conflict | Behind | Refused | CannotFit)):
                self._unexpected(0, error)
            return None
        self.shown("view", view, passing="window" in options, seconds=time.monotonic() - started)
        await self._learn(view)
        await self.heed(view)
        return view

    async def heed(self, view: View) -> None:
        """A view may tell that the store has lost something: then look, and send it again."""
        if any(LOST in warning for warning in view.warnings):
            self.log.write("told", error="warning")
            await self._resync([], 0)

    def shown(self, event: str, view: View, **facts: Any) -> None:
        """Write a view down."""
        messages = list(view.messages)
        if self._tamper == "view-altered" and len(messages) > 6 and event == "view":
            self._tamper = ""
            messages[-2] = altered(messages[-2])
        names = self.log.messages(messages, shown=True)
        told = any(LOST in warning for warning in view.warnings)
        facts |= {"g": view.generation, "kind": view.kind, "stale": view.stale, "told": told, "life": self.life}
        self.log.write(event, hs=names, have=len(self.path), **facts)

    async def _learn(self, view: View) -> None:
        """What the generations of a new revision cover, as the public call tells."""
        revision = view.id.rpartition(".")[0]
        if revision == self._shown or view.stale:
            return
        try:
            known = await self.session.generations()
        except OffturnError:
            return
        self._shown = revision
        for g in known:
            facts = {"covered": g.covered, "provisional": g.provisional, "reason": g.reason, "replaces": g.replaces}
            self.log.write("gen", n=g.number, life=self.life, **facts)

    async def raw(self) -> View:
        """The raw transcript. Raises GaveUp."""
        return await self.patiently(lambda: self.session.view(generation=0, window=offturn.ANY_WINDOW), fresh=True)

    async def patiently(self, call: Callable[[], Awaitable[T]], *, fresh: bool = False) -> T:
        """Until the store answers; `fresh`: and not from what the handle still has. Raises GaveUp."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                answer = await call()
            except OffturnError as error:
                if not error.retryable and not isinstance(error, NOT_RECORDED):
                    raise
            else:
                if not (fresh and getattr(answer, "stale", False)):
                    return answer
            await asyncio.sleep(PAUSE)
        raise GaveUp

    def _follow(self, ticket: Ticket) -> None:
        self.tickets.append(ticket)
        self.log.write("ticket", no=ticket.request_no, life=self.life)

    async def request(self) -> None:
        """Ask for a compaction and remember the ticket."""
        self._follow(await self.patiently(self.session.request))


def altered(raw: Any) -> Any:
    """The same message with one character changed."""
    if isinstance(raw, str):
        return f"{raw[:-2]}{'x' if raw[-2:-1] != 'x' else 'y'}{raw[-1:]}"
    if isinstance(raw, list):
        return [*raw[:-1], altered(raw[-1])]
    name = next(n for n in ("content", "text", "tool_calls", "function", "arguments", "input", "command") if raw.get(n))
    return {**raw, name: altered(raw[name])}
