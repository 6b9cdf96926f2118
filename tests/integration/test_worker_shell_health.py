"""`/livez` and `/readyz`, and a server that goes away or falls silent."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from redis.asyncio import Redis

from offturn.connect import open_redis
from offturn.doorbell import Doorbell
from offturn.embedded import open_server
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_worker import app, health
from offturn_worker.app import Running, open_servers, serve
from tests.conftest import TIMEOUT
from tests.integration.shell import KEY, SHORT, Compaction, settings, until, until_empty, working


async def get(running: Running, path: str) -> tuple[int, dict[str, Any]]:
    url = f"http://127.0.0.1:{running.health_port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as reply:
        return reply.status, await reply.json()


async def test_health(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PING_SECONDS", TIMEOUT)
    async with working(settings(valkey_url), Compaction()) as running:
        status, facts = await get(running, "/livez")
        assert (status, facts["status"]) == (200, "ok")
        assert {"loop_lag_ms", "poll_age_ms", "sweep_age_ms"} <= set(facts)
        assert await get(running, "/readyz") == (200, {"status": "ok", "redis": True, "draining": False})


async def test_a_worker_that_drains_takes_no_job(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so at once, and its loops end a moment later: here never."""

    async def never(_: asyncio.Event) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(app, "_asked", never)
    compact = Compaction()
    async with working(settings(valkey_url), compact, asked=None) as running:
        os.kill(os.getpid(), signal.SIGTERM)
        while not (await get(running, "/readyz"))[1]["draining"]:
            pass
        await Doorbell(redis).ring(KEY, 1)
        await asyncio.sleep(0.3)  # many looks
    assert compact.begun == []


async def test_no_health_port(valkey_url: str) -> None:
    async with working(settings(valkey_url, health_port=-1), Compaction()) as running:
        assert running.health_port is None


async def test_a_taken_health_port_is_told(valkey_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        values = settings(valkey_url, health_port=taken.getsockname()[1])
        async with open_servers(values) as servers:
            with pytest.raises(InvalidSetting, match=f"OFFTURN_HEALTH_PORT = 127.0.0.1:{values.health_port}"):
                await serve(values, servers, Compaction())


async def test_outage_and_restart_of_redis(
    tmp_path: Path, lines: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PING_SECONDS", TIMEOUT)
    server, compact = open_server(tmp_path), Compaction()
    url = f"redis://127.0.0.1:{server.port}/0"
    async with working(settings(url, lease_ms=SHORT), compact) as running:
        compact.go.clear()
        client = await open_redis(url, timeout=TIMEOUT)
        await Doorbell(client).ring(SessionKey("default", "before"), 1)
        await until(lambda: compact.begun)
        server.close()
        await until(lambda: any(line["event"] == "server_lost" for line in lines()))
        assert (await get(running, "/livez"))[0] == 200
        assert (await get(running, "/readyz"))[0] == 503
        compact.go.set()  # it ends while arq cannot record that it did
        await asyncio.sleep(0.2)

        again = open_server(tmp_path)
        assert again.port == server.port
        await Doorbell(client).ring(SessionKey("default", "after"), 1)
        await until(lambda: "after" in compact.begun)
        await until_empty(client)
        assert (await get(running, "/readyz"))[0] == 200
        await client.aclose()
    again.close()


async def test_a_silent_redis_is_outlived(tmp_path: Path) -> None:
    server, compact = open_server(tmp_path), Compaction()
    url = f"redis://127.0.0.1:{server.port}/0"
    async with working(settings(url, timeout=0.2, lease_ms=SHORT), compact) as running:
        os.kill(server.pid, signal.SIGSTOP)
        await asyncio.sleep(1)
        assert (await get(running, "/readyz"))[0] == 503
        assert (await get(running, "/livez"))[0] == 200
        os.kill(server.pid, signal.SIGCONT)
        client = await open_redis(url, timeout=TIMEOUT)
        await Doorbell(client).ring(KEY, 1)
        await until(lambda: compact.begun)
        await until_empty(client)
        await client.aclose()
    server.close()
