"""RFC 9457 problems: which error of the client is which kind and status. One table, which the OpenAPI document reads too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from offturn import errors
from offturn_config.errors import OffturnError
from offturn_http.wire import dumps

MEDIA = "application/problem+json"
PREFIX = "urn:offturn:problem:"
AGAIN_SECONDS = 1  # after which a call that a retryable error ended may be made again


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: `name` ends its type."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        """The URI by which programs tell it."""
        return PREFIX + self.name


NO_HTTP = Kind("no-http", 400, "The request is not HTTP as the service takes it")
MALFORMED = Kind("malformed", 400, "The body is no JSON")
UNAUTHORIZED = Kind("unauthorized", 401, "No key, or one that is not known")
FORBIDDEN = Kind("forbidden", 403, "The key's role does not allow this")
NOT_FOUND = Kind("not-found", 404, "No such address")
NO_SESSION = Kind("no-session", 404, "No session of that id")
NOT_ALLOWED = Kind("method-not-allowed", 405, "The address has no such method")
KEY_REUSED = Kind("idempotency-key-reused", 422, "The Idempotency-Key came with another request before")
TOO_LARGE = Kind("too-large", 413, "The body is larger than the service takes")
MEDIA_TYPE = Kind("unsupported-media-type", 415, "The body is not application/json")
INVALID = Kind("invalid-request", 422, "A field of the request cannot be used")
RATE = Kind("rate-limited", 429, "The key has made too many requests")
TRIES = Kind("too-many-wrong-keys", 429, "The address has sent too many keys that are none")
KEYS_STREAMS = Kind("too-many-streams-of-key", 429, "The key has as many event streams as it may have")
BUSY = Kind("too-many-streams", 503, "The service has as many event streams as it takes")
INTERNAL = Kind("internal", 500, "A bug of offturn's")

OF_ERROR: Mapping[type[OffturnError], Kind] = {
    errors.StoreUnavailable: Kind("store-unavailable", 503, "The store does not answer"),
    errors.Archived: Kind("archived", 503, "The session is being brought back from the archive"),
    errors.NotConfirmed: Kind("not-confirmed", 503, "Done, and a replica of the store has not confirmed it"),
    errors.Closed: Kind("closing", 503, "The service is stopping"),
    errors.StoreFull: Kind("store-full", 507, "The store takes no more writes"),
    errors.TenantFull: Kind("tenant-full", 507, "The tenant is at its quota"),
    errors.SessionFull: Kind("session-full", 507, "The session is at its quota"),
    errors.StoreFault: Kind("store-fault", 500, "The store refused a command, or has lost data"),
    errors.UnknownVersion: Kind("unknown-version", 500, "Another release wrote what is stored"),
    errors.Conflict: Kind("conflict", 409, "The request contradicts what the session holds"),
    errors.Moved: Kind("moved", 409, "The session is not where the cursor says"),
    errors.NotRecorded: Kind("not-recorded", 409, "Messages that were kept were refused"),
    errors.Behind: Kind("behind", 409, "The store's log is not the one that was acknowledged"),
    errors.InvalidMessage: Kind("invalid-message", 422, "A message that no provider would take"),
    errors.CannotFit: Kind("cannot-fit", 422, "What may never be cut is larger than the window"),
    errors.Refused: Kind("refused", 409, "The session as it is does not allow that"),
    errors.NothingRecorded: NO_SESSION,
    errors.ConfigError: Kind("invalid-setting", 422, "A value cannot work"),
    errors.UnknownPolicy: Kind("unknown-policy", 422, "No policy has that name"),
    errors.InvalidPolicy: Kind("invalid-policy", 422, "Parameters of the policy cannot work together"),
    errors.InvalidSetting: Kind("invalid-setting", 422, "A value cannot work"),
    errors.UnknownFormat: Kind("unknown-format", 422, "No format has that name"),
}

OF_STATUS: Mapping[int, Kind] = {
    kind.status: kind for kind in (UNAUTHORIZED, FORBIDDEN, NOT_FOUND, NOT_ALLOWED, TOO_LARGE, MEDIA_TYPE)
}


@dataclass(slots=True)
class Problem(Exception):
    """An answer that is no success. `more`: further members, such as the index of a message."""

    kind: Kind
    detail: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """As it is sent."""
        members = {"type": self.kind.type, "title": self.kind.title, "status": self.kind.status}
        body = {**members, **({"detail": self.detail} if self.detail else {}), **self.more}
        return Response(dumps(body), self.kind.status, dict(self.headers), MEDIA)


def problem_of(error: OffturnError) -> Problem:
    """Of an error of the client: the kind of the nearest class that has one."""
    kind = next((OF_ERROR[one] for one in type(error).__mro__ if one in OF_ERROR), INTERNAL)
    if kind is INTERNAL:
        return Problem(INTERNAL)
    again = {"Retry-After": str(AGAIN_SECONDS)} if kind.status == 503 else {}
    return Problem(kind, str(error), {"retryable": error.retryable, **_members(error)}, again)


def _members(error: OffturnError) -> dict[str, Any]:
    match error:
        case errors.InvalidMessage():
            return {"index": error.index, "field": error.field}
        case errors.CannotFit():
            return {"tokens": error.tokens, "limit": error.limit}
    return {}
