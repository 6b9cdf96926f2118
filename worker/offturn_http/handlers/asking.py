"""Compactions: asked for, called off, and how a session is set."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field

from offturn import Ticket
from offturn_http.call import Call
from offturn_http.models import JsonObject, Warnings, Window
from offturn_http.operations import SESSION, Operation
from offturn_http.wire import Answer, Given

LONGEST = 4_000


class PhaseGiven(Given):
    """A piece of work has ended."""

    note: str = Field(default="", max_length=LONGEST, description="what was done, for the summarizer")
    focus: str | None = Field(default=None, max_length=LONGEST, description="what the summary is to keep most of all")


class RequestGiven(Given):
    """A compaction is wanted now."""

    focus: str | None = Field(default=None, max_length=LONGEST)


class TicketAnswer(Answer):
    """request: its number. Its end is an event `finished` of the session, and `GET /v1/sessions/{id}` tells whether one runs."""

    request: int | None = Field(description="number of the request; null: this Idempotency-Key has asked for it before")
    warnings: Warnings


class ConfigureGiven(Given):
    """What of the session's settings is to be another; null: as it is."""

    policy: str | None = Field(default=None, max_length=64)
    overrides: JsonObject | None = None
    model: str | None = Field(default=None, max_length=256)
    window: Window | None = None
    adopt: Literal["group", "turn", "never"] | None = None


class DoneAnswer(Answer):
    """It is so now."""

    done: Literal[True] = True


async def phase(call: Call) -> TicketAnswer:
    """Ask for a compaction, because a phase of the work is over."""
    given, session = call.body(PhaseGiven), await call.session()
    return _ticket(await call.once(lambda: session.phase_done(given.note, focus=given.focus)))


async def request(call: Call) -> TicketAnswer:
    """Ask for a compaction."""
    given, session = call.body(RequestGiven), await call.session()
    return _ticket(await call.once(lambda: session.request(focus=given.focus)))


async def cancel(call: Call) -> DoneAnswer:
    """Withdraw what was requested."""
    session = await call.session()
    await call.once(session.cancel)
    return DoneAnswer()


async def unblock(call: Call) -> DoneAnswer:
    """Let a session be compacted again."""
    session = await call.session()
    await call.once(session.unblock)
    return DoneAnswer()


async def configure(call: Call) -> DoneAnswer:
    """Change what the first record stored."""
    given, session = call.body(ConfigureGiven), await call.session()
    changes: dict[str, Any] = {name: getattr(given, name) for name in ConfigureGiven.model_fields}
    await call.once(lambda: session.configure(**changes))
    return DoneAnswer()


def _ticket(ticket: Ticket | None) -> TicketAnswer:
    if ticket is None:
        return TicketAnswer(request=None, warnings=[])
    return TicketAnswer(request=ticket.request_no, warnings=list(ticket.warnings))


_ask = partial(Operation, "POST", tag="compactions", answer=DoneAnswer, keyed=True)

OPERATIONS = (
    _ask(
        "phase",
        f"{SESSION}/phase",
        phase,
        "A piece of work is done: compact now",
        body=PhaseGiven,
        answer=TicketAnswer,
    ),
    _ask("request", f"{SESSION}/request", request, "Compact now", body=RequestGiven, answer=TicketAnswer),
    _ask("cancel", f"{SESSION}/cancel", cancel, "Withdraw what was requested"),
    _ask("unblock", f"{SESSION}/unblock", unblock, "Let a parked or blocked session be compacted again"),
    _ask(
        "configure",
        f"{SESSION}/configure",
        configure,
        "Change a session's policy, model, window or adoption",
        body=ConfigureGiven,
    ),
)
