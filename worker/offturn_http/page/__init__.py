"""The page at `/`: what is served beside the API to people with a browser.

Rendered here, with escaped values, under a policy that lets a browser run only this package's own script. It works without
scripts too: then it is loaded again by hand.
"""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount, Route, request_response
from starlette.staticfiles import StaticFiles

from offturn_http.counting import Counted
from offturn_http.page import live, overview, policies, queue, rolling, session, signing, trying
from offturn_http.page.desk import Handler, Open, Site, open_to_all, signed_in

GET, POST = ["GET"], ["POST"]


def routes() -> list[BaseRoute]:
    """Mounted behind the API's own; a request is signed in by `offturn_http.auth.admitted`."""
    site = Site()

    def open_(path: str, handler: Open, methods: list[str]) -> Route:
        return Route(path, Counted(path, request_response(open_to_all(site, handler))), methods=methods)

    def route(path: str, handler: Handler, methods: list[str]) -> Route:
        return open_(path, signed_in(handler), methods)

    return [
        open_("/login", signing.ask, GET),
        open_("/login", signing.enter, POST),
        route("/logout", signing.leave, POST),
        route("/", overview.sessions, GET),
        route("/session", session.show, GET),
        route("/session/compare", session.compare, GET),
        route("/session/summaries", session.summaries, GET),
        route("/session/text", session.text, GET),
        route("/session/rollback", rolling.ask, GET),
        route("/session/rollback", rolling.roll, POST),
        route("/queue", queue.show, GET),
        route("/queue/replay", queue.replay, POST),
        route("/policies", policies.every, GET),
        route("/policy", policies.one, GET),
        route("/try", trying.ask, GET),
        route("/try", trying.attempt, POST),
        route("/live", live.watch, GET),
        Mount("/static", Counted("/static", StaticFiles(packages=[("offturn_http.page", "static")]))),
    ]
