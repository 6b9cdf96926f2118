"""Tells a page when what it shows has changed: server-sent events without content. The page then loads itself again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from offturn import OffturnError
from offturn_http.auth import caller_of
from offturn_http.page import overview, queue, session
from offturn_http.page.desk import HEADERS, Desk
from offturn_http.problems import Problem
from offturn_http.streams import MEDIA

WATCHED = {"sessions": overview.changes, "queue": queue.changes, "session": session.changes}
LOOK_SECONDS = 1.0
ALIVE_LOOKS = 15
"""Looks after which, where nothing has changed, a line says that the stream is alive."""
LOOKS = 600
"""After so many the stream ends, and the browser opens another."""


async def watch(desk: Desk) -> Response:
    """`watched` once from here on nothing is missed; then `changed` each time that it looks otherwise than before."""
    if desk.asked("of") not in WATCHED:
        raise HTTPException(404)
    headers: Mapping[str, str] = {**HEADERS, "X-Accel-Buffering": "no"}
    if desk.request.method == "HEAD":  # it has no stream, so it must not hold one
        return Response(media_type=MEDIA, headers=headers)
    return desk.site.watching.response(desk.caller.key, _changes(desk), headers)


async def _changes(desk: Desk) -> AsyncIterator[bytes]:
    look, number = WATCHED[desk.asked("of")], 0
    try:
        yield b"retry: 3000\n\n"
        known = await look(desk)
        yield b"event: watched\ndata: {}\n\n"
        for turn in range(LOOKS):
            await asyncio.sleep(LOOK_SECONDS)
            if desk.service.tail.closing:
                return
            await caller_of(desk.request)
            now = await look(desk)
            if now != known:
                known, number = now, number + 1
                yield b"event: changed\nid: %d\ndata: {}\n\n" % number
            elif turn % ALIVE_LOOKS == 0:
                yield b": alive\n\n"
    except (OffturnError, HTTPException, Problem):  # the browser opens another stream, and finds out
        return
