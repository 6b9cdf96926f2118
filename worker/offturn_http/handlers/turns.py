"""Each turn: what is new is recorded, and the view to send comes back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from offturn import Session
from offturn.errors import Behind, CannotFit, Moved, NothingRecorded
from offturn.inspecting import Place
from offturn.turning import Turned
from offturn_http.call import Call
from offturn_http.cursors import ANYWHERE, cursor_of, length_of, named_view
from offturn_http.models import (
    Around,
    Cursor,
    JsonObject,
    SessionGiven,
    ShownAnswer,
    ViewAnswer,
    Want,
    Warnings,
    shown_answer,
)
from offturn_http.operations import SESSION, Operation
from offturn_http.problems import OF_ERROR, Problem, problem_of
from offturn_http.wire import Answer, Given

OriginName = Literal["human", "host", "restore", "assistant", "tool", "system", "replay", "summary"]
Messages = Annotated[list[Any], Field(description="in the session's format", max_length=10_000)]
Ids = Annotated[list[str | None] | None, Field(description="your own ids, one each; a repeat is recorded once")]
Usage = Annotated[JsonObject | None, Field(description="of the model call, as the provider's answer has it")]
NONE = "no session {!r}: say in `session` what it is to be, its format above all"
MOVED = "recorded, taken back or replaced by somebody else: go on from `cursor`, or mirror your list"


class TurnGiven(Given):
    """What came since the client's last turn, and what it wants back."""

    after: str | None = Field(
        default=None,
        description="the cursor of your last answer; null: the session is new; `*`: wherever it is",
        max_length=100,
    )
    messages: Messages = Field(default_factory=list)
    ids: Ids = None
    origin: OriginName | None = Field(default=None, description="who wrote the user-role messages; null: a human")
    usage: Usage = None
    view: str | None = Field(
        default=None, description="`view.id` of the view whose call `usage` is of", max_length=2_000
    )
    want: Want | None = Field(default_factory=Want, description="the view to answer with; null: none")
    session: SessionGiven | None = Field(default=None, description="what the session is to be, where it is new")


class TurnAnswer(Answer):
    """recorded: the seqs of what was new, first and last; null: nothing was."""

    cursor: Cursor
    recorded: tuple[int, int] | None
    requirement: Literal["none", "soft", "hard"] | None
    view: ViewAnswer | None
    warnings: Warnings


class MirrorGiven(Given):
    """All messages of a client's own list, or the newest of them (`partial`)."""

    messages: Messages
    ids: Ids = None
    partial: bool = False
    usage: Usage = None
    want: Want = Field(default_factory=Want)
    session: SessionGiven | None = None


class OverflowGiven(Given):
    """error: what the provider answered, as JSON, with its status as `status`."""

    error: JsonObject = Field(description="the provider's answer; put its HTTP status in as `status`")
    sent: str = Field(description="`view.id` of the view that was too long", max_length=2_000)
    pending: Messages = Field(default_factory=list)
    want: Around = Field(default_factory=Around)


async def turn(call: Call) -> TurnAnswer:
    """Record what is new, and show what to send."""
    given = call.body(TurnGiven)
    try:
        turned = await _turned(call, given)
    except Behind:  # what this process knew of the session; the client's cursor tells what the client knows
        call.service.handles.forget(call.caller.tenant, call.id)
        turned = await _turned(call, given)
    view, recorded = turned.view, turned.recorded
    new = recorded is not None and recorded.first_seq <= recorded.last_seq
    shown = None if view is None or given.want is None else shown_answer(view, given.want)
    return TurnAnswer.model_construct(
        cursor=cursor_of(turned.place) if shown is None else shown.cursor,
        recorded=(recorded.first_seq, recorded.last_seq) if recorded is not None and new else None,
        requirement=None if recorded is None else recorded.requirement,
        view=None if shown is None else shown.view,
        warnings=[] if recorded is None else list(recorded.warnings),
    )


async def _turned(call: Call, given: TurnGiven) -> Turned:
    """In the session as it is, or else in a new one, where the request says what that is to be."""
    try:
        return await _in(call, await call.session(), given, new=False)
    except NothingRecorded:
        if given.session is None:
            raise NothingRecorded(NONE.format(call.id)) from None
    session = call.service.handles.created(call.caller.tenant, call.id, given.session)
    return await _in(call, session, given, new=True)


async def _in(call: Call, session: Session, given: TurnGiven, *, new: bool) -> Turned:
    done = await call.is_done(kind="record")

    def expect(place: Place | None) -> int | None:
        if place is None and not new:
            raise NothingRecorded(NONE.format(call.id))
        return None if done or not (given.messages or given.after) else _expected(given.after, place)

    with call.named():
        try:
            return await session.turn(
                [] if done else given.messages,
                expect=expect,
                show=given.want is not None,
                ids=None if done else given.ids,
                usage=None if done else given.usage,
                view=None if given.view is None else named_view(given.view, "view"),
                origin=given.origin,
                **({} if given.want is None else given.want.options()),
            )
        except Moved:  # between the look and the write
            raise _moved(given.after, await session.place()) from None
        except CannotFit as error:  # what was recorded before stays, so the cursor goes with it
            problem = problem_of(error)
            problem.more = {**problem.more, "cursor": cursor_of(await session.place())}
            raise problem from None


async def mirror(call: Call) -> ShownAnswer:
    """Make the session what the client's list says, and show what to send."""
    given, want = call.body(MirrorGiven), call.body(MirrorGiven).want
    session, _ = await _opened(call, given.session)
    await call.is_unchanged()
    with call.named():
        view = await session.mirror(
            given.messages, ids=given.ids, usage=given.usage, partial=given.partial, **want.options()
        )
    return shown_answer(view, want)


async def overflow(call: Call) -> ShownAnswer:
    """A smaller view, after the provider said that one was too long."""
    given = call.body(OverflowGiven)
    session, sent = await call.session(), named_view(given.sent, "sent")
    around = replace(sent.options, system=given.want.system, tools=given.want.tools)
    await call.is_unchanged()
    with call.named():
        view = await session.overflow(
            given.error, sent=replace(sent, system=given.want.system, options=around), pending=given.pending
        )
    return shown_answer(view, given.want)


async def _opened(call: Call, given: SessionGiven | None) -> tuple[Session, Place | None]:
    """The session and where it is; a new one where there is none, if the request says which. Raises NothingRecorded."""
    try:
        session = await call.session()
        place = await session.place()
    except NothingRecorded:
        place = None
    if place is None:
        if given is None:
            raise NothingRecorded(NONE.format(call.id))
        session = call.service.handles.created(call.caller.tenant, call.id, given)
    return session, place


def _expected(after: str | None, place: Place | None) -> int | None:
    """The length that the log must have. Raises Problem where the session is elsewhere, and InvalidSetting."""
    if after == ANYWHERE:
        return None
    wanted = length_of(after)
    if after != cursor_of(place):
        raise _moved(after, place)
    return wanted


def _moved(after: str | None, place: Place | None) -> Problem:
    wanted = None if after == ANYWHERE else length_of(after)
    now = {"expected": wanted, "got": place.length if place else 0, "cursor": cursor_of(place)}
    return Problem(OF_ERROR[Moved], MOVED, {"retryable": False, **now})


_turn = partial(Operation, "POST", tag="turns", answer=ShownAnswer, keyed=True)

OPERATIONS = (
    _turn(
        "turn",
        f"{SESSION}/turn",
        turn,
        "Record what is new, and get what to send",
        body=TurnGiven,
        answer=TurnAnswer,
    ),
    _turn(
        "mirror",
        f"{SESSION}/mirror",
        mirror,
        "Make the session what your own list says, and get what to send",
        body=MirrorGiven,
    ),
    _turn(
        "overflow",
        f"{SESSION}/overflow",
        overflow,
        "Get a smaller view, after the provider said that one was too long",
        body=OverflowGiven,
    ),
)
