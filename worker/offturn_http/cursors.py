"""Cursors and names of views: opaque text by which a client says what it has seen, whichever process it asks next."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import orjson
from pydantic import ValidationError

from offturn import InvalidSetting, View
from offturn.inspecting import Place
from offturn.view import Options
from offturn_engine.ranges import Ranges
from offturn_http.wire import Given

ANYWHERE = "*"
"""The cursor of a client that does not care what others have done meanwhile."""

NOTHING = "0"  # id of the view of a session that holds nothing
MOST = 10**13  # tokens
_CURSOR = re.compile(r"\d{1,15}\.(\d{1,15})\.[0-9a-f]{12}\Z")
CANNOT = "{}: {!r:.80} is none that this service gave"


def cursor_of(place: Place | None) -> str | None:
    """Of where a session is; None where nothing is recorded."""
    return None if place is None else _cursor(str(place.incarnation), place.length, place.path)


def cursor_after(view: View) -> str | None:
    """Of the session as a view of it was made."""
    if view.id == NOTHING:
        return None
    life, *_, length = view.id.split(".")
    return _cursor(life, int(length), view.path)


def length_of(cursor: str | None) -> int:
    """How long the log was then. Raises InvalidSetting for what is no cursor."""
    if cursor is None:
        return 0
    match = _CURSOR.match(cursor)
    if match is None:
        raise InvalidSetting(CANNOT.format("after", cursor))
    return int(match[1])


def _cursor(life: str, length: int, path: Ranges) -> str:
    return f"{life}.{length}.{sha256(repr(path).encode()).hexdigest()[:12]}"


class _Sent(Given):
    """Of a view that was sent to a model, what usage and an overflow are measured against."""

    id: str
    format: str
    generation: int
    tokens: int
    limit: int
    estimate: int
    declared: int
    of_format: str | None = None
    model: str | None = None
    window: int | None = None
    max_output: int | None = None


def view_name(view: View) -> str:
    """Names a view to every process of the service: it holds what has to be known of it, no content."""
    given = view.options
    sizes = (view.tokens, view.limit, view.estimate, view.declared)
    asked = (given.format, given.model, given.window, given.max_output)
    return urlsafe_b64encode(orjson.dumps([view.id, view.format, view.generation, *sizes, *asked])).decode()


def named_view(name: str, field: str) -> View:
    """The view of that name, without its messages. Raises InvalidSetting."""
    try:
        values: Any = orjson.loads(urlsafe_b64decode(name.encode("ascii")))
        sent = _Sent.model_validate(dict(zip(_Sent.model_fields, values, strict=True)))
        if not all(
            0 <= number <= MOST for number in (sent.generation, sent.tokens, sent.limit, sent.estimate, sent.declared)
        ):
            raise ValueError("a number that no view has")
    except (ValueError, TypeError, ValidationError):
        raise InvalidSetting(CANNOT.format(field, name)) from None
    options = Options(format=sent.of_format, model=sent.model, window=sent.window, max_output=sent.max_output)
    return View(
        messages=(),
        system=None,
        format=sent.format,
        generation=sent.generation,
        path=(),
        kind="raw",
        tokens=sent.tokens,
        limit=sent.limit,
        id=sent.id,
        estimate=sent.estimate,
        declared=sent.declared,
        options=options,
    )
