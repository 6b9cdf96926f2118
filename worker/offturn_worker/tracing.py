"""Traces of a worker: a job's span, its steps, and each request to a model; sent to an OTLP collector where one is named.

docs/ops/tracing.md has the names. What a span holds is what a log line may hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import structlog

from offturn import __version__
from offturn.observing import Call, Observer, Step
from offturn.store.replies import Claim
from offturn.tracing import Told, here, sent, span
from offturn_config.errors import InvalidSetting
from offturn_config.keys import QUEUE, SessionKey
from offturn_config.settings import WorkerSettings
from offturn_engine.compaction import Compaction
from offturn_engine.outcome import Failed, Outcome, name, reason

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

FLUSH_SECONDS = 5.0
"""For the last spans, when the worker stops: a collector that is away must not keep it."""

SERVICE = "offturn-worker"
INSTALL = "in a clone of offturn, pip install '.[otel]', or unset it"

log = structlog.get_logger(__name__)


@contextmanager
def job_span(key: SessionKey, request_no: int, parent: str) -> Iterator[Told]:
    """Around a job; its parent is the host's ring, where that had one."""
    facts = sent(key, request_no, QUEUE, "process")
    with span("offturn.job", facts, kind="CONSUMER", parent=parent) as told:
        yield told


def outcome_facts(outcome: Outcome) -> dict[str, str | int]:
    """How a job ended: names and sizes."""
    facts: dict[str, str | int] = {"offturn.outcome": name(outcome)}
    if why := reason(outcome):
        facts["offturn.reason"] = why
    if isinstance(outcome, Failed):
        facts["error.type"] = outcome.kind
    if generation := getattr(outcome, "generation", None):
        facts["offturn.generation"] = generation
    return facts


class Traces(Observer):
    """Makes spans of what a job does."""

    def step(self, step: Step) -> AbstractContextManager[object]:
        """`offturn.claim`, `offturn.load`, ..."""
        return span(f"offturn.{step}")

    def claimed(self, claim: Claim) -> None:
        """On the job's span."""
        here().tell({"offturn.trigger": claim.reason, "offturn.attempts": claim.attempts})

    def committed(self, record: Compaction) -> None:
        """On the job's span."""
        here().tell(
            {
                "offturn.method": record.method,
                "offturn.tokens.before": record.tokens_before,
                "offturn.tokens.after": record.tokens_after,
            }
        )

    @contextmanager
    def call(self, model: str) -> Iterator[Call]:
        """`offturn.model_call`, with the attributes of OpenTelemetry's conventions for generative AI."""
        provider, _, asked = model.partition(":")
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": asked or model,
        }
        with span("offturn.model_call", facts, kind="CLIENT") as told:
            made = Call(model)
            try:
                yield made
            finally:
                told.tell(_usage(made))


def _usage(made: Call) -> dict[str, int | tuple[str, ...]]:
    if not made.finish:
        return {}
    return {
        "gen_ai.response.finish_reasons": (made.finish,),
        "gen_ai.usage.input_tokens": made.spent.input_tokens,
        "gen_ai.usage.output_tokens": made.spent.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": made.spent.cached_tokens,
    }


class Together(Observer):
    """Several observers as one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    @contextmanager
    def step(self, step: Step) -> Iterator[None]:
        with ExitStack() as stack:
            for one in self._observers:
                stack.enter_context(one.step(step))
            yield

    def claimed(self, claim: Claim) -> None:
        for one in self._observers:
            one.claimed(claim)

    def committed(self, record: Compaction) -> None:
        for one in self._observers:
            one.committed(record)

    @contextmanager
    def call(self, model: str) -> Iterator[Call]:
        """What is filled in reaches each of them."""
        with ExitStack() as stack:
            calls = [stack.enter_context(one.call(model)) for one in self._observers]
            made = Call(model)
            try:
                yield made
            finally:
                for call in calls:
                    call.finish, call.spent = made.finish, made.spent


@asynccontextmanager
async def traces_sent(settings: WorkerSettings) -> AsyncIterator[bool]:
    """Inside the block spans go to the collector that the settings name; False: they name none.

    What the SDK itself reads of OTEL_* (headers, certificates, sampler, resource, batch sizes) goes on counting.
    Raises InvalidSetting where OFFTURN_OTLP_ENDPOINT is set and the SDK is not installed.
    """
    if not (settings.otlp_endpoint or settings.otel_endpoint):
        yield False
        return
    try:
        provider = _provider(settings)
    except ImportError:
        if settings.otlp_endpoint:
            raise InvalidSetting(
                f"OFFTURN_OTLP_ENDPOINT is set and OpenTelemetry is not installed: {INSTALL}"
            ) from None
        log.warning("no_traces", reason=f"OTEL_EXPORTER_OTLP_ENDPOINT is set: {INSTALL}")
        yield False
        return
    try:
        yield True
    finally:
        flushing = Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, FLUSH_SECONDS)


def _provider(settings: WorkerSettings) -> TracerProvider:
    """Set for the whole process. Raises ImportError."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import set_tracer_provider

    told = Resource.create()
    ours = {"service.version": __version__, "service.instance.id": settings.worker_id}
    if str(told.attributes.get("service.name", "")).startswith("unknown_service"):
        ours["service.name"] = SERVICE
    provider = TracerProvider(resource=told.merge(Resource(ours)), shutdown_on_exit=False)
    endpoint = f"{settings.otlp_endpoint.rstrip('/')}/v1/traces" if settings.otlp_endpoint else None
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    set_tracer_provider(provider)
    return provider
