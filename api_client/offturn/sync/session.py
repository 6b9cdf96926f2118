"""A session without `await`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self

from offturn import appending as aio_appending
from offturn import recalling as aio_recalling
from offturn import session as aio
from offturn import ticket as aio_ticket
from offturn.background import Background
from offturn.sync.wrapping import Wrapper, blocking, blocking_as, on_loop, wrapped
from offturn_config.keys import SessionKey
from offturn_engine.ranges import Ranges
from offturn_engine.triggers import Requirement


class Ticket(Wrapper[aio_ticket.Ticket]):
    """As `offturn.Ticket`."""

    status = blocking(aio_ticket.Ticket.status)
    wait = blocking(aio_ticket.Ticket.wait)
    apply = blocking(aio_ticket.Ticket.apply)

    @property
    def key(self) -> SessionKey:
        """Of the session: tenant and id."""
        return self._inner.key

    @property
    def request_no(self) -> int:
        """The request it follows."""
        return self._inner.request_no

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences without content."""
        return self._inner.warnings


class RecallTool(Wrapper[aio_recalling.RecallTool]):
    """As `offturn.RecallTool`."""

    name = aio_recalling.RecallTool.name
    run = blocking(aio_recalling.RecallTool.run)

    @property
    def definition(self) -> Any:
        """As `offturn.RecallTool.definition`."""
        return self._inner.definition


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

    @classmethod
    def of(cls, told: aio_appending.Recorded, loop: Background) -> Self:
        """The same, for hosts that block."""
        values = {field.name: getattr(told, field.name) for field in fields(told)}
        return cls(**{**values, "ticket": told.ticket and Ticket(told.ticket, loop)})


def _blocking(inner: aio.Session, loop: Background) -> Session:
    return Session(inner, loop)


class Session(Wrapper[aio.Session]):
    """As `offturn.Session`: see there for what each method does."""

    view = blocking(aio.Session.view)
    mirror = blocking(aio.Session.mirror)
    turn = blocking(aio.Session.turn)
    overflow = blocking(aio.Session.overflow)
    rollback = blocking(aio.Session.rollback)
    recall = blocking(aio.Session.recall)
    search = blocking(aio.Session.search)
    recall_tool = wrapped(aio.Session.recall_tool, RecallTool)
    explain = blocking(aio.Session.explain)
    status = blocking(aio.Session.status)
    place = blocking(aio.Session.place)
    generations = blocking(aio.Session.generations)
    events = blocking(aio.Session.events)
    rewind = blocking(aio.Session.rewind)
    amend = blocking(aio.Session.amend)
    pin = blocking(aio.Session.pin)
    unpin = blocking(aio.Session.unpin)
    cancel = blocking(aio.Session.cancel)
    unblock = blocking(aio.Session.unblock)
    configure = blocking(aio.Session.configure)
    redact = blocking(aio.Session.redact)
    purge = blocking(aio.Session.purge)
    undelivered = on_loop(aio.Session.undelivered)
    phase_done = blocking_as(aio.Session.phase_done, Ticket)
    request = blocking_as(aio.Session.request, Ticket)
    record = blocking_as(aio.Session.record, Recorded.of)
    fork = blocking_as(aio.Session.fork, _blocking)

    @property
    def key(self) -> SessionKey:
        """Tenant and id."""
        return self._inner.key

    @property
    def format(self) -> str:
        """As `offturn.Session.format`."""
        return self._inner.format

    def export(self) -> Iterator[dict[str, Any]]:
        """As `offturn.Session.export`."""
        return _steps(self._inner, self._loop)


def _steps(session: aio.Session, loop: Background) -> Iterator[dict[str, Any]]:
    lines = session.export()

    async def following() -> dict[str, Any] | None:
        return await anext(lines, None)

    while (line := loop.run(following())) is not None:
        yield line
