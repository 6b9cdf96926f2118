"""The store that the component brings: what its server is told, and that its users may do what they must and no more."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

from offturn import CompactionClient, Session, StoreFault, View
from offturn.stopping import stop
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_worker.app import run_worker
from offturn_worker.archive.keeping import Kept
from offturn_worker.summarizers import build_for_worker
from tests.conftest import TIMEOUT
from tests.integration.archived import keeper_at
from tests.integration.host import turns
from tests.integration.servers import PATIENCE, Server, running
from tests.integration.shell import ticks
from tests.k8s.manifests import FOLDER, combination, named
from tests.packaging.sources import ROOT

COMPONENT = FOLDER / "components/valkey"
CONFIG = dict(
    line.split(maxsplit=1) for line in (COMPONENT / "valkey.conf").read_text().splitlines() if not line.startswith("#")
)
SAMPLE = (COMPONENT / "users.acl.sample").read_text()
MAY_FAIL = {"config|get"}
"""A worker looks at the server's settings to warn of bad ones, and goes on without."""

UNITS = {"Gi": 2**30, "Mi": 2**20, "mb": 2**20}


def _bytes(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(\w+)", text).groups()  # type: ignore[union-attr]
    return int(number) * UNITS[unit]


def test_nothing_is_evicted_and_a_restart_finds_all() -> None:
    assert CONFIG["appendonly"] == "yes"
    assert CONFIG["appendfsync"] == "everysec"
    assert CONFIG["maxmemory-policy"] == "noeviction"
    spec = named(combination(["valkey"]), "StatefulSet", "offturn-valkey")["spec"]
    [container] = spec["template"]["spec"]["containers"]
    # The rest is for rewriting the file, and for clients.
    assert _bytes(CONFIG["maxmemory"]) <= 0.7 * _bytes(container["resources"]["limits"]["memory"])
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert mounts[CONFIG["dir"]] == spec["volumeClaimTemplates"][0]["metadata"]["name"]
    assert Path(CONFIG["aclfile"]).parent.as_posix() in mounts
    assert container["command"][-1] in mounts
    assert container["ports"][0]["containerPort"] == int(CONFIG["port"])


def _with_passwords(sample: str) -> str:
    """The sample with users whose passwords are their names."""

    def hashed(found: re.Match[str]) -> str:
        return "#" + hashlib.sha256(found[1].lower().replace("_", "-").encode()).hexdigest()

    return re.sub(r"#(\w+)_SHA256", hashed, sample)


def test_the_page_tells_how_the_sample_becomes_yours(tmp_path: Path) -> None:
    if not shutil.which("bash") or not shutil.which("sha256sum"):
        pytest.skip("bash or sha256sum is not installed")
    page = (ROOT / "docs/ops/kubernetes.md").read_text()
    [snippet] = [block.partition("```")[0] for block in page.split("```sh\n")[1:] if block.startswith("hashed()")]
    (tmp_path / "k8s").symlink_to(FOLDER)
    variables = {"WORKER": "worker", "HOST": "host-acme", "KEDA": "keda", "PATH": os.environ["PATH"]}
    command = ["bash", "-euc", f"kubectl() {{ :; }}\n{snippet}"]
    subprocess.run(command, cwd=tmp_path, env=variables, check=True, timeout=120)
    assert (tmp_path / "users.acl").read_text() == _with_passwords(SAMPLE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The component's server on this machine, with the sample's users; each one's password is its name."""
    users = tmp_path / "users.acl"
    admin = "user admin on >admin ~* &* +@all\n"
    users.write_text(_with_passwords(SAMPLE) + admin)
    here = {"bind", "port", "dir", "save", "aclfile"}
    told = [word for name, value in CONFIG.items() if name not in here for word in (f"--{name}", value)]
    with running(tmp_path / "data", *told, "--aclfile", str(users), username="admin", password="admin") as started:
        yield started


def _url(server: Server, user: str) -> str:
    return f"redis://{user}:{user}@127.0.0.1:{server.port}/0"


async def test_a_host_records_and_a_worker_compacts(server: Server) -> None:
    values = load_worker_settings(
        store_url=_url(server, "worker"), sweep_seconds=0.05, poll_seconds=0.02, health_port=-1, timeout=TIMEOUT
    )
    url = _url(server, "host-acme")
    async with CompactionClient.from_url(url, tenant="acme", timeout=TIMEOUT, on_outage="raise") as client:
        session = client.session("s1", format="openai-chat", window=32_000)
        await session.record({"role": "user", "content": "Fix the login bug."})
        working = asyncio.create_task(run_worker(values, summarizer=build_for_worker(values)))
        try:
            for step in range(40):
                await session.record({"role": "assistant", "content": f"Step {step}. " + "I read a file. " * 200})
            async for _ in ticks():
                assert not working.done()
                if (view := await session.view()).generation:
                    break
        finally:
            await stop(working)
        await client.health()
    assert view.tokens < 32_000
    denied = {entry["object"] for entry in server.ask.acl_log()}
    assert denied <= MAY_FAIL


async def test_a_host_may_call_all_there_is_but_what_needs_scan(server: Server, tmp_path: Path) -> None:
    """The page says which two calls need more, and how the second of them is made once."""
    worker, told = _url(server, "worker"), asyncio.Event()

    async def sink(session: Session, view: View) -> None:
        told.set()

    async with CompactionClient.from_url(worker, tenant="acme", timeout=TIMEOUT) as operator:
        await operator.on_generation(sink)
    store = Redis.from_url(worker)
    keeper = keeper_at(store, tmp_path / "cold")
    values = load_worker_settings(
        store_url=worker,
        sweep_seconds=0.05,
        poll_seconds=0.02,
        health_port=-1,
        archive_url=(tmp_path / "cold").as_uri(),
    )
    url = _url(server, "host-acme")
    async with CompactionClient.from_url(url, tenant="acme", timeout=TIMEOUT, on_outage="raise") as client:
        with pytest.raises(StoreFault, match="NoPermission"):
            await client.sessions()
        with pytest.raises(StoreFault, match="NoPermission"):
            await client.on_generation(sink, name="another")
        await client.on_generation(sink)
        working = asyncio.create_task(run_worker(values, summarizer=build_for_worker(values)))
        try:
            session = client.session("s1", format="openai-chat", window=32_000, overrides={"session.ttl": 86_400})
            await session.record(turns("openai-chat", 60, size=1_500))
            await asyncio.wait_for(told.wait(), PATIENCE)
            await session.search("module")
            await session.recall("m0")
            await session.rewind(turns=1)
            await session.fork("s2")
            await session.rollback(generation=0, force=True)
            await session.configure(overrides={"trigger.soft": 0.7})
            await session.redact([0], reason="asked")
            other = client.session("s3", format="openai-chat", window=32_000)
            await other.mirror([{"role": "user", "content": "Hello."}])
            assert isinstance(await keeper.archive(SessionKey("acme", "s3")), Kept)
            await other.view()
            assert isinstance(await keeper.archive(SessionKey("acme", "s3")), Kept)
            await other.purge()
            await session.purge()
        finally:
            await stop(working)
            await store.aclose()
    denied = {entry["object"] for entry in server.ask.acl_log() if entry["username"] == "host-acme"}
    assert denied == {"scan", keys.archived()}  # the last: purge's first try, of what only an unrestricted user may do


async def test_a_host_sees_no_other_tenant(server: Server) -> None:
    async with CompactionClient.from_url(_url(server, "worker"), tenant="other", timeout=TIMEOUT) as client:
        await client.session("s1", format="openai-chat", window=32_000).record({"role": "user", "content": "Hello."})
    redis = Redis.from_url(_url(server, "host-acme"))
    for command in (
        ("LRANGE", keys.SessionKey("other", "s1").key("log"), 0, -1),
        ("HGETALL", keys.SessionKey("other", "s1").key("meta")),
        ("KEYS", "*"),
        ("SCAN", 0),
        ("FLUSHALL",),
        ("CONFIG", "GET", "*"),
        ("ACL", "LIST"),
    ):
        with pytest.raises(NoPermissionError):
            await redis.execute_command(*command)
    await redis.aclose()


async def test_the_scaler_counts_and_does_nothing_else(server: Server) -> None:
    counting = """
        local kind = redis.call('type', KEYS[1]).ok
        return redis.call(({zset = 'zcard', none = 'llen'})[kind], KEYS[1])
    """
    redis: Any = Redis.from_url(_url(server, "keda"))
    assert await redis.ping()
    assert await redis.eval(counting, 1, keys.due()) == 0
    server.ask.zadd(keys.QUEUE, {"one": 1, "two": 2})
    assert await redis.eval(counting, 1, keys.QUEUE) == 2
    with pytest.raises((NoPermissionError, ResponseError), match=r"(?i)permission|can't run"):
        await redis.eval("return redis.call('del', KEYS[1])", 1, keys.QUEUE)
    with pytest.raises(NoPermissionError):
        await redis.zrange(keys.QUEUE, 0, -1)
    await redis.aclose()


async def test_nobody_comes_in_without_a_name(server: Server) -> None:
    redis = Redis(port=server.port)
    with pytest.raises(AuthenticationError):
        await redis.ping()
    await redis.aclose()
