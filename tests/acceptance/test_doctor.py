"""`offturn doctor` as a person calls it, against servers and workers that are real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn.store.workers import About, Workers
from offturn_config.keys import polling
from offturn_worker.doctor.findings import KINDS
from tests.acceptance.command import NONE, environment, offturn, on_a_terminal
from tests.acceptance.servers import server
from tests.faults.processes import until_true, workers
from tests.integration.host import turns

SECRET = "s3cret-5fd924625f6ab16a"


def findings(*arguments: str, variables: Mapping[str, str] = NONE) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the findings by name."""
    done = offturn("doctor", "--json", *arguments, variables=variables)
    told = json.loads(done.stdout)
    assert told["ok"] is (done.returncode == 0)
    assert SECRET.encode() not in done.stdout + done.stderr
    return done.returncode, {one["name"]: one for one in told["findings"]}


def ill(found: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What is not well, by name, with its remedy."""
    return {name: one["remedy"] for name, one in found.items() if one["level"] != "ok"}


@contextmanager
def provider(*options: str) -> Iterator[str]:
    """The base URL of a local model server."""
    command = [sys.executable, "-m", "offturn_worker.fake_model", *options]
    env = {**environment({}), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["openai_url"]
        finally:
            process.kill()


async def looked(url: str, worker: str) -> None:
    """The worker has beaten, and has looked at its queue."""
    redis = Redis.from_url(url)

    async def ask() -> bool:
        return bool(await redis.exists(polling(worker))) and bool(await Workers(redis).every())

    await until_true(ask)
    await redis.aclose()


async def test_all_is_well_with_a_worker(tmp_path: Path) -> None:
    with server(tmp_path / "store") as store:
        async with workers(store.url, tmp_path) as crew:
            await crew.start()
            await looked(store.url, "worker0")
            code, found = findings("--url", store.url)
            piped = offturn("doctor", "--store", store.url)
            shown = on_a_terminal("doctor", "--url", store.url, cwd=tmp_path)

    assert (code, ill(found)) == (0, {})
    assert re.fullmatch(
        r"1 here: worker0 \(\S+, queue offturn:queue, extractive, beat \d+ s ago\)", found["workers"]["facts"]
    )
    assert found["store"]["facts"].startswith("valkey ")
    assert list(found) == [name for name in KINDS if name in found]
    assert {
        "settings",
        "role",
        "append-only",
        "eviction",
        "headroom",
        "clock",
        "queue",
        "due",
        "parked",
        "summarizer",
    } < {*found}
    lines = piped.stdout.decode().splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["ok", name] for name in found]
    assert b"\x1b" not in piped.stdout
    assert [line.split()[:2] for line in shown.splitlines()] == [["ok", name] for name in found]


async def test_no_worker_while_a_session_is_due(tmp_path: Path) -> None:
    talk = json.dumps(turns("openai-chat", 16)).encode()
    with server(tmp_path / "store") as store:
        idle, before = findings("--url", store.url)
        done = offturn("import", "-", "--session", "chat", "--window", "10000", "--store", store.url, stdin=talk)
        assert done.returncode == 0, done.stderr
        code, found = findings("--url", store.url)
        shown = on_a_terminal("doctor", "--url", store.url, cwd=tmp_path)

    assert (idle, ill(before)) == (0, {"workers-idle": f"offturn worker --store {store.url}"})
    assert (code, ill(found)) == (1, {"workers-none": f"offturn worker --store {store.url}"})
    assert found["workers-none"]["facts"].startswith("none seen; 1 session is due, the first for ")
    [line] = [line for line in shown.splitlines() if line.startswith("fail")]
    assert line.endswith(f"-> offturn worker --store {store.url}")


async def test_workers_that_do_not_fit(tmp_path: Path) -> None:
    with server(tmp_path / "store") as store, server(tmp_path / "queue") as other:
        redis = Redis.from_url(store.url)
        await Workers(redis).beat("strange", About(version="99.1.0", queue="a:queue", policies={"balanced": "0"}))
        await Workers(redis).beat("odd\x1b[31m", About(version="0.0.1", queue="a:queue", draining=True))
        code, found = findings("--url", store.url)
        await redis.flushall()
        async with workers(store.url, tmp_path) as crew:
            await crew.start(QUEUE_URL=other.url)
            await looked_elsewhere(store.url, other.url)
            apart, there = findings("--url", store.url)
            same, agreed = findings("--url", store.url, "--queue-url", other.url)
        await redis.aclose()

    assert code == 1
    assert ill(found).keys() == {"worker-version", "worker-policies", "worker-queue-name"}
    assert (
        "strange listens on 'a:queue', hosts of this installation ring 'offturn:queue'"
        in found["worker-queue-name"]["facts"]
    )
    assert "strange runs 99.1.0" in found["worker-version"]["facts"]
    assert found["worker-version"]["remedy"] == "pip install '.[worker]'  # in a clone of offturn 99.1.0"
    assert "balanced" in found["worker-policies"]["facts"]
    assert (apart, ill(there)) == (1, {"worker-queue-server": f"export OFFTURN_QUEUE_URL={store.url}"})
    assert "worker0 did not look at the queue" in there["worker-queue-server"]["facts"]
    assert (same, ill(agreed)) == (0, {})


async def looked_elsewhere(store: str, queue: str) -> None:
    there, here = Redis.from_url(queue), Redis.from_url(store)

    async def ask() -> bool:
        return bool(await there.exists(polling("worker0"))) and bool(await Workers(here).every())

    await until_true(ask)
    await there.aclose()
    await here.aclose()


@pytest.mark.parametrize(
    ("options", "name", "remedy"),
    [
        ({"appendonly": "no"}, "append-only-off", "{cli} CONFIG SET appendonly yes"),
        ({"appendfsync": "no"}, "append-only-lazy", "{cli} CONFIG SET appendfsync everysec"),
        ({"maxmemory_policy": "allkeys-lru"}, "eviction-on", "{cli} CONFIG SET maxmemory-policy noeviction"),
        ({"replicaof": "127.0.0.1 1"}, "role-replica", "export OFFTURN_STORE_URL=redis://127.0.0.1:1/0"),
        ({"maxmemory": "1mb"}, "headroom-none", "{cli} CONFIG SET maxmemory 2097152"),
        ({"rename_command": "INFO x"}, "store-untold", "{cli} INFO server"),
        ({"cluster_enabled": "yes"}, "queue-cluster", "export OFFTURN_QUEUE_URL=redis://HOST:6379/0"),
    ],
)
def test_a_store_that_is_not_fit(options: dict[str, str], name: str, remedy: str, tmp_path: Path) -> None:
    with server(tmp_path, **options) as store:
        code, found = findings("--url", store.url)
        cli = f"redis-cli -u {store.url}"

    assert found[name]["remedy"] == remedy.format(cli=cli)
    assert code == (1 if KINDS[name].level == "fail" else 0)


def test_a_command_given_really_helps(tmp_path: Path) -> None:
    with server(tmp_path, appendonly="no") as store:
        _, found = findings("--url", store.url)
        words = found["append-only-off"]["remedy"].removeprefix(f"redis-cli -u {store.url} ").split()
        import redis

        with redis.Redis(port=store.port) as client:
            client.execute_command(*words)
        code, after = findings("--url", store.url)

    assert (code, "append-only" in after) == (0, True)


def test_servers_that_cannot_be_asked(tmp_path: Path) -> None:
    with server(tmp_path / "a", requirepass=SECRET) as store, server(tmp_path / "b") as queue:
        refused = findings("--url", store.url)
        wrong = findings(variables={"OFFTURN_STORE_URL": f"redis://:wrong@127.0.0.1:{store.port}/0"})
        right_url = f"redis://:{SECRET}@127.0.0.1:{store.port}/0"
        right = findings(variables={"OFFTURN_STORE_URL": right_url})
        with store.frozen(), queue.frozen():
            silent = findings(variables={"OFFTURN_STORE_URL": right_url, "OFFTURN_QUEUE_URL": queue.url})
    nobody = findings("--url", "redis://127.0.0.1:1/0")
    absent = findings("--url", f"embedded://{tmp_path}/none")
    with server(tmp_path / "c") as plain:
        tls = findings("--url", plain.url.replace("redis://", "rediss://"))

    assert ill(tls[1]).keys() == {"store-silent"}
    assert "speaks no TLS" in tls[1]["store-silent"]["facts"]
    assert [ill(found).keys() for _, found in (refused, wrong)] == [{"store-refused"}] * 2
    assert (right[0], ill(right[1])) == (0, {"workers-idle": "offturn worker"})
    assert ill(silent[1]) == {
        "store-silent": 'redis-cli -u "$OFFTURN_STORE_URL" PING',
        "queue-silent": f"redis-cli -u {queue.url} PING",
    }
    assert ill(nobody[1]).keys() == {"store-unreachable"}
    assert ill(absent[1]) == {"store-absent": f"offturn local --data {tmp_path}/none"}
    assert not (tmp_path / "none").exists()
    assert {code for code, _ in (refused, wrong, silent, nobody, absent)} == {1}


def test_keys_and_models_are_tried_without_a_paid_call(valkey_url: str) -> None:
    with provider("--key", SECRET, "--models", "fake,larger", "--window", "50000") as url:
        both = f"openai:fake@{url},anthropic:larger@{url.removesuffix('/v1')},openai:gpt-6-luna"
        keys = {"OFFTURN_OPENAI_API_KEY": SECRET, "OFFTURN_ANTHROPIC_API_KEY": SECRET}
        cases = {
            "right": {"OFFTURN_SUMMARIZER": both.rpartition(",")[0], **keys, "OFFTURN_SUMMARIZER_WINDOW": "50000"},
            "window": {"OFFTURN_SUMMARIZER": f"anthropic:larger@{url.removesuffix('/v1')}", **keys},
            "refused": {"OFFTURN_SUMMARIZER": f"openai:fake@{url}", "OFFTURN_OPENAI_API_KEY": "sk-wrong-key"},
            "missing": {"OFFTURN_SUMMARIZER": "openai:gpt-6-luna"},
            "unlisted": {"OFFTURN_SUMMARIZER": f"openai:none@{url}", **keys},
            "nobody": {"OFFTURN_SUMMARIZER": "openai:x@http://127.0.0.1:1/v1", **keys},
            "invalid": {"OFFTURN_SUMMARIZER": "nope:x"},
        }
        found = {name: findings("--url", valkey_url, variables=values) for name, values in cases.items()}

    told = {name: {n for n in names if n.startswith("route")} for name, (_, names) in found.items()}
    assert told == {
        "right": {"route"},
        "window": {"route-window"},
        "refused": {"route-key-refused"},
        "missing": {"route-key-missing"},
        "unlisted": {"route-unlisted"},
        "nobody": {"route-unreachable"},
        "invalid": {"route-invalid"},
    }
    assert "sk-wrong-key" not in json.dumps(found)
    assert found["missing"][1]["route-key-missing"]["remedy"] == "export OFFTURN_OPENAI_API_KEY=KEY"
    assert found["window"][1]["route-window"]["remedy"] == "export OFFTURN_SUMMARIZER_WINDOW=50000"


def test_settings_that_cannot_work(valkey_url: str) -> None:
    values = {"OFFTURN_MAX_JOBS": "none", "OFFTURN_MAX_JBOS": "3", "OFFTURN_STORE_URL": valkey_url}
    code, found = findings(variables=values)
    usage = offturn("doctor", "--url", "http://x")

    assert code == 1
    assert found["settings-invalid"]["remedy"] == "unset OFFTURN_MAX_JOBS"
    assert found["settings-unknown"]["remedy"] == "unset OFFTURN_MAX_JBOS"
    assert usage.returncode == 2
    assert usage.stderr.startswith(b"offturn: --store 'http://x'")
