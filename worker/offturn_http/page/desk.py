"""One request of a browser: who asks, for what, and the page that answers. Here errors become pages."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from offturn import InvalidSetting, OffturnError, Session
from offturn.links import Links
from offturn_config.keys import SessionKey
from offturn_http.auth import COOKIE, Caller, Role, admitted
from offturn_http.page.drawing import templates
from offturn_http.page.reading import NoSession, Read, Shelf
from offturn_http.problems import INTERNAL, Problem, problem_of
from offturn_http.service import Service, service_of
from offturn_http.streams import Streams
from offturn_worker.cli.store import existing
from offturn_worker.logs import described

if TYPE_CHECKING:
    from jinja2 import Environment

log = structlog.get_logger(__name__)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
WATCHING, WATCHING_PER_KEY = 200, 50  # pages at a time
LONGEST_FORM = 16 * 1024
STEERS: frozenset[Role] = frozenset({"host", "operator"})
OPERATES: frozenset[Role] = frozenset({"operator"})


@dataclass(slots=True)
class Site:
    """What the pages of one application share. listed: by tenant, when its sessions were last looked for, and which they
    are; trials: how many there are now; watching: pages that are told of changes.
    """

    templates: Environment = field(default_factory=templates)
    shelf: Shelf = field(default_factory=Shelf)
    listed: dict[str, tuple[float, Sequence[SessionKey]]] = field(default_factory=dict)
    trials: int = 0
    watching: Streams = field(default_factory=lambda: Streams(WATCHING, WATCHING_PER_KEY))


@dataclass(frozen=True)
class Desk:
    """A signed-in request. Everything is of the caller's tenant."""

    request: Request
    site: Site
    caller: Caller

    @property
    def service(self) -> Service:
        """The one that answers."""
        return service_of(self.request)

    async def links(self) -> Links:
        """For what the client's public methods do not do."""
        return await self.service.links()

    def asked(self, name: str, default: str = "") -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int) -> int:
        """The same as a number; what is none is the default."""
        text = self.asked(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default

    @property
    def key(self) -> SessionKey:
        """The session that the address names. Raises NoSession."""
        try:
            return SessionKey(self.caller.tenant, self.asked("id"))
        except OffturnError as error:
            raise NoSession(str(error)) from None

    async def read(self) -> Read:
        """The session that the address names, as it is now. Raises NoSession."""
        return await self.site.shelf.read(self.service.connector, self.key)

    async def session(self) -> Session:
        """A handle of it. Raises NoSession."""
        try:
            return await existing(self.service.client(self.caller.tenant), self.key.session)
        except InvalidSetting as error:
            raise NoSession(str(error)) from None

    @cached_property
    def token(self) -> str:
        """What a form of this login carries: no other site can know it, because it cannot read the cookie."""
        return hmac.new(self.request.cookies.get(COOKIE, "").encode(), b"offturn page form", hashlib.sha256).hexdigest()

    async def form(self) -> dict[str, str]:
        """The fields of a form of ours. Raises HTTPException 403 where it is not of this login, 413."""
        fields = await fields_of(self.request)
        self.accept(fields.get("token", ""))
        return fields

    def accept(self, token: str) -> None:
        """Raises HTTPException 403 for a form that is not of this login."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise HTTPException(403, "This form is of another login, or of another site. Load the page again.")

    def require(self, roles: frozenset[Role]) -> None:
        """Raises HTTPException 403."""
        if self.caller.role not in roles:
            raise HTTPException(
                403, f"Your key may look ({self.caller.role}); this needs {' or '.join(sorted(roles))}."
            )

    def render(self, name: str, code: int = 200, **values: Any) -> HTMLResponse:
        """A page with the frame around it."""
        about = {
            "caller": self.caller,
            "steers": self.caller.role in STEERS,
            "operates": self.caller.role in OPERATES,
            "token": self.token,
        }
        return page(self.request, self.site, name, code, **about, **values)


Handler: TypeAlias = Callable[[Desk], Awaitable[Response]]
Open: TypeAlias = Callable[[Request, Site], Awaitable[Response]]


async def chunks_of(request: Request, most: int, refused: str | None = None) -> AsyncIterator[bytes]:
    """The body as it comes in. Raises HTTPException 413 beyond `most` bytes, 400 where it ends before its end."""
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise HTTPException(413, refused)
            yield chunk
    except ClientDisconnect:
        raise HTTPException(400) from None


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a small form. Raises HTTPException 400, 413."""
    body = b""
    async for chunk in chunks_of(request, LONGEST_FORM):
        body += chunk
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def page(request: Request, site: Site, name: str, code: int = 200, **values: Any) -> HTMLResponse:
    """Of a template. What it does not get of the caller it shows as to somebody who is not signed in."""
    known = {"caller": None, "steers": False, "operates": False, "token": "", "live": "", **values}
    text = site.templates.get_template(name).render(here=request.url.path, **known)
    return HTMLResponse(text.encode("utf-8", "replace"), code, HEADERS)


def signed_in(handler: Handler) -> Open:
    """Who is not signed in is asked to."""

    async def work(request: Request, site: Site) -> Response:
        try:
            caller = await admitted(request)
        except HTTPException as error:
            if error.status_code != HTTPStatus.UNAUTHORIZED or request.method not in ("GET", "HEAD"):
                raise
            return RedirectResponse(f"/login?{urlencode({'next': _address(request)})}", 303, HEADERS)
        return await handler(Desk(request, site, caller))

    return work


def open_to_all(site: Site, handler: Open) -> Callable[[Request], Awaitable[Response]]:
    """As Starlette's endpoint; errors are told on a page."""

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(request, site)
        except NoSession as error:
            return _told(request, site, 404, str(error))
        except HTTPException as error:
            own = error.detail if error.detail != HTTPStatus(error.status_code).phrase else ""
            return _told(request, site, error.status_code, own)
        except Problem as problem:
            return _problem(request, site, problem)
        except OffturnError as error:
            return _problem(request, site, problem_of(error))
        except Exception as error:  # noqa: BLE001 -- a bug of ours: logged without its text, which may quote content
            log.error("request_failed", operation="page", problem=INTERNAL.name, **described(error))
            return _problem(request, site, Problem(INTERNAL))

    return endpoint


def _told(request: Request, site: Site, code: int, text: str) -> Response:
    return page(request, site, "error.html", code, phrase=HTTPStatus(code).phrase, text=text)


def _problem(request: Request, site: Site, problem: Problem) -> Response:
    answer = page(request, site, "error.html", problem.kind.status, phrase=problem.kind.title, text=problem.detail)
    answer.headers.update(problem.headers)
    return answer


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
