"""A worker process sends its spans to a collector over HTTP, and minds one that is away as little as none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from offturn import Compacted, CompactionClient
from offturn.embedded_port import free_port
from offturn_config.errors import InvalidSetting
from offturn_config.settings import load_worker_settings
from offturn_worker import tracing
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import compacted, fill, handle, until, workers

wire = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
    reason="no collector to play: install offturn[otel]",
    exc_type=ImportError,
)
OFTEN = "200"  # ms between two batches


class Collector:
    """Reads what an OTLP exporter sends."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        sent = wire.ExportTraceServiceRequest.FromString(await request.read())
        self.headers.append(dict(request.headers))
        for one in sent.resource_spans:
            self.resources.append({item.key: item.value.string_value for item in one.resource.attributes})
            self.spans += [span for scope in one.scope_spans for span in scope.spans]
        return web.Response(body=wire.ExportTraceServiceResponse().SerializeToString())

    @property
    def names(self) -> set[str]:
        return {span.name for span in self.spans}

    def only(self, name: str) -> Any:
        [found] = [span for span in self.spans if span.name == name]
        return found


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
    try:
        yield collector
    finally:
        await runner.cleanup()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", OFTEN)


async def test_a_request_to_a_model_is_a_span_of_its_step(
    client: CompactionClient, valkey_url: str, tmp_path: Path
) -> None:
    async with collecting() as collector, FakeModel() as model, workers(valkey_url, tmp_path) as crew:
        provider = {"SUMMARIZER": "openai:gpt-test", "OPENAI_BASE_URL": model.openai_url, "OPENAI_API_KEY": "k"}
        await crew.start(OTLP_ENDPOINT=collector.url, **provider)
        await fill(session := handle(client, "s"))
        assert isinstance(await compacted(session), Compacted)
        await until(lambda: "offturn.job" in collector.names)

        call = collector.only("offturn.model_call")
        assert call.parent_span_id == collector.only("offturn.summarise").span_id
        facts = {item.key: item.value for item in call.attributes}
        assert facts["gen_ai.provider.name"].string_value == "openai"
        assert facts["gen_ai.request.model"].string_value == "gpt-test"
        assert facts["gen_ai.usage.input_tokens"].int_value > 0


@pytest.mark.parametrize("standard", [False, True])
async def test_a_workers_spans_arrive(
    standard: bool, client: CompactionClient, valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collecting() as collector, workers(valkey_url, tmp_path) as crew:
        ours = {"OTLP_ENDPOINT": collector.url}
        if standard:
            ours = {}
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=agents")
            monkeypatch.setenv("OTEL_SERVICE_NAME", "compactor")
        worker = await crew.start(**ours)
        session = handle(client, "s")
        said = await fill(session)
        assert isinstance(await compacted(session), Compacted)
        await until(lambda: "offturn.job" in collector.names)

        assert collector.names >= {"offturn.job", "offturn.claim", "offturn.load", "offturn.plan", "offturn.finish"}
        job = collector.only("offturn.job")
        facts = {item.key: item.value.string_value for item in job.attributes}
        assert (facts["offturn.tenant"], facts["offturn.session"]) == ("default", "s")
        assert facts["offturn.outcome"] in ("compacted", "pruned")
        assert collector.only("offturn.claim").parent_span_id == job.span_id
        resource = collector.resources[0]
        assert resource["service.name"] == ("compactor" if standard else "offturn-worker")
        assert resource["service.instance.id"] == worker.output.stem
        assert collector.headers[0].get("x-team") == ("agents" if standard else None)
        text = str(collector.spans)
        assert not [one for one in said if str(one["content"])[:40] in text]


async def test_a_collector_that_is_away_keeps_nobody(client: CompactionClient, valkey_url: str, tmp_path: Path) -> None:
    async with workers(valkey_url, tmp_path) as crew:
        worker = await crew.start(OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}")
        session = handle(client, "s")
        said = await fill(session)
        assert isinstance(await compacted(session), Compacted)
        worker.process.terminate()
        await until(lambda: not worker.alive)

        assert worker.process.returncode == 0
        assert (await session.status()).current == 1
        assert all("event" in line for line in worker.lines)
        assert not [one for one in said if str(one["content"])[:40] in worker.said]


async def test_spans_of_the_last_job_are_sent_when_the_worker_stops(
    client: CompactionClient, valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    async with collecting() as collector, workers(valkey_url, tmp_path) as crew:
        worker = await crew.start(OTLP_ENDPOINT=f"{collector.url}/")
        await fill(session := handle(client, "s"))
        assert isinstance(await compacted(session), Compacted)
        worker.process.terminate()
        await until(lambda: not worker.alive)
        assert "offturn.job" in collector.names


async def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, lines: Any) -> None:
    def absent(_: Any) -> Any:
        raise ImportError

    monkeypatch.setattr(tracing, "_provider", absent)
    async with tracing.traces_sent(load_worker_settings()) as sent:
        assert not sent
    with pytest.raises(InvalidSetting, match=r"pip install '\.\[otel\]'"):
        async with tracing.traces_sent(load_worker_settings(otlp_endpoint="http://collector:4318")):
            pass
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")  # of the whole cluster, perhaps
    async with tracing.traces_sent(load_worker_settings()) as sent:
        assert not sent
    assert [line["event"] for line in lines() if line["logger"].startswith("offturn")] == ["no_traces"]


def test_an_address_that_cannot_work_is_refused_without_its_password() -> None:
    with pytest.raises(InvalidSetting) as caught:
        load_worker_settings(otlp_endpoint="ftp://user:secret@collector")
    assert "OFFTURN_OTLP_ENDPOINT" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(load_worker_settings(otlp_endpoint="http://user:secret@collector"))
