"""Every kind of outage is noticed, and jobs start one lease after the first write that succeeds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from offturn.connect import open_redis
from offturn.embedded_port import free_port
from offturn.stopping import stop
from offturn_worker.outage import Watch, is_outage
from tests.conftest import TIMEOUT
from tests.integration.servers import Server, running
from tests.integration.shell import until

LEASE = 1000
FULL = "x" * 2_000_000

Harm = Callable[[Server], None]


def full(server: Server) -> None:
    server.ask.set("ballast", FULL)
    server.ask.config_set("maxmemory", 1_000_000)


def roomy(server: Server) -> None:
    server.ask.config_set("maxmemory", 0)


HARMS: dict[str, tuple[Harm, Harm]] = {
    "frozen": (Server.freeze, Server.thaw),
    "a replica": (lambda s: s.ask.replicaof("127.0.0.1", str(free_port())), lambda s: s.ask.replicaof("NO", "ONE")),
    "full": (full, roomy),
    "killed": (Server.kill, Server.start),
}


async def client_of(server: Server) -> Redis:
    """A look ends by itself; what else is asked has time."""
    return await open_redis(server.url, timeout=TIMEOUT)


@pytest.mark.parametrize("name", HARMS)
async def test_after_an_outage_it_waits_one_lease_from_the_first_success(name: str, tmp_path: Path) -> None:
    harm, heal = HARMS[name]
    with running(tmp_path, "--appendonly", "no") as server:
        client, met = await client_of(server), list[str]()
        watch = Watch({"queue": client}, lease_ms=LEASE, met=lambda name, _: met.append(name))
        await watch.look("queue", client)
        assert watch.ready or met  # a machine so busy that there was no answer in time
        while not watch.ready:
            await watch.look("queue", client)
            await asyncio.sleep(0.02)
        await asyncio.to_thread(harm, server)
        for _ in range(4):  # more than a lease: that it failed once must not open it after a while
            await watch.look("queue", client)
            assert not watch.ready
            await asyncio.sleep(0.3)
        await asyncio.to_thread(heal, server)
        began = time.monotonic()
        while not watch.ready:
            await watch.look("queue", client)
            await asyncio.sleep(0.02)
        assert time.monotonic() - began >= LEASE / 1000
        await client.aclose()


async def test_one_server_of_two_is_enough_to_wait(redis: Redis, tmp_path: Path) -> None:
    with running(tmp_path) as server:
        other = await client_of(server)
        watch = Watch({"store": other, "queue": redis}, lease_ms=LEASE)
        watching = asyncio.create_task(watch.run())
        server.freeze()
        await until(lambda: not watch.ready)
        server.thaw()
        await until(lambda: watch.ready)
        await stop(watching)
        await other.aclose()


async def test_who_may_not_write_the_probe_works_all_the_same(redis: Redis) -> None:
    class Refusing:
        async def execute_command(self, *_: Any) -> None:
            raise ResponseError("NOPERM this user has no permissions to access one of the keys")

    refusing: Any = Refusing()
    met: list[tuple[str, BaseException]] = []
    watch = Watch({"queue": refusing}, lease_ms=LEASE, met=lambda *told: met.append(told))
    await watch.look("queue", refusing)
    assert watch.ready
    assert [(name, type(error).__name__) for name, error in met] == [("queue", "StoreFault")]  # told all the same


async def test_each_error_is_told_and_an_outage_opens_the_watch() -> None:
    met: list[str] = []
    watch = Watch({}, lease_ms=LEASE, met=lambda name, _: met.append(name))
    watch.meet("store", ValueError())
    assert watch.ready
    for _ in range(2):
        watch.meet("queue", ConnectionRefusedError())
    assert not watch.ready
    assert met == ["store", "queue", "queue"]


async def test_what_counts_as_an_outage(tmp_path: Path) -> None:
    assert is_outage(TimeoutError())
    assert is_outage(ConnectionRefusedError())
    assert not is_outage(ValueError())
    assert not is_outage(ResponseError("WRONGTYPE Operation against a key"))
    assert is_outage(ResponseError("MASTERDOWN Link with MASTER is down"))
    assert is_outage(ResponseError("MISCONF Redis is configured to save"))


@pytest.mark.parametrize(("seconds", "ready"), [(0, False), (5, False), (6, True), (90_000, True), (None, True)])
async def test_a_server_that_has_run_for_less_than_a_lease_came_back(seconds: int | None, ready: bool) -> None:
    class Told:
        async def execute_command(self, *_: Any) -> dict[str, int]:
            return {} if seconds is None else {"uptime_in_seconds": seconds}

    told: Any = Told()
    watch = Watch({"store": told}, lease_ms=5_000)
    await watch.begin()
    assert watch.ready is ready


async def test_a_server_that_does_not_tell_since_when_it_runs_is_taken_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        client = await client_of(server)
        watch = Watch({"store": client}, lease_ms=60_000)
        await watch.begin()
        assert not watch.ready
        server.ask.execute_command("ACL", "SETUSER", "default", "-info")
        denied = Watch({"store": client}, lease_ms=60_000)
        await denied.begin()
        assert denied.ready
        await client.aclose()
