"""From a request to its operation: who calls, may it, is it too often, what does it say; and from whatever comes of it to
an answer.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from urllib.parse import unquote_to_bytes

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from offturn.errors import Behind, Conflict, Moved, NothingRecorded, StoreFault
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_http.auth import Caller, admitted
from offturn_http.call import Call
from offturn_http.operations import Operation
from offturn_http.problems import FORBIDDEN, INTERNAL, INVALID, NOT_ALLOWED, OF_STATUS, Problem, problem_of
from offturn_http.reading import parse_body, parse_query, read_body
from offturn_http.service import Service, service_of
from offturn_http.wire import Answer, dumps
from offturn_worker.logs import described

JSON = "application/json"
KEY = "idempotency-key"
LONGEST_KEY = 255
STALE = (Conflict, Behind, StoreFault, NothingRecorded)  # after these a handle is opened anew

log = structlog.get_logger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(operations: Mapping[str, Operation]) -> Endpoint:
    """Answers all methods of one address."""
    allow = ", ".join(sorted({*operations, *(["HEAD"] if "GET" in operations else [])}))

    async def answer(request: Request) -> Response:
        operation = operations.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            return Problem(NOT_ALLOWED, headers={"Allow": allow}).response()
        service, started = service_of(request), time.perf_counter()
        response = await _answered(service, operation, request)
        service.metrics.answered(operation.name, response.status_code, time.perf_counter() - started)
        return response

    return answer


async def _answered(service: Service, operation: Operation, request: Request) -> Response:
    call: Call | None = None
    try:
        call = await _call(service, operation, request)
        made = await operation.handler(call)
    except Problem as problem:
        return problem.response()
    except HTTPException as error:
        return Problem(OF_STATUS[error.status_code], headers=error.headers or {}).response()
    except OffturnError as error:
        if call is not None and isinstance(error, STALE) and not isinstance(error, Moved):
            service.handles.forget(call.caller.tenant, call.id)
        told = problem_of(error)
        if told.kind.status == INTERNAL.status:
            log.error("request_failed", operation=operation.name, problem=told.kind.name, **described(error))
        return told.response()
    except Exception as error:  # noqa: BLE001 -- a bug of ours: logged without its text, which may quote content
        log.error("request_failed", operation=operation.name, problem=INTERNAL.name, **described(error))
        return Problem(INTERNAL).response()
    if isinstance(made, Answer):
        return Response(dumps(made), operation.status, media_type=JSON)
    return made


async def _call(service: Service, operation: Operation, request: Request) -> Call:
    caller = await admitted(request)
    if not operation.allows(caller.role):
        raise Problem(FORBIDDEN, f"needs a key with role {operation.role}")
    raw = await read_body(request, service.limits.body_bytes) if operation.body else b""
    id_ = _session_id(caller, request.path_params.get("id"))
    return Call(
        request=request,
        service=service,
        caller=caller,
        id=id_,
        key=_key(operation, caller, id_, request.headers.get(KEY)) if operation.keyed else "",
        raw=raw,
        given_query=parse_query(request.query_params, operation.query) if operation.query else None,
        given_body=parse_body(request, raw, operation.body) if operation.body else None,
    )


def _session_id(caller: Caller, given: str | None) -> str:
    """As the client wrote it before it was percent-encoded. Raises InvalidSetting for what can be no id."""
    if given is None:
        return ""
    try:
        text = unquote_to_bytes(given).decode()
    except UnicodeDecodeError:
        raise Problem(INVALID, "the session id is no UTF-8") from None
    return SessionKey(caller.tenant, text).session


def _key(operation: Operation, caller: Caller, id_: str, given: str | None) -> str:
    """Names a request and its repeats, of this tenant only."""
    if given is None:
        return ""
    if not 0 < len(given) <= LONGEST_KEY:
        raise Problem(INVALID, f"the Idempotency-Key has {len(given)} characters: use 1 to {LONGEST_KEY}")
    return sha256("\0".join((caller.tenant, operation.name, id_, given)).encode()).hexdigest()
