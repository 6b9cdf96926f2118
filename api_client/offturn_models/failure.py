"""From what an SDK raised to a typed error, without a word of what it quoted.

Both SDKs name the same facts alike (`status_code`, `response`, `type`, `message`), so one reader serves both. Raw
transport errors arrive too: anthropic does not wrap what breaks in the middle of a stream.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from offturn_engine.provider_errors import Kind, ProviderProblem, classify, problem

from .errors import ModelError, failed


def failure(error: Exception, *, model: str) -> ModelError:
    """The typed error for anything a model call raised. It keeps no reference to `error`."""
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", {})
    broken, raised = _broken(error)
    return failed(
        problem(broken) if broken else _said(error, headers),
        model=model,
        status=_integer(getattr(error, "status_code", None)),
        request_id=headers.get("request-id") or headers.get("x-request-id"),
        raised=raised if response is None else None,
    )


def _said(error: Exception, headers: Mapping[str, str]) -> ProviderProblem:
    """What the provider says is wrong."""
    return classify(
        status=_integer(getattr(error, "status_code", None)),
        code=_text(getattr(error, "error_code", None)) or _text(getattr(error, "code", None)),
        wire_type=_text(getattr(error, "type", None)),
        text=str(error),
        retry_after=retry_after(headers, now=time.time()),
    )


def _broken(error: Exception) -> tuple[Kind | None, str]:
    """The kind of a failure of the transport and the class that tells it; no kind where the provider answered.

    An SDK's connection error names its reason only in its cause.
    """
    import httpx2

    kinds: tuple[tuple[Kind, tuple[type[Exception], ...]], ...] = (
        ("unavailable", (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)),
        ("timeout", (httpx2.TimeoutException, TimeoutError)),
        ("dropped", (httpx2.TransportError, httpx2.StreamError, OSError, EOFError)),
        ("garbled", (httpx2.DecodingError, httpx2.TooManyRedirects, ValueError, LookupError, AttributeError)),
    )
    for link in _chain(error):
        for kind, classes in kinds:
            if isinstance(link, classes):
                return kind, type(link).__name__
    return None, type(error).__name__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds to wait as `retry-after-ms`, `retry-after` in seconds or as a date say; None where nothing valid is said.

    `now` in seconds since the epoch.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after", "")
    seconds = _seconds(said)
    return seconds if seconds is not None else _until(said, now)


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(text: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
