"""A session without `await`. Methods that return something async are written out, the others are wrapped as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from offturn import session as aio
from offturn import ticket as aio_ticket
from offturn.background import Background
from offturn.entries import Ids, OriginRule
from offturn.outbox import Undelivered
from offturn.paths import Ref
from offturn.sync.wrapping import Wrapper, blocking
from offturn.view import View
from offturn_config.keys import SessionKey
from offturn_engine.ranges import Ranges
from offturn_engine.triggers import Requirement


class Ticket(Wrapper[aio_ticket.Ticket]):
    """As `offturn.Ticket`."""

    status = blocking(aio_ticket.Ticket.status)
    wait = blocking(aio_ticket.Ticket.wait)
    apply = blocking(aio_ticket.Ticket.apply)

    @property
    def request_no(self) -> int:
        """The request it follows."""
        return self._inner.request_no

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences without content."""
        return self._inner.warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """As `offturn.Recorded`, with a ticket to wait on."""

    first_seq: int
    last_seq: int
    path: Ranges
    generation: int
    requirement: Requirement
    ticket: Ticket | None
    durable: bool
    warnings: tuple[str, ...] = ()


class Session(Wrapper[aio.Session]):
    """As `offturn.Session`: see there for what each method does."""

    view = blocking(aio.Session.view)
    mirror = blocking(aio.Session.mirror)
    overflow = blocking(aio.Session.overflow)
    rollback = blocking(aio.Session.rollback)
    recall = blocking(aio.Session.recall)
    status = blocking(aio.Session.status)
    generations = blocking(aio.Session.generations)
    events = blocking(aio.Session.events)
    rewind = blocking(aio.Session.rewind)
    amend = blocking(aio.Session.amend)
    cancel = blocking(aio.Session.cancel)
    unblock = blocking(aio.Session.unblock)
    configure = blocking(aio.Session.configure)
    redact = blocking(aio.Session.redact)
    purge = blocking(aio.Session.purge)

    @property
    def key(self) -> SessionKey:
        """Tenant and id."""
        return self._inner.key

    @property
    def format(self) -> str:
        """As `offturn.Session.format`."""
        return self._inner.format

    def record(
        self,
        messages: object,
        *,
        ids: Ids | None = None,
        usage: Any = None,
        view: View | None = None,
        origin: OriginRule = None,
        expect: int | None = None,
    ) -> Recorded:
        """As `offturn.Session.record`."""
        told = self._loop.run(
            self._inner.record(messages, ids=ids, usage=usage, view=view, origin=origin, expect=expect)
        )
        return Recorded(
            first_seq=told.first_seq,
            last_seq=told.last_seq,
            path=told.path,
            generation=told.generation,
            requirement=told.requirement,
            ticket=None if told.ticket is None else Ticket(told.ticket, self._loop),
            durable=told.durable,
            warnings=told.warnings,
        )

    def phase_done(
        self, note: str = "", *, history: Sequence[Any] | None = None, usage: Any = None, focus: str | None = None
    ) -> Ticket:
        """As `offturn.Session.phase_done`."""
        work = self._inner.phase_done(note, history=history, usage=usage, focus=focus)
        return Ticket(self._loop.run(work), self._loop)

    def request(self, reason: str = "manual", *, focus: str | None = None) -> Ticket:
        """As `offturn.Session.request`."""
        return Ticket(self._loop.run(self._inner.request(reason, focus=focus)), self._loop)

    def fork(self, new_id: str, *, at: Ref | None = None) -> Self:
        """As `offturn.Session.fork`."""
        return type(self)(self._loop.run(self._inner.fork(new_id, at=at)), self._loop)

    def export(self) -> Iterator[dict[str, Any]]:
        """As `offturn.Session.export`."""
        return _steps(self._inner, self._loop)

    def undelivered(self) -> list[Undelivered]:
        """As `offturn.Session.undelivered`."""

        async def asked() -> list[Undelivered]:
            return self._inner.undelivered()

        return self._loop.run(asked())


def _steps(session: aio.Session, loop: Background) -> Iterator[dict[str, Any]]:
    lines = session.export()

    async def following() -> dict[str, Any] | None:
        return await anext(lines, None)

    while (line := loop.run(following())) is not None:
        yield line
