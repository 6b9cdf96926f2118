"""A worker whose store is away when it starts waits for it; what no waiting helps ends it at once, or when it is seen."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from offturn.connect import open_redis
from offturn.doorbell import Doorbell
from offturn.embedded_port import free_port
from offturn.stopping import stop
from offturn_config.errors import InvalidSetting
from offturn_config.settings import WorkerSettings
from offturn_worker import health
from offturn_worker.app import Running, open_servers, serve
from tests.conftest import TIMEOUT
from tests.integration.servers import Server, running
from tests.integration.shell import KEY, SHORT, Compaction, settings, ticks, until

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """One that has ended."""
    server = Server(tmp_path / "store")
    server.kill()
    yield server
    server.close()


@asynccontextmanager
async def waiting(
    values: WorkerSettings, compact: Compaction
) -> AsyncIterator[tuple[asyncio.Task[None], list[Running]]]:
    """A worker that waits for its servers; the list holds what `started` is told."""
    told: list[Running] = []
    async with open_servers(values) as servers:
        worker = asyncio.create_task(serve(values, servers, compact, told.append))
        try:
            async for _ in ticks():
                if await get(values, "/livez") is not None:
                    break
            yield worker, told
        finally:
            await stop(worker)


async def get(values: WorkerSettings, path: str) -> int | None:
    """The status; None while nobody listens."""
    url = f"http://127.0.0.1:{values.health_port}{path}"
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as reply:
            return reply.status
    except aiohttp.ClientConnectionError:
        return None


def of(lines: Lines, event: str) -> list[dict[str, Any]]:
    return [line for line in lines() if line["event"] == event]


async def test_it_is_alive_and_not_ready_and_goes_on_when_the_server_is_there(
    server: Server, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PING_SECONDS", TIMEOUT)
    values, compact = settings(server.url, health_port=free_port(), lease_ms=SHORT), Compaction()
    async with waiting(values, compact) as (worker, told):
        [awaited] = of(lines, "server_awaited")
        assert (awaited["setting"], awaited["url"]) == ("OFFTURN_STORE_URL", server.url)
        assert awaited["error"] == "ConnectionRefusedError"
        assert [await get(values, path) for path in ("/livez", "/readyz", "/metrics")] == [200, 503, 200]
        assert not told

        server.start()
        client = await open_redis(server.url, timeout=TIMEOUT)
        await Doorbell(client).ring(KEY, 1)
        await until(lambda: compact.begun)
        await client.aclose()
        events = [line["event"] for line in lines()]
        assert events.index("server_lost") < events.index("started") < events.index("server_found")
        assert of(lines, "server_forgets")
        assert len(told) == 1
        assert [await get(values, path) for path in ("/livez", "/readyz")] == [200, 200]
        os.kill(os.getpid(), signal.SIGTERM)
        await worker


async def test_other_workers_are_heard_before_it_takes_jobs(server: Server, lines: Lines) -> None:
    """They may have lived through the outage, and renew their leases within one."""
    values, compact = settings(server.url, health_port=free_port(), lease_ms=600_000), Compaction()
    async with waiting(values, compact) as (_, told):
        server.start()
        await until(lambda: told)
        await until(lambda: of(lines, "server_found"))
        client = await open_redis(server.url, timeout=TIMEOUT)
        await Doorbell(client).ring(KEY, 1)
        await asyncio.sleep(0.3)
        await client.aclose()
    assert not compact.begun


async def test_a_server_that_hangs_is_waited_for_like_one_that_is_away(server: Server, lines: Lines) -> None:
    server.start()
    server.freeze()
    values = settings(server.url, health_port=free_port(), timeout=0.5)
    async with waiting(values, Compaction()) as (_, told):
        assert of(lines, "server_awaited")
        server.thaw()
        await until(lambda: told)


async def test_a_queue_of_its_own_is_waited_for(server: Server, valkey_url: str, lines: Lines) -> None:
    values = settings(valkey_url, queue_url=server.url, health_port=free_port())
    async with waiting(values, Compaction()) as (_, told):
        assert [line["setting"] for line in of(lines, "server_awaited")] == ["OFFTURN_QUEUE_URL"]
        assert not told
        server.start()
        await until(lambda: told)


async def test_asked_to_stop_it_waits_no_longer(server: Server, lines: Lines) -> None:
    values = settings(server.url, health_port=free_port())
    async with waiting(values, Compaction()) as (worker, told):
        os.kill(os.getpid(), signal.SIGTERM)
        await worker
        assert not told
        assert await get(values, "/livez") is None
    assert of(lines, "stopped")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--requirepass", "hunter2"), "refused the user or password"),
        (("--cluster-enabled", "yes"), "a cluster cannot hold the queue"),
    ],
)
async def test_what_is_wrong_with_it_is_told_when_it_is_there(
    server: Server, arguments: tuple[str, ...], told: str
) -> None:
    async with waiting(settings(server.url, health_port=free_port()), Compaction()) as (worker, _):
        server.restart(*arguments)
        with pytest.raises(InvalidSetting, match=told):
            await worker


async def test_refused_credentials_are_not_waited_for(tmp_path: Path) -> None:
    with running(tmp_path, "--requirepass", "another", password="another") as server:
        values = settings(server.url.replace("//", "//default:hunter2@"))
        with pytest.raises(InvalidSetting, match=r"OFFTURN_STORE_URL = .*: the server refused the user") as caught:
            async with open_servers(values):
                pass
    assert "hunter2" not in str(caught.value)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_a_certificate_that_is_not_trusted_is_not_waited_for(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    await asyncio.to_thread(
        subprocess.run, [*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=own) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(InvalidSetting, match="certificate is not trusted"):
            async with open_servers(settings(f"rediss://127.0.0.1:{port}/0")):
                pass


@asynccontextmanager
async def silent(seen: Callable[[str], None], name: str) -> AsyncIterator[str]:
    """The URL of a server that never answers. It tells when it is looked at, and when the look has ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen(f"{name} looked at")
        while await reader.read(1000):
            pass
        seen(f"{name} given up")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"


async def test_a_signal_during_the_first_look_stops_it() -> None:
    seen = list[str]()
    async with silent(seen.append, "store") as url:
        environment = {**os.environ, "OFFTURN_STORE_URL": url, "OFFTURN_HEALTH_PORT": "0", "OFFTURN_LOG_FORMAT": "json"}
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "offturn_worker", "--summarizer", "extractive"),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        await until(lambda: seen)
        worker.send_signal(signal.SIGTERM)
        told, _ = await worker.communicate()
    assert worker.returncode == 0, told
    assert b'"event":"stopped"' in told
    assert b"server_awaited" not in told


async def test_both_servers_are_looked_at_at_once() -> None:
    seen = list[str]()
    async with silent(seen.append, "store") as store, silent(seen.append, "queue") as queue:
        async with open_servers(settings(store, queue_url=queue)) as servers:
            assert list(servers.away) == ["store", "queue"]
        await until(lambda: len(seen) == 4)
    assert sorted(seen[:2]) == ["queue looked at", "store looked at"]


async def test_what_is_wrong_with_the_queue_is_told_while_the_store_is_away(server: Server, tmp_path: Path) -> None:
    queue = Server(tmp_path / "queue")
    queue.kill()
    try:
        values = settings(server.url, queue_url=queue.url, health_port=free_port())
        async with waiting(values, Compaction()) as (worker, _):
            queue.restart("--requirepass", "hunter2")
            with pytest.raises(InvalidSetting, match=r"OFFTURN_QUEUE_URL = .*: the server refused the user"):
                await worker
    finally:
        queue.close()
