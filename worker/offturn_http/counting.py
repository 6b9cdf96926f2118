"""Requests to the page, counted under the address of their view, never under what was asked for."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from offturn_http.service import service_of


class Counted:
    """name: under which its answers are counted."""

    def __init__(self, name: str, app: ASGIApp) -> None:
        self._name = name
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        metrics = service_of(HTTPConnection(scope)).metrics

        def answered(status: int) -> None:
            metrics.answered(self._name, status, time.perf_counter() - started)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, counted)
        except HTTPException as error:  # of files; who answers it stands around this
            answered(error.status_code)
            raise
