"""Real worker processes: signals, a kill, a port of their own, and what they say when they cannot start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from arq import constants
from redis.asyncio import Redis

from offturn.doorbell import Doorbell, job_id
from offturn_config.keys import QUEUE, SessionKey

SCRIPT = Path(__file__).with_name("worker_process.py")
TOLD = "told"
KEY = SessionKey("default", "s1")

Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start(valkey_url: str) -> AsyncIterator[Start]:
    """Starts a worker whose compaction takes the given seconds; kills what is left at the end."""
    processes: list[Process] = []

    async def start(seconds: float, **variables: str) -> Process:
        quick = {"POLL_SECONDS": "0.05", "SWEEP_SECONDS": "0.2", "LEASE_MS": "1000", "HEALTH_PORT": "0"}
        wanted = {"STORE_URL": valkey_url, **quick, **variables}
        environment = {f"OFFTURN_{name}": value for name, value in wanted.items()}
        process = await run(str(SCRIPT), TOLD, str(seconds), **environment)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def run(*arguments: str, **environment: str) -> Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OFFTURN_")}
    path = os.pathsep.join(sys.path)
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=PIPE, stderr=PIPE, env={**inherited, "PYTHONPATH": path, **environment}
    )


async def port_of(process: Process) -> int:
    assert process.stdout is not None
    return int(await process.stdout.readline())


async def told_by(redis: Redis) -> list[str]:
    execute: Callable[..., Awaitable[list[bytes]]] = redis.execute_command
    return [text.decode() for text in await execute("LRANGE", TOLD, 0, -1)]


async def wait_for(redis: Redis, text: str) -> None:
    while True:
        if text in await told_by(redis):
            return
        await asyncio.sleep(0.02)


async def ended(process: Process) -> tuple[int, list[dict[str, object]]]:
    _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, [json.loads(line) for line in errors.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_the_running_job_finish(redis: Redis, start: Start, number: signal.Signals) -> None:
    worker = await start(600.0, DRAIN_SECONDS="60")
    port = await port_of(worker)
    await Doorbell(redis).ring(KEY, 1)
    await wait_for(redis, "begun s1")
    worker.send_signal(number)
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"http://127.0.0.1:{port}/readyz") as ready:
                if (await ready.json())["draining"]:
                    assert ready.status == 503
                    break
        async with session.get(f"http://127.0.0.1:{port}/livez") as live:
            assert live.status == 200
    await Doorbell(redis).ring(SessionKey("default", "s2"), 1)
    assert await told_by(redis) == ["begun s1"]
    await redis.set(f"{TOLD}:go", "")
    code, lines = await ended(worker)
    assert code == 0
    assert await told_by(redis) == ["begun s1", "done s1"]
    assert lines[-1]["event"] == "stopped"
    assert await redis.zrange(QUEUE, 0, -1) == [job_id(SessionKey("default", "s2"), 1).encode()]


async def test_a_job_that_outlasts_the_drain_is_handed_back(redis: Redis, start: Start) -> None:
    worker = await start(60.0, DRAIN_SECONDS="0.2")
    await port_of(worker)
    await Doorbell(redis).ring(KEY, 1)
    await wait_for(redis, "begun s1")
    worker.terminate()
    code, lines = await ended(worker)
    assert code == 0
    assert await told_by(redis) == ["begun s1", "cancelled s1"]
    assert lines[-1]["cancelled"] == 1
    assert not await redis.exists(constants.in_progress_key_prefix + job_id(KEY, 1))
    await port_of(await start(0.0))
    await wait_for(redis, "done s1")


async def test_a_second_signal_ends_it_at_once(redis: Redis, start: Start) -> None:
    worker = await start(60.0, DRAIN_SECONDS="60")
    await port_of(worker)
    await Doorbell(redis).ring(KEY, 1)
    await wait_for(redis, "begun s1")
    worker.terminate()
    assert worker.stderr is not None
    while json.loads(await worker.stderr.readline())["event"] != "signal":
        pass
    worker.terminate()
    code, _ = await ended(worker)
    assert code == 128 + signal.SIGTERM
    assert await told_by(redis) == ["begun s1"]


async def test_a_killed_workers_job_runs_again_after_one_lease(redis: Redis, start: Start) -> None:
    worker = await start(60.0, JOB_TIMEOUT="3600")  # arq's own lock would last an hour
    await port_of(worker)
    await Doorbell(redis).ring(KEY, 1)
    await wait_for(redis, "begun s1")
    worker.kill()
    await worker.wait()
    await port_of(await start(0.0, JOB_TIMEOUT="3600"))
    await wait_for(redis, "done s1")


async def test_two_workers_share_the_work_once(redis: Redis, start: Start) -> None:
    for _ in range(2):
        await port_of(await start(0.2, MAX_JOBS="2", LEASE_MS="20000"))  # no lock runs out: nobody dies
    names = [f"s{number}" for number in range(8)]
    for name in names:
        await Doorbell(redis).ring(SessionKey("default", name), 1)
    for name in names:
        await wait_for(redis, f"done {name}")
    told = await told_by(redis)
    assert sorted(told) == sorted([f"begun {name}" for name in names] + [f"done {name}" for name in names])


@pytest.mark.parametrize("attempt", range(3))
async def test_a_signal_right_after_the_start_stops_it(redis: Redis, start: Start, attempt: int) -> None:
    """While the first commands are sent: where Python 3.11 loses cancellations."""
    worker = await start(0.0)
    await port_of(worker)
    worker.terminate()
    code, lines = await ended(worker)
    assert (code, lines[-1]["event"]) == (0, "stopped")
