"""Signing in and out: a key is typed in once, the browser keeps a cookie that stands for it."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from offturn_http.auth import refuse_other_sites, sign_in, sign_out
from offturn_http.page.desk import HEADERS, Desk, Site, fields_of, page


def link(address: str, key: str, start: str = "/") -> str:
    """What to open in a browser: it signs in with the key, which stands behind the `#` and is in no request and no log.

    address: of the service; start: the view that is shown first.
    """
    return f"{address}/login?{urlencode({'next': start})}#{key}"


async def ask(request: Request, site: Site) -> Response:
    """The form."""
    return page(request, site, "login.html", next=_inside(request.query_params.get("next", "/")), refused=False)


async def enter(request: Request, site: Site) -> Response:
    """The key. A wrong one gets the form again."""
    refuse_other_sites(request)
    fields = await fields_of(request)
    target = _inside(fields.get("next", "/"))
    answer = RedirectResponse(target, 303, HEADERS)
    if await sign_in(request, fields.get("key", "").strip(), answer):
        return answer
    return page(request, site, "login.html", 401, next=target, refused=True)


async def leave(desk: Desk) -> Response:
    """End the login."""
    await desk.form()
    answer = RedirectResponse("/login", 303, HEADERS)
    await sign_out(desk.request, answer)
    return answer


def _inside(target: str) -> str:
    """An address of this page, whatever was asked for: a link must not lead elsewhere through the login."""
    plain = target.isascii() and target.isprintable() and "\\" not in target
    return target if plain and target.startswith("/") and not target.startswith("//") else "/"
