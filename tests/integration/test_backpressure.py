"""A server that cannot write, read or save for a while is waited for: by worker, sweep, lease, doorbell and hosts.

Each state is made on a real server by ordinary commands and configuration.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, StoreFull, StoreUnavailable
from offturn.connect import open_redis
from offturn.doorbell import Doorbell
from offturn.stopping import stop
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_worker.sweep import Sweep
from tests.conftest import TIMEOUT
from tests.integration.host import human
from tests.integration.servers import Server, running, wait_until
from tests.integration.shell import KEY, SHORT, Compaction, settings, until, until_empty, until_found_again, working

Step = Callable[[Server], Any]


def read_only(server: Server) -> None:
    server.ask.replicaof("127.0.0.1", "1")  # where nobody listens, and no other test will


def master_down(server: Server) -> None:
    server.ask.config_set("replica-serve-stale-data", "no")
    read_only(server)


def promoted(server: Server) -> None:
    server.ask.replicaof("NO", "ONE")


def full(server: Server) -> None:
    server.ask.set("ballast", "x" * 2_000_000)
    server.ask.config_set("maxmemory", 1_000_000)


def roomy(server: Server) -> None:
    server.ask.config_set("maxmemory", 0)


def loading(server: Server) -> None:
    """It answers LOADING after its start until it is told to go on: ten minutes of keys, eight of them between answers."""
    with server.ask.pipeline() as pipe:
        for number in range(120_000):
            pipe.set(f"ballast{number}", "x" * 100)
        pipe.execute()
    server.ask.save()
    server.kill()
    server.restart("--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")


def loaded(server: Server) -> None:
    wait_until(lambda: server.ask.config_set("key-load-delay", 0))
    server.wait()


STATES: dict[str, tuple[Step, Step]] = {
    "READONLY": (read_only, promoted),
    "MASTERDOWN": (master_down, promoted),
    "OOM": (full, roomy),
    "LOADING": (loading, loaded),
}
KIND = {"OOM": StoreFull}


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path, "--appendonly", "no", "--dbfilename", "dump.rdb") as opened:
        yield opened


async def opened(server: Server) -> Redis:
    return await open_redis(server.url, timeout=TIMEOUT)


async def test_a_worker_waits_and_goes_on(state: str, server: Server) -> None:
    harm, heal = STATES[state]
    compact = Compaction()
    compact.go.clear()
    async with working(settings(server.url, lease_ms=SHORT), compact):
        client = await opened(server)
        await Doorbell(client).ring(SessionKey("default", "before"), 1)
        await until(lambda: compact.begun)
        await asyncio.to_thread(harm, server)
        await asyncio.sleep(1.5)  # lock and lease run out meanwhile
        compact.go.set()  # it ends while arq cannot record that it did
        await asyncio.sleep(0.2)
        await asyncio.to_thread(heal, server)
        await Doorbell(client).ring(SessionKey("default", "after"), 1)
        await until(lambda: "after" in compact.begun)
        await until_empty(client)
        await client.aclose()


async def test_hosts_sweep_and_lease_are_told_what_may_pass(state: str, server: Server) -> None:
    harm, heal = STATES[state]
    kind = KIND.get(state, StoreUnavailable)
    client = await opened(server)
    store, bell = SessionStore(client), Doorbell(client)
    async with CompactionClient.from_url(server.url, timeout=TIMEOUT, on_outage="raise") as host:
        session = host.session("s1", format="openai-chat", window=14_000)
        await session.record([human("hello")])
        await session.request()
        claim = await store.claim(KEY, token="t", lease_ms=600_000)
        assert isinstance(claim, Claim)
        await asyncio.to_thread(harm, server)
        with pytest.raises(kind):
            await bell.ring(KEY, 99)
        with pytest.raises(kind):
            await session.record([human("more")])
        with pytest.raises(kind):
            await store.renew(KEY, claim=claim, lease_ms=600_000)
        beats: list[int] = []
        sweep = Sweep(store, bell, seconds=0.01, beat=lambda: beats.append(1))
        sweeping = asyncio.create_task(sweep.run())
        await until(lambda: len(beats) > 2)
        assert not sweeping.done()
        await asyncio.to_thread(heal, server)
        assert await store.renew(KEY, claim=claim, lease_ms=600_000)
        await until_found_again(host)
        await session.record([human("more")])
        await stop(sweeping)
    await client.aclose()


async def test_a_queue_that_cannot_take_a_ring_stops_no_host(
    state: str, server: Server, redis: Redis, valkey_url: str
) -> None:
    async with CompactionClient.from_url(valkey_url, queue=server.url, timeout=TIMEOUT) as host:
        session = host.session("s1", format="openai-chat", window=14_000)
        await session.record([human("hello")])
        await asyncio.to_thread(STATES[state][0], server)
        ticket = await session.request()
        assert await ticket.status() == "waiting"
