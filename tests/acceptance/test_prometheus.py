"""A real Prometheus scrapes a real worker, and knows the alerts."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from redis.asyncio import Redis

from offturn import CompactionClient
from tests.packaging.sources import ROOT
from tests.skew.record_dumps import handle, talk

pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")

ALERTS = ROOT / "k8s/components/monitoring/alerts.yaml"


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


async def ask(http: aiohttp.ClientSession, url: str) -> Any:
    """What Prometheus answers; None while it is not up."""
    try:
        async with http.get(url) as reply:
            return (await reply.json())["data"] if reply.status == 200 else None
    except aiohttp.ClientError:
        return None


async def test_prometheus_scrapes_a_worker(
    redis: Redis, client: CompactionClient, valkey_url: str, tmp_path: Path
) -> None:
    await handle(client, "s").record(talk(24))
    health, web = free_port(), free_port()
    (tmp_path / "rules.json").write_text(json.dumps(yaml.safe_load(ALERTS.read_text())["spec"]))
    jobs = [{"job_name": "offturn", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{health}"]}]}]
    config = {"global": {"evaluation_interval": "1s"}, "rule_files": ["rules.json"], "scrape_configs": jobs}
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    quiet: dict[str, Any] = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.DEVNULL}
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "offturn", "worker", "--store", valkey_url),
        env={"OFFTURN_HEALTH_PORT": str(health), "PYTHONPATH": ":".join(sys.path)},
        **quiet,
    )
    prometheus = await asyncio.create_subprocess_exec(
        *("prometheus", f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"),
        f"--web.listen-address=127.0.0.1:{web}",
        **quiet,
    )
    api = f"http://127.0.0.1:{web}/api/v1"
    try:
        async with asyncio.timeout(240), aiohttp.ClientSession() as http:
            while True:
                found = await ask(http, f'{api}/query?query=offturn_jobs_total{{outcome="compacted"}}')
                if found and found["result"]:
                    break
                await asyncio.sleep(0.2)
            [target] = (await ask(http, f"{api}/targets"))["activeTargets"]
            groups = (await ask(http, f"{api}/rules"))["groups"]
            known = {one["metric"] for one in await ask(http, f"{api}/targets/metadata?limit=1000")}
    finally:
        for process in (worker, prometheus):
            process.terminate()
            await process.wait()
    assert (target["health"], target["lastError"]) == ("up", "")
    assert found["result"][0]["value"][1] == "1"
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) > 10
    assert {rule["lastError"] for rule in rules if "lastError" in rule} <= {""}
    assert {"offturn_up_store", "offturn_oldest_due_seconds", "offturn_step_seconds"} <= known
