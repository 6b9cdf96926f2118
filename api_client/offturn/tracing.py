"""Spans for OpenTelemetry, where the process has set it up; elsewhere they cost a look into a dict.

offturn never imports it by itself: a process that has not imported the API has no provider to tell. Attributes are names,
numbers and sizes, never content, and of an error its type only, because its text may quote a message.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from offturn._version import __version__
from offturn_config.keys import SessionKey

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Kind: TypeAlias = Literal["INTERNAL", "CLIENT", "PRODUCER", "CONSUMER"]
Facts: TypeAlias = Mapping[str, str | int | float | bool | tuple[str, ...]]

API = "opentelemetry.trace"
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")
NO_FACTS: Facts = {}


class Keyed(Protocol):
    """What belongs to a session."""

    @property
    def key(self) -> SessionKey: ...


S = TypeVar("S", bound=Keyed)
P = ParamSpec("P")
T = TypeVar("T")


class Told:
    """A span that is open, or none."""

    def __init__(self, span: Span | None) -> None:
        self._span = span

    def tell(self, facts: Facts) -> None:
        """What is known now."""
        if self._span is not None:
            for name, value in facts.items():
                self._span.set_attribute(name, value)


def named(key: SessionKey) -> dict[str, str]:
    """Whose span it is, as in logs."""
    return {"offturn.tenant": key.tenant, "offturn.session": key.session}


def sent(key: SessionKey, request_no: int, queue: str, operation: Literal["send", "process"]) -> Facts:
    """Of a job, by OpenTelemetry's conventions for messaging."""
    return {
        **named(key),
        "offturn.request": request_no,
        "messaging.system": "arq",
        "messaging.destination.name": queue,
        "messaging.operation.type": operation,
    }


@contextmanager
def span(name: str, facts: Facts = NO_FACTS, *, kind: Kind = "INTERNAL", parent: str = "") -> Iterator[Told]:
    """A span around the block. parent: a W3C traceparent from elsewhere; "": the span that is open here, if one is."""
    tracer = _tracer()
    if tracer is None:
        yield Told(None)
        return
    from opentelemetry.trace import SpanKind, Status, StatusCode

    with tracer.start_as_current_span(
        name,
        context=_elsewhere(parent) if parent else None,
        kind=SpanKind[kind],
        attributes=facts,
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        try:
            yield Told(opened)
        except BaseException as error:
            opened.set_attribute("error.type", type(error).__name__)
            opened.set_status(Status(StatusCode.ERROR))
            raise


def here() -> Told:
    """The span that is open here, whoever opened it."""
    if _tracer() is None:
        return Told(None)
    from opentelemetry.trace import get_current_span

    return Told(get_current_span())


def traceparent() -> str:
    """W3C's name of the span that is open here; "" where none is."""
    if _tracer() is None:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def traced(
    name: str,
) -> Callable[
    [Callable[Concatenate[S, P], Coroutine[Any, Any, T]]], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]
]:
    """A span of that name around a session's method."""

    def around(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Any:
        @wraps(method)
        async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if _tracer() is None:
                return await method(self, *args, **kwargs)
            with span(name, named(self.key)):
                return await method(self, *args, **kwargs)

        return call

    return around


def _tracer() -> Tracer | None:
    if API not in sys.modules:
        return None
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    return None if isinstance(get_tracer_provider(), ProxyTracerProvider) else _made()


@cache
def _made() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer("offturn", __version__)


def _elsewhere(parent: str) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})
