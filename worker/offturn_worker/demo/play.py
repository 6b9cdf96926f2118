"""The host's side of the demonstration: record, view, call the "model" (the recording answers), go on.

Nothing here waits for a worker but the very end: what the screen shows as waiting is the time `view()` took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from offturn import Outcome, Session, Ticket, Usage, View
from offturn_engine.messages import RawMessage
from offturn_engine.tokens import estimate_message
from offturn_worker.demo.recorded import Recording

WINDOW = 36_000
PACE_SECONDS = 0.12
NEARLY_FULL = 0.72  # share of the window from which the model's answers take as long as real ones
LONGEST_ANSWERS_SECONDS = 120.0
"""All that slowed answers take: without a worker the play goes on."""

LAST_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One model call of the host. `waited` is what `view()` took, in ms; tokens are of the whole request."""

    number: int
    sent: int
    waited: float
    view: View
    before: int
    adopted: bool
    running: bool


@dataclass(slots=True)
class Play:
    """One run of the recording against a session."""

    recording: Recording
    session: Session
    after: Callable[[Turn], Awaitable[None]]
    said: Callable[[str], None]
    pace: float = PACE_SECONDS
    turns: list[Turn] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    slowed: float = 0.0

    async def run(self) -> None:
        """Play every message; ask for a compaction at each phase end; wait for the last one only."""
        ends = {phase.after: phase.note for phase in self.recording.phases}
        waiting: list[RawMessage] = []
        ticket: Ticket | None = None
        for index, message in enumerate(self.recording.messages):
            if message["role"] == "assistant":
                await self._call(waiting, index)
                waiting = [message]
            else:
                waiting.append(message)
            if index in ends:
                await self.session.record(waiting, usage=self._usage())
                waiting = []
                ticket = await self.session.phase_done(ends[index])
                self.said(f"phase done: {ends[index]}; asked for a compaction and went on")
        if waiting:
            await self.session.record(waiting)
        if ticket is not None:
            try:
                self.outcomes.append(await ticket.wait(LAST_WAIT_SECONDS))
            except TimeoutError:
                self.said(f"the last compaction is not done after {LAST_WAIT_SECONDS:.0f} s: going on without it")
        await self._view(len(self.recording.messages))

    async def _call(self, waiting: list[RawMessage], sent: int) -> None:
        if waiting:
            await self.session.record(waiting, usage=self._usage())
        await self._view(sent)
        await self._answer()

    async def _answer(self) -> None:
        """The recording answers at once. A real model does not, so that a worker is done before the window is full."""
        await asyncio.sleep(self.pace)
        if self.turns[-1].view.tokens < NEARLY_FULL * WINDOW:
            return
        while self.slowed < LONGEST_ANSWERS_SECONDS:
            status = await self.session.status()
            if not status.due or status.current != status.generation:
                return
            await asyncio.sleep(self.pace)
            self.slowed += self.pace

    async def _view(self, sent: int) -> None:
        started = time.perf_counter()
        view = await self.session.view(system=self.recording.system)
        waited = (time.perf_counter() - started) * 1_000
        last = self.turns[-1].view if self.turns else None
        turn = Turn(
            number=len(self.turns) + 1,
            sent=sent,
            waited=waited,
            view=view,
            before=last.tokens if last else 0,
            adopted=last is not None and last.generation != view.generation,
            running=(await self.session.status()).running,
        )
        self.turns.append(turn)
        await self.after(turn)

    def _usage(self) -> Usage | None:
        """What a provider would report for the last call: the leading messages it has seen before are cached."""
        if not self.turns:
            return None
        view = self.turns[-1].view
        cached = sum(estimate_message(raw) for raw in view.messages[: view.prefix])
        return Usage(view.tokens, 200, min(cached, view.tokens))
