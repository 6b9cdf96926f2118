"""A request's body and query: read as far as the service takes them, and parsed where they come in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_args

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request

from offturn_http.problems import INVALID, MALFORMED, MEDIA_TYPE, TOO_LARGE, Problem
from offturn_http.wire import Given, dumps, loads

JSON = "application/json"
PLAIN = "identity"
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
FLAGS = {"true": True, "false": False}
TOLD = 20  # wrong fields that are told


async def read_body(request: Request, most: int) -> bytes:
    """The body as it streams in. Raises Problem for one of more than `most` bytes, as soon as that is known."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > most:
        raise _too_large(most)
    chunks, size = list[bytes](), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            chunks.append(chunk)
    except ClientDisconnect:
        raise Problem(MALFORMED, "the connection was closed before its end") from None
    return b"".join(chunks)


def parse_body(request: Request, raw: bytes, kind: type[Given]) -> Given:
    """Raises Problem, which names fields and never quotes what is in them."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media != JSON:
        raise Problem(MEDIA_TYPE, f"send {JSON}")
    if request.headers.get("content-encoding", PLAIN).strip().lower() != PLAIN:
        raise Problem(MEDIA_TYPE, "send it without a Content-Encoding")
    try:
        value = loads(raw or b"{}")
    except ValueError:  # its text quotes the body
        raise Problem(MALFORMED, "send one JSON object, in UTF-8") from None
    return _parsed(kind, lambda: kind.model_validate(value))


def parse_query(query: QueryParams, kind: type[Given]) -> Given:
    """Numbers and flags as JSON writes them, and not the like of them. Raises Problem."""
    values = {name: _plain(kind, name, text) for name, text in query.items()}
    return _parsed(kind, lambda: kind.model_validate_json(dumps(values)))  # in Python's own terms a text is no enum


def _plain(kind: type[Given], name: str, text: str) -> Any:
    known = kind.model_fields.get(name)
    if known is None or not _is_scalar(known.annotation):
        return text
    return int(text) if NUMBER.fullmatch(text) else FLAGS.get(text, text)


def _is_scalar(annotation: Any) -> bool:
    return annotation in (int, bool) or any(map(_is_scalar, get_args(annotation)))


def _parsed(kind: type[Given], validated: Callable[[], Given]) -> Given:
    try:
        return validated()
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:TOLD]
        wrong = [
            {"field": ".".join(map(_shown, one["loc"])), "problem": _problem(kind, one["type"], one["loc"], one["msg"])}
            for one in found
        ]
        raise Problem(INVALID, "see `errors`", {"errors": wrong}) from None


def _problem(kind: type[Given], error: str, place: tuple[int | str, ...], said: str) -> str:
    if error != "extra_forbidden":
        return said
    known = ", ".join(kind.model_fields) if len(place) == 1 else ""
    return f"no such field: {f'one of {known}' if known else '/openapi.json names those there are'}"


def _shown(place: int | str) -> str:
    """A part of a field's name; of what the client made up, its beginning."""
    return f"{place!s:.80}".encode("ascii", "replace").decode()


def _too_large(most: int) -> Problem:
    return Problem(TOO_LARGE, f"at most {most} bytes", {"limit": most}, {"Connection": "close"})
