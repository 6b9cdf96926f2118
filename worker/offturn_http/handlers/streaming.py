"""Events of a session, a page of them or as they happen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict

from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from offturn import Session
from offturn.inspecting import Event
from offturn.session import EVENT_ID
from offturn_config.errors import InvalidSetting, OffturnError
from offturn_http.auth import caller_of
from offturn_http.call import Call
from offturn_http.models import JsonObject
from offturn_http.operations import SESSION, Operation
from offturn_http.problems import Problem
from offturn_http.streams import MEDIA as STREAM
from offturn_http.wire import Answer, Given, dumps

PING_SECONDS = 15.0  # a comment keeps proxies from closing a quiet stream
RETRY = b"retry: 2000\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventsQuery(Given):
    """A page of events, or where a stream begins."""

    after: str | None = Field(
        default=None, max_length=50, description="id of the last event seen; of a stream, Last-Event-ID goes first"
    )
    limit: int = Field(default=1_000, ge=1, le=1_000)


class EventsAnswer(Answer):
    """events: oldest first, each with id, at, kind and fields: names, numbers and sizes, no content."""

    events: list[JsonObject]


async def events(call: Call) -> EventsAnswer | Response:
    """A page of JSON, or a stream for who accepts one."""
    query, session = call.query(EventsQuery), await call.session()
    if call.request.method == "HEAD" or STREAM not in call.request.headers.get("accept", ""):
        found = await session.events(query.after, limit=query.limit)
        return EventsAnswer(events=[asdict(event) for event in found])
    after = call.request.headers.get("last-event-id") or query.after
    if after is not None and not EVENT_ID.match(after):
        raise InvalidSetting("Last-Event-ID: use the id of an event, such as 1796037757085-0")
    await session.status()  # a session that is gone is told before the stream begins
    return call.service.streams.response(call.caller.key, _streamed(call, session, after), HEADERS)


async def _streamed(call: Call, session: Session, after: str | None) -> AsyncIterator[bytes]:
    yield RETRY
    try:
        async with aclosing(call.service.tail.follow(session, after, PING_SECONDS)) as following:
            async for event in following:
                await caller_of(call.request)
                yield b": \n\n" if event is None else _line(event)
    except (OffturnError, HTTPException, Problem):  # the client comes back, and is told then
        return


def _line(event: Event) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.kind.encode(), dumps(asdict(event)))


OPERATIONS = (
    Operation(
        "GET",
        "events",
        f"{SESSION}/events",
        events,
        "What happened: a page, or with `Accept: text/event-stream` a stream",
        tag="looking",
        role="reader",
        query=EventsQuery,
        answer=EventsAnswer,
        media=STREAM,
    ),
)
