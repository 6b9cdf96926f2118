"""The ASGI application: the API under `/v1`, its document, probes, and the page behind it all."""

from __future__ import annotations

from collections import defaultdict

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from offturn.links import Connector
from offturn_http import openapi, page
from offturn_http.auth import Keys
from offturn_http.dispatch import endpoint
from offturn_http.handlers import OPERATIONS
from offturn_http.operations import Operation
from offturn_http.probes import livez, readyz
from offturn_http.problems import NO_HTTP, OF_STATUS, Problem
from offturn_http.refusing import CLOSE, ambiguous
from offturn_http.service import Service
from offturn_http.settings import Limits

API = "/v1/"
GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Of answers that are no page, and may hold what anybody recorded: a browser that opens one runs and frames nothing."""


class EncodedPaths:
    """Routes the API by the path as it was sent: an id may hold a slash, percent-encoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(API) and (raw := scope.get("raw_path")):
            scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        await self._app(scope, receive, send)


def application(client: Connector, keys: Keys, settings: Limits, *, autocompact_pct: int | None = None) -> Starlette:
    """client: the connections to the store, with `on_outage="raise"`: who calls keeps its messages, the service does not.

    autocompact_pct: as `CompactionClient.from_url` has it from the environment.
    """
    by_path = defaultdict[str, dict[str, Operation]](dict)
    for operation in OPERATIONS:
        by_path[operation.path][operation.method] = operation
    routes: list[BaseRoute] = [Route(path, _Methods(of)) for path, of in by_path.items()]
    routes += [
        Route("/openapi.json", openapi.serve),
        Route("/livez", livez),
        Route("/readyz", readyz),
        *page.routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _problem})
    app.router.redirect_slashes = False  # it would send browsers to whatever host a request names
    app.add_middleware(EncodedPaths)
    app.add_middleware(Guarded)
    app.state.service = Service(client, keys, settings, autocompact_pct)
    return app


class Guarded:
    """Puts `GUARDS` on answers that have none of their own, keeps those of the API out of caches, and answers no request whose
    end is told in two ways.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in GUARDS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(API):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        app = self._app
        if scope["type"] == "http" and ambiguous([name for name, _ in scope["headers"]]):
            app = Problem(NO_HTTP, "say the length of the body once", headers=CLOSE).response()
        await app(scope, receive, guarded)


class _Methods:
    """An endpoint that answers each method itself: Starlette would let a function have GET only."""

    def __init__(self, operations: dict[str, Operation]) -> None:
        self._answer = endpoint(operations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = OF_STATUS.get(error.status_code)
    if kind is None:
        return Response(status_code=error.status_code, headers=error.headers)
    return Problem(kind, headers=error.headers or {}).response()
