"""Looking at sessions, which changes nothing, but that a host's view puts a new generation in force."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import Response

from offturn.errors import NothingRecorded
from offturn.exporting import message_lines
from offturn_config.keys import SessionKey
from offturn_http.call import Call
from offturn_http.cursors import cursor_of
from offturn_http.models import Cursor, JsonObject, ShownAnswer, Want, Warnings, Window, shown_answer
from offturn_http.operations import SESSION, SESSIONS, Operation
from offturn_http.wire import Answer, Given, dumps

Limit = Annotated[int, Field(ge=1, le=1_000)]


class ListQuery(Given):
    """How many at most."""

    limit: int = Field(default=1_000, ge=1, le=100_000)


class SessionsAnswer(Answer):
    """Ids of living sessions, sorted; those in the archive are not among them."""

    sessions: list[str]


class StatusAnswer(Answer):
    """One session now: as `Status` of the Python client."""

    cursor: Cursor
    session: str
    messages: int
    tokens: int
    generation: int
    current: int
    requirement: Literal["none", "soft", "hard"]
    due: bool
    running: bool
    parked: bool
    trouble: str
    blocked: str
    window: int
    policy: str
    format: str
    adopt: Literal["group", "turn", "never"]
    log_bytes: int
    stored_bytes: int
    pinned: list[int]
    warnings: Warnings


class ViewQuery(Given):
    """Which view; what is not said is as the session has it."""

    generation: int | None = Field(default=None, ge=0, le=2**53, description="as it shows, without putting it in force")
    model: str | None = Field(default=None, max_length=256)
    window: Window | None = None
    max_output: Window | None = None
    format: str | None = Field(default=None, max_length=64)
    tail: bool = True
    request: bool = False


class HistoryQuery(Given):
    """A page of the log."""

    start: int = Field(default=0, ge=0, le=2**53, description="seq of the first")
    limit: Limit = 100


class HistoryAnswer(Answer):
    """messages: as they were recorded, each with seq, origin, id, time, and whether the session still shows it."""

    messages: list[JsonObject]
    next: int | None = Field(description="`start` of the next page; null: there is none")


class GenerationsAnswer(Answer):
    """Those that are kept, oldest first: what each covers, how it was made, what it cost and saves, what became of facts."""

    generations: list[JsonObject]


async def sessions(call: Call) -> SessionsAnswer:
    """The tenant's sessions."""
    found = await call.client.sessions(call.query(ListQuery).limit)
    return SessionsAnswer(sessions=[key.session for key in found])


async def status(call: Call) -> StatusAnswer:
    """Sizes, generations, and whether work is due."""
    session = await call.session()
    told = asdict(await session.status())
    return StatusAnswer(**told, cursor=cursor_of(await session.place()))


async def view(call: Call) -> Response:
    """What to send, with an ETag."""
    query, session = call.query(ViewQuery), await call.session()
    generation = query.generation
    if generation is None and call.caller.role == "reader":  # who only looks adopts nothing
        generation = (await session.status()).generation
    want = Want(**{name: getattr(query, name) for name in ViewQuery.model_fields if name != "generation"})
    shown = await session.view(**{**want.options(), "hold": 0.0}, generation=generation)
    asked = repr((shown.id, shown.generation, shown.warnings, query))
    tag = f'"{sha256(asked.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in [one.strip().removeprefix("W/") for one in call.request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(dumps(shown_answer(shown, want)), 200, headers, "application/json")


async def history(call: Call) -> HistoryAnswer:
    """Messages as they were recorded."""
    query = call.query(HistoryQuery)
    await call.session()
    links, key = await call.service.links(), SessionKey(call.caller.tenant, call.id)
    meta = await links.store.meta(key)
    if meta is None:
        raise NothingRecorded(f"no session {call.id!r}")
    stop = min(query.start + query.limit, meta.log_len)
    entries = await links.store.log(key, start=query.start, stop=stop) if query.start < stop else []
    line = message_lines(meta)
    told = [{name: value for name, value in line(entry).items() if name != "kind"} for entry in entries]
    return HistoryAnswer(messages=told, next=stop if stop < meta.log_len else None)


async def generations(call: Call) -> GenerationsAnswer:
    """The compactions that are kept."""
    session = await call.session()
    return GenerationsAnswer(generations=[_generation(one) for one in await session.generations()])


def _generation(one: Any) -> JsonObject:
    found: JsonObject = asdict(one)
    for name in ("economics", "audit"):
        kept = getattr(one, name)
        found[name] = None if kept is None else kept.model_dump(mode="json")
    return found


_look = partial(Operation, "GET", tag="looking", role="reader")

OPERATIONS = (
    _look("sessions", SESSIONS, sessions, "Ids of the tenant's sessions", query=ListQuery, answer=SessionsAnswer),
    _look("status", SESSION, status, "One session now", answer=StatusAnswer),
    _look(
        "view",
        f"{SESSION}/view",
        view,
        "What to send to the model; for a reader what is in force",
        query=ViewQuery,
        answer=ShownAnswer,
        headers={"ETag": "equal while the view is: with If-None-Match the answer is 304"},
    ),
    _look(
        "history",
        f"{SESSION}/history",
        history,
        "Messages as they were recorded",
        query=HistoryQuery,
        answer=HistoryAnswer,
    ),
    _look(
        "generations",
        f"{SESSION}/generations",
        generations,
        "The compactions that are kept",
        answer=GenerationsAnswer,
    ),
)
