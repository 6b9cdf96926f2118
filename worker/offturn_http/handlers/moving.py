"""What changes which messages a session shows, and which compaction is in force. Nothing is deleted."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from offturn import Pinned
from offturn_http.call import Call
from offturn_http.cursors import cursor_of
from offturn_http.models import Cursor, Name, Ref, Warnings
from offturn_http.operations import SESSION, Operation
from offturn_http.wire import Answer, Given


class RewindGiven(Given):
    """How far back: so many turns, so many messages, or all behind `to`."""

    to: Ref | None = Field(default=None, description="this message stays, all after it go")
    turns: int = Field(default=1, ge=1, le=10**9)
    messages: int | None = Field(default=None, ge=1, le=10**9)


class AmendGiven(Given):
    """Another message for the place of one."""

    ref: Ref
    message: Any = Field(description="in the session's format")


class ForkGiven(Given):
    """A copy under another id."""

    id: Name
    at: Ref | None = Field(default=None, description="the last message of the copy; null: all")


class RollbackGiven(Given):
    """Another generation to put in force."""

    generation: int = Field(ge=0, le=2**53, description="0: the messages as they were recorded")
    force: bool = Field(default=False, description="also where its view is above the policy's ceiling")


class PinGiven(Given):
    """A message to keep, or to let go."""

    ref: Ref


class MovedAnswer(Answer):
    """Where the session is now: the next turn's `after`."""

    cursor: Cursor


class ForkAnswer(Answer):
    """The new session, and where it is."""

    id: str
    cursor: Cursor


class PinnedAnswer(Answer):
    """seqs: of the pinned messages; tokens: what they take with their groups; room: what pins may take."""

    seqs: list[int]
    tokens: int
    room: int
    warnings: Warnings


async def rewind(call: Call) -> MovedAnswer:
    """Take the newest messages back."""
    given, session = call.body(RewindGiven), await call.session()
    await session.place()  # what the session holds now is what is taken back
    await call.once(lambda: session.rewind(to=given.to, turns=given.turns, messages=given.messages))
    return MovedAnswer(cursor=cursor_of(await session.place()))


async def amend(call: Call) -> MovedAnswer:
    """Replace a message."""
    given, session = call.body(AmendGiven), await call.session()
    await call.once(lambda: session.amend(given.ref, given.message))
    return MovedAnswer(cursor=cursor_of(await session.place()))


async def fork(call: Call) -> ForkAnswer:
    """Start a copy."""
    given, session = call.body(ForkGiven), await call.session()
    made = await call.once(lambda: session.fork(given.id, at=given.at), on=given.id)
    if made is None:
        made = await call.service.handles.existing(call.caller.tenant, given.id)
    return ForkAnswer(id=given.id, cursor=cursor_of(await made.place()))


async def rollback(call: Call) -> MovedAnswer:
    """Put another generation in force."""
    given, session = call.body(RollbackGiven), await call.session()
    await call.once(lambda: session.rollback(generation=given.generation, force=given.force))
    return MovedAnswer(cursor=cursor_of(await session.place()))


async def pin(call: Call) -> PinnedAnswer:
    """Keep a message word for word."""
    given, session = call.body(PinGiven), await call.session()
    return _pinned(await session.pin(given.ref))


async def unpin(call: Call) -> PinnedAnswer:
    """Let a message go again."""
    given, session = call.body(PinGiven), await call.session()
    return _pinned(await session.unpin(given.ref))


def _pinned(told: Pinned) -> PinnedAnswer:
    return PinnedAnswer(seqs=list(told.seqs), tokens=told.tokens, room=told.room, warnings=list(told.warnings))


_move = partial(Operation, "POST", tag="changes", answer=MovedAnswer, keyed=True)
_pin = partial(Operation, "POST", tag="changes", body=PinGiven, answer=PinnedAnswer)

OPERATIONS = (
    _move("rewind", f"{SESSION}/rewind", rewind, "Take the newest messages back", body=RewindGiven),
    _move("amend", f"{SESSION}/amend", amend, "Replace a message", body=AmendGiven),
    _move("fork", f"{SESSION}/fork", fork, "Start a copy", body=ForkGiven, answer=ForkAnswer),
    _move("rollback", f"{SESSION}/rollback", rollback, "Put another generation in force; 0: none", body=RollbackGiven),
    _pin("pin", f"{SESSION}/pin", pin, "Keep a message word for word in every later view"),
    _pin("unpin", f"{SESSION}/unpin", unpin, "Let a pinned message go again"),
)
