"""Who calls: an API key in `Authorization: Bearer`, or a browser's cookie that stands for one.

A key is `offturn_<id>_<secret>`. What the store holds of it is the SHA-256 of its secret, which has 256 random bits; what it
holds of a browser's login is the SHA-256 of a random token, until the login ends. A login ends with its key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response

from offturn_http.service import service_of

Role: TypeAlias = Literal["host", "reader", "operator"]
"""`host`: records, views and steers sessions of its tenant; `reader`: looks at them; `operator`: both, and the queue's
replay and drop."""

COOKIE = "offturn"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose sessions a request is about, and what it may do. `key`: id of the key, never its secret."""

    tenant: str
    role: Role
    key: str


class Keys(Protocol):
    """Looks keys and logins up. Raises what the store raises."""

    def has_been_right(self, given: str) -> bool:
        """Was this a key or a login when this process looked it up last? Without a look at the store."""

    async def caller(self, key: str) -> Caller | None:
        """Whose key it is; None where it is none."""

    async def sign_in(self, key: str, seconds: int) -> str | None:
        """A token for a browser; None where the key is none."""

    async def signed_in(self, token: str) -> Caller | None:
        """Whose login it is; None where it is none or has ended."""

    async def sign_out(self, token: str) -> None:
        """End a login."""


async def admitted(request: HTTPConnection) -> Caller:
    """Who calls; the request counts among those of its key. Raises what `caller_of` raises, Problem where there were too many,
    and HTTPException 403 for a browser's request that comes from another site.
    """
    caller = await caller_of(request)
    await service_of(request).rate.enter(caller.key)
    if _key_of(request) is None:
        refuse_other_sites(request)
    return caller


async def caller_of(request: HTTPConnection) -> Caller:
    """Who calls. Raises HTTPException 401, and Problem for an address that has sent too many keys that are none."""
    keys, key = service_of(request).keys, _key_of(request)
    found = None
    if key is not None:
        found = await _tried(request, key, keys.caller)
    elif token := request.cookies.get(COOKIE):
        found = await _tried(request, token, keys.signed_in)
    if found is None:
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    return found


def _key_of(request: HTTPConnection) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


async def _tried(request: HTTPConnection, given: str, look_up: Callable[[str], Awaitable[T | None]]) -> T | None:
    """What it stands for. One that is none counts against the address it comes from."""
    service, address = service_of(request), request.client.host if request.client else ""
    if service.keys.has_been_right(given):
        return await look_up(given)
    with service.tries.entered(address, given) as none:
        found = await look_up(given)
        if found is None:
            none()
    return found


async def sign_in(request: HTTPConnection, key: str, response: Response) -> bool:
    """Sign a browser in with a key: puts the cookie on the response; False where the key is none. Raises Problem as `caller_of`."""
    service = service_of(request)
    token = await _tried(request, key, lambda given: service.keys.sign_in(given, service.limits.login_seconds))
    if token is None:
        return False
    origin = request.headers.get("origin", "")
    response.set_cookie(
        COOKIE,
        token,
        max_age=service.limits.login_seconds,
        secure="https" in (request.url.scheme, origin.partition(":")[0]),  # TLS may end at a proxy; the browser knows
        httponly=True,
        samesite="strict",
    )
    return True


async def sign_out(request: HTTPConnection, response: Response) -> None:
    """End the browser's login."""
    if token := request.cookies.get(COOKIE):
        await service_of(request).keys.sign_out(token)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def refuse_other_sites(request: HTTPConnection) -> None:
    """A form of another site must not act with this browser's cookie. Raises HTTPException 403."""
    if request.scope.get("method") in ("GET", "HEAD"):
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    same = site == "same-origin" if site else origin == f"{request.url.scheme}://{request.headers.get('host', '')}"
    if not same:
        raise HTTPException(403)
