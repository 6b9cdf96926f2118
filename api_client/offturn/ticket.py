"""A request for a compaction, as the host can follow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from offturn.store.sessions import SessionStore
from offturn.store.state import Event
from offturn.view import View
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_engine.messages import RawMessage
from offturn_engine.outcome import Compacted, Failed, Outcome, Pruned, Skipped, Superseded

POLL_SECONDS = 0.05
PAGE = 200  # events per read
NO_OUTCOME = (
    "request {} of session {!r} has no outcome after {:g} s: it is still asked for, wait again, or see Ticket.status() "
    "and `offturn doctor`"
)
OUTCOMES: dict[str, type[Compacted | Failed | Pruned | Skipped | Superseded]] = {
    kind.__name__.lower(): kind for kind in (Compacted, Pruned, Skipped, Superseded, Failed)
}


@dataclass(frozen=True, slots=True)
class Ticket:
    """`request_no` names the request; a job that answers it, or a later one, closes the ticket."""

    store: SessionStore = field(repr=False)
    key: SessionKey
    request_no: int
    mirror: Callable[[Sequence[Any]], Awaitable[View]] = field(repr=False)
    warnings: tuple[str, ...] = ()

    async def status(self) -> Literal["waiting", "running", "done", "gone"]:
        """Where the request is; `done` says nothing about the outcome, `gone`: the session is."""
        meta = await self.store.meta(self.key)
        if meta is None:
            return "gone"
        if meta.served >= self.request_no:
            return "done"
        return "running" if meta.leased else "waiting"

    async def apply(self, messages: Sequence[Any]) -> list[RawMessage]:
        """Your list as it is to go on: compacted, with all you have appended to it since.

        The list itself, as long as no compaction is done or a tool group is open: ask again before your next turn. It
        always fits the window. What is new in the list is recorded, and the result may be given again. Raises what
        `Session.mirror` raises.
        """
        return list((await self.mirror(messages)).messages)

    async def wait(self, timeout: float | None = None) -> Outcome:  # noqa: ASYNC109 -- the public contract
        """The outcome of the job that answered the request; a failed one is tried again, and waited for.

        `Superseded("withdrawn")` where a rollback withdrew the request, `Failed("parked")` where too many jobs died,
        `Skipped("blocked")` where compactions in a row made no room (`Status.blocked`).
        Raises TimeoutError after `timeout` seconds; the compaction is still asked for. Raises InvalidSetting, and what
        the store raises where it is away.
        """
        _checked_timeout(timeout)
        try:
            async with asyncio.timeout(timeout):
                return await self._outcome()
        except TimeoutError:
            raise TimeoutError(NO_OUTCOME.format(self.request_no, self.key.session, timeout)) from None

    async def _outcome(self) -> Outcome:
        last: str | None = None
        while True:
            closed = await self._closed()
            async for event in self._events(last):
                last = event.id
                if event.kind == "finished" and event.fields.get("served", 0) >= self.request_no:
                    return outcome_of(event)
            if closed is not None:
                return closed
            await asyncio.sleep(POLL_SECONDS)

    async def _closed(self) -> Outcome | None:
        """What became of the request where no job is going to report it."""
        meta = await self.store.meta(self.key)
        if meta is None:
            return Superseded(reason="gone")
        if meta.served < self.request_no or meta.leased or meta.due:
            return None
        if meta.blocked:
            return Skipped(reason="blocked")
        return Failed(kind="parked") if meta.parked else Superseded(reason="withdrawn")

    async def _events(self, after: str | None) -> AsyncIterator[Event]:
        while page := await self.store.events(self.key, after=after, limit=PAGE):
            for event in page:
                yield event
            after = page[-1].id


def outcome_of(event: Event) -> Outcome:
    """The outcome a `finished` event carries."""
    kind = OUTCOMES[event.fields["outcome"]]
    return kind(**{name: value for name, value in event.fields.items() if name in kind.__dataclass_fields__})


def _checked_timeout(timeout: object) -> None:
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
        raise InvalidSetting(f"timeout {timeout!r:.40}: use a number of seconds, or None to wait for ever")
