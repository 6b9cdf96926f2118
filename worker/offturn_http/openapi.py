"""The OpenAPI 3.1 document, from the rows and types that requests are answered by: there is no second description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from offturn import __version__
from offturn_http import problems
from offturn_http.examples import Example, examples
from offturn_http.handlers import OPERATIONS
from offturn_http.operations import Operation
from offturn_http.problems import OF_ERROR, Kind
from offturn_http.streams import MEDIA as STREAM
from offturn_http.wire import dumps

JSON = "application/json"
REF = "#/components/schemas/{model}"
ALWAYS = (
    problems.NO_HTTP,
    problems.UNAUTHORIZED,
    problems.FORBIDDEN,
    problems.INVALID,
    problems.RATE,
    problems.TRIES,
    problems.INTERNAL,
    *OF_ERROR.values(),
)
OF_BODIES = (problems.MALFORMED, problems.TOO_LARGE, problems.MEDIA_TYPE)

ABOUT = """Compacts the conversation history of LLM agents off the turn. One call a turn records what is new and answers
with the messages to send next. Cursors and names of views are opaque. Problems are RFC 9457's, their types
`urn:offturn:problem:NAME`."""


async def serve(_request: Request) -> Response:
    """The document; it says nothing about any tenant, so it needs no key."""
    return Response(_written(), media_type=JSON)


@cache
def _written() -> bytes:
    return dumps(document())


@cache
def document() -> dict[str, Any]:
    """As JSON values."""
    kinds = sorted(
        {(model, _mode(op, model)) for op in OPERATIONS for model in op.models}, key=lambda one: one[0].__name__
    )
    _, schemas = models_json_schema(kinds, ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "offturn",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "`offturn keys add` makes one"}
            },
            "schemas": {**schemas["$defs"], "Problem": PROBLEM},
        },
    }


PROBLEM = {
    "type": "object",
    "description": "RFC 9457. A kind may have further members, such as `cursor`, `index` or `errors`.",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "examples": [problems.PREFIX + "moved"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "retryable": {"type": "boolean", "description": "the same request may succeed later"},
        "expected": {"type": ["integer", "null"], "description": "of `moved`: seq that the cursor's next message gets"},
        "got": {"type": "integer", "description": "of `moved`: seq that the session's next message gets"},
        "cursor": {"type": ["string", "null"], "description": "of `moved` and `cannot-fit`: where the session is"},
    },
}


def _mode(operation: Operation, model: Any) -> Any:
    return "serialization" if model is operation.answer else "validation"


def _operation(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Needs a key with role {operation.role}, or one that may do more.",
        "tags": [operation.tag],
        "parameters": [*_parameters(operation, schemas)],
        "responses": _responses(operation),
    }
    if operation.body is not None:
        schema = {"$ref": REF.format(model=operation.body.__name__)}
        bodies = {f"{operation.name}-{i}": {"value": one.body} for i, one in enumerate(_done(operation), 1)}
        content = {JSON: {"schema": schema, "examples": bodies}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _parameters(operation: Operation, schemas: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    if "{id}" in operation.path:
        about = "the session's id, percent-encoded: 1 to 256 bytes of UTF-8"
        schema = {"type": "string", "minLength": 1, "maxLength": 256}
        named = {"name": "id", "in": "path", "required": True, "description": about, "schema": schema}
        yield {**named, "example": _done(operation)[0].id}
    if operation.query is not None:
        for name, schema in schemas[operation.query.__name__].get("properties", {}).items():
            required = name in schemas[operation.query.__name__].get("required", ())
            shown = [one.query[name] for one in _done(operation) if name in one.query][:1]
            named = {"name": name, "in": "query", "required": required, "schema": schema}
            yield {**named, **({"example": shown[0]} if shown else {})}
    if operation.keyed:
        about = "a repeat with the same key and body takes effect once; the newest 128 of a session are known"
        schema = {"type": "string", "minLength": 1, "maxLength": 255}
        named = {"name": "Idempotency-Key", "in": "header", "required": False, "description": about, "schema": schema}
        yield {**named, "example": f"{operation.name}-17"}


def _responses(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.answer is not None:
        schema = {"$ref": REF.format(model=operation.answer.__name__)}
        content[JSON] = {"schema": schema, "examples": _told(operation, operation.status, JSON)}
    if operation.media is not None:
        told = _told(operation, operation.status, operation.media)
        content[operation.media] = {"schema": {"type": "string"}, "examples": told}
    done: dict[str, Any] = {"description": operation.summary, **({"content": content} if content else {})}
    if operation.headers:
        done["headers"] = {
            name: {"description": said, "schema": {"type": "string"}} for name, said in operation.headers.items()
        }
    found: dict[str, Any] = {str(operation.status): done}
    if "ETag" in operation.headers:
        found["304"] = {"description": "the view is the one of If-None-Match"}
    for status, kinds in _problems(operation).items():
        titles = "; ".join(sorted({f"`{kind.name}`: {kind.title}" for kind in kinds}))
        problem: dict[str, Any] = {"schema": {"$ref": REF.format(model="Problem")}}
        if told := _told(operation, status, problems.MEDIA):
            problem["examples"] = told
        found[str(status)] = {"description": titles, "content": {problems.MEDIA: problem}}
    return found


def _done(operation: Operation) -> list[Example]:
    return [one for one in examples()[operation.name] if one.status == operation.status]


def _told(operation: Operation, status: int, media: str) -> dict[str, Any]:
    found = [one.answer for one in examples()[operation.name] if (one.status, one.media) == (status, media)]
    return {f"{operation.name}-{i}": {"value": answer} for i, answer in enumerate(found, 1)}


def _problems(operation: Operation) -> dict[int, list[Kind]]:
    """By status, ascending."""
    found: dict[int, list[Kind]] = {}
    writes = operation.method != "GET"
    streams = (problems.KEYS_STREAMS, problems.BUSY) if operation.media == STREAM else ()
    kinds = [
        *ALWAYS,
        *streams,
        *(OF_BODIES if operation.body else ()),
        *((problems.KEY_REUSED,) if operation.keyed else ()),
    ]
    for kind in sorted(kinds, key=lambda one: one.status):
        if kind.status == 404 and "{id}" not in operation.path:
            continue
        if kind.status == 507 and not writes:
            continue
        found.setdefault(kind.status, []).append(kind)
    return found
