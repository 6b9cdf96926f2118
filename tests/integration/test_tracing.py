"""Traces from a host's call to the model call of the job it rang for; and nothing where nobody traces."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from offturn import CompactionClient, Skipped, recipe, sync
from offturn.doorbell import Doorbell, dumps, job_id, loads
from offturn.observing import Call, Observer
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Spent
from offturn_worker.jobs import compact_session
from offturn_worker.tracing import Together, Traces
from tests.integration.host import turns
from tests.integration.shell import KEY, Compaction, settings, until, until_empty, working

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="nothing to trace with: install offturn[otel]")

from opentelemetry import trace  # noqa: E402 -- behind the skip
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes  # noqa: E402

WORDS = "the words of a human"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """A process has one provider, for good."""
    made = InMemorySpanExporter()
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    return made


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


def by_name(spans: InMemorySpanExporter) -> dict[str, Any]:
    return {one.name: one for one in spans.get_finished_spans()}


def told(one: Any) -> dict[str, Any]:
    return dict(one.attributes or {})


async def payload(redis: Any, key: SessionKey, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await redis.get(f"arq:job:{job_id(key, number)}"))
    return found


async def test_one_trace_from_the_host_to_the_steps_of_its_job(
    spans: InMemorySpanExporter, client: CompactionClient, redis: Any
) -> None:
    session = client.session("s", format="openai-chat", window=14_000)
    await session.record([{"role": "user", "content": WORDS}, *turns("openai-chat", 22, size=1_500)])
    await session.view()

    async def compact(key: SessionKey) -> Any:
        store = SessionStore(redis)
        model, observer = FakeSummarizer(), Together(Traces())
        return await recipe.run(key, store=store, doorbell=Doorbell(redis), summarizer=model, observer=observer)

    job = loads(await redis.get(f"arq:job:{job_id(session.key, 1)}"))
    context = {"redis": redis, "job_id": "j", "lease_ms": 4000, "compact": compact}
    await compact_session(context, *job["a"], **job["k"])

    found = by_name(spans)
    steps = {
        f"offturn.{step}" for step in ("claim", "load", "plan", "summarise", "apply", "accept", "commit", "finish")
    }
    assert set(found) >= {"offturn.record", "offturn.view", "offturn.ring", "offturn.job"} | steps
    record, ring, work = found["offturn.record"], found["offturn.ring"], found["offturn.job"]
    assert ring.parent.span_id == record.context.span_id
    assert work.parent.span_id == ring.context.span_id
    assert {found[step].parent.span_id for step in steps} == {work.context.span_id}
    assert {one.context.trace_id for name, one in found.items() if name != "offturn.view"} == {record.context.trace_id}
    assert told(work)["offturn.outcome"] == "compacted"
    assert (told(work)["offturn.tenant"], told(work)["offturn.session"]) == ("default", "s")
    assert told(work)["offturn.attempts"] == 1
    assert WORDS not in "".join(one.to_json() for one in spans.get_finished_spans())


async def test_a_job_of_a_host_that_does_not_trace_is_as_it_was(redis: Any, spans: InMemorySpanExporter) -> None:
    assert await Doorbell(redis).ring(KEY, 1)
    job = await payload(redis, KEY)
    assert job == {"t": None, "f": "compact_session", "a": ["default", "s1", 1], "k": {}, "et": job["et"]}
    assert spans.get_finished_spans() == ()


async def test_a_traced_job_is_one_that_older_workers_run(redis: Any, spans: InMemorySpanExporter) -> None:
    """arq takes five fields by name: what else a payload has, an older worker never sees."""
    with trace.get_tracer("host").start_as_current_span("turn"):
        assert await Doorbell(redis).ring(KEY, 1)
        assert not await Doorbell(redis).ring(KEY, 1)
    job = await payload(redis, KEY)
    assert {name: job[name] for name in "fak"} == {"f": "compact_session", "a": ["default", "s1", 1], "k": {}}
    rings = [one for one in spans.get_finished_spans() if one.name == "offturn.ring"]
    assert [told(one)["offturn.added"] for one in rings] == [True, False]
    assert job["trace"].split("-")[2] == trace.format_span_id(rings[0].context.span_id)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, {}),
        (PARENT, {"trace": PARENT}),
        ("x", {}),
        (7, {}),
        (PARENT + "\n", {}),
        (PARENT.upper(), {}),
        ([PARENT], {}),
    ],
)
def test_only_a_traceparent_is_handed_on(given: object, read: dict[str, str]) -> None:
    job: dict[str, Any] = {"t": None, "f": "compact_session", "a": ["default", "s1", 1], "k": {}, "et": 1}
    assert loads(dumps(job if given is None else {**job, "trace": given})) == {**job, "k": read}


async def test_a_worker_takes_jobs_with_a_trace_and_without(
    redis: Any, valkey_url: str, spans: InMemorySpanExporter
) -> None:
    compact = Compaction()
    async with working(settings(valkey_url), compact):
        await Doorbell(redis).ring(KEY, 1)
        await until_empty(redis)
        with trace.get_tracer("host").start_as_current_span("turn") as turn:
            await Doorbell(redis).ring(KEY, 2)
        await until_empty(redis)
        await until(lambda: len(compact.begun) == 2)
    alone, within = [one for one in spans.get_finished_spans() if one.name == "offturn.job"]
    assert alone.parent is None
    assert within.context.trace_id == turn.get_span_context().trace_id
    assert told(within)["offturn.reason"] == "test"


async def test_a_failed_job_tells_the_type_of_its_error_only(redis: Any, spans: InMemorySpanExporter) -> None:
    async def broken(_: SessionKey) -> Skipped:
        raise RuntimeError(WORDS)

    context = {"redis": redis, "job_id": "j", "lease_ms": 4000, "compact": broken}
    await compact_session(context, "default", "s1", 1)

    [job] = spans.get_finished_spans()
    assert told(job)["error.type"] == "RuntimeError"
    assert (job.status.is_ok, job.status.description, job.events) == (False, None, ())


def test_a_model_call_bears_the_names_of_the_conventions(spans: InMemorySpanExporter) -> None:
    observer = Together(Traces(), Observer())
    with observer.step("summarise"), observer.call("anthropic:claude-x") as call:
        call.finish, call.spent = "stop", Spent(calls=1, input_tokens=90, cached_tokens=40, output_tokens=7)
    with pytest.raises(TimeoutError), observer.call("openai:gpt-x"):
        raise TimeoutError(WORDS)

    good, _, bad = spans.get_finished_spans()
    assert told(good) == {
        gen_ai_attributes.GEN_AI_OPERATION_NAME: "chat",
        gen_ai_attributes.GEN_AI_PROVIDER_NAME: "anthropic",
        gen_ai_attributes.GEN_AI_REQUEST_MODEL: "claude-x",
        gen_ai_attributes.GEN_AI_RESPONSE_FINISH_REASONS: ("stop",),
        gen_ai_attributes.GEN_AI_USAGE_INPUT_TOKENS: 90,
        gen_ai_attributes.GEN_AI_USAGE_OUTPUT_TOKENS: 7,
        gen_ai_attributes.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 40,
    }
    assert good.kind is trace.SpanKind.CLIENT
    assert told(bad)["error.type"] == "TimeoutError"
    assert WORDS not in bad.to_json()


def test_every_observer_hears_all_there_is() -> None:
    told_of = {name for name in vars(Observer) if not name.startswith("_")}
    assert told_of == {name for name in vars(Together) if not name.startswith("_")}

    class Heard(Observer):
        def __init__(self) -> None:
            self.calls: list[Call] = []

        def call(self, model: str) -> Any:
            from contextlib import nullcontext

            self.calls.append(Call(model))
            return nullcontext(self.calls[-1])

    ears = Heard(), Heard()
    with Together(*ears).call("openai:m") as call:
        call.finish = "stop"
    assert [one.calls for one in ears] == [[Call("openai:m", "stop")]] * 2


UNTRACED = """
import sys, offturn
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
from offturn.tracing import here, span, traceparent
with span("a") as told:
    told.tell({"b": 1})
    here().tell({"b": 1})
assert traceparent() == ""
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""


def test_a_host_that_does_not_trace_imports_nothing_for_it() -> None:
    paths: Sequence[str] = [path for path in sys.path if path]
    code = f"import sys; sys.path[:0] = {list(paths)!r}\n{UNTRACED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


async def test_calls_side_by_side_have_spans_of_their_own(
    client: CompactionClient, spans: InMemorySpanExporter
) -> None:
    sessions = [client.session(f"s{n}", format="openai-chat") for n in range(3)]
    await asyncio.gather(*(session.record({"role": "user", "content": WORDS}) for session in sessions))
    records = [one for one in spans.get_finished_spans() if one.name == "offturn.record"]
    assert {told(one)["offturn.session"] for one in records} == {"s0", "s1", "s2"}
    assert len({one.context.trace_id for one in records}) == 3


async def test_a_blocking_host_has_them_in_its_own_trace(
    client: CompactionClient, valkey_url: str, spans: InMemorySpanExporter
) -> None:
    """offturn.sync works on another thread, and the host's span is open on this one."""

    def host() -> int:
        with sync.CompactionClient.from_url(valkey_url, timeout=20) as blocking:
            session = blocking.session("s", format="openai-chat")
            with trace.get_tracer("host").start_as_current_span("turn") as turn:
                session.record({"role": "user", "content": WORDS})
                session.request()
            return int(turn.get_span_context().span_id)

    turn = await asyncio.to_thread(host)

    found = by_name(spans)
    assert (found["offturn.record"].parent.span_id, found["offturn.request"].parent.span_id) == (turn, turn)
    assert found["offturn.ring"].parent.span_id == found["offturn.request"].context.span_id
