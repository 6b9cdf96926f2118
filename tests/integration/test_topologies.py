"""Stores that are not one plain server: a cluster-enabled one, and one that sentinels name and fail over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn import Compacted, CompactionClient, StoreUnavailable
from offturn.connect import open_redis
from offturn.embedded_port import free_port
from offturn.stopping import stop
from offturn.store.errors import StoreFault
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_worker.app import open_servers, run_worker
from tests.conftest import TIMEOUT
from tests.integration.servers import PATIENCE, Server, running, wait_until
from tests.integration.shell import ticks
from tests.integration.test_recipe import talk
from tests.protocol.stage import Stage
from tests.protocol.test_traces import play
from tests.protocol.traces import MORE, TRACES

WINDOW = 12_000


def node(bus: int) -> tuple[str, ...]:
    return ("--cluster-enabled", "yes", "--cluster-port", str(bus), "--appendonly", "no")


def serves(node: Server) -> bool:
    return bool(node.ask.execute_command("CLUSTER INFO")["cluster_state"] == "ok")


def is_master(server: Server) -> bool:
    return bool(server.ask.info("replication")["role"] == "master")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Server]:
    """One node with all slots."""
    with running(tmp_path / "node", *node(free_port())) as server:
        server.ask.execute_command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        wait_until(lambda: serves(server))
        yield server


async def test_every_script_touches_one_slot(cluster: Server) -> None:
    """All traces of the protocol, and the reads around them."""
    redis = await open_redis(cluster.url, timeout=TIMEOUT)
    store = SessionStore(redis)
    try:
        for name, trace in {**TRACES, **MORE}.items():
            await play(Stage(store, redis, SessionKey("default", name), max_attempts=3), trace)
        live = [name for name in {**TRACES, **MORE} if await store.meta(SessionKey("default", name))]
        assert [key.session for key in await store.sessions("default")] == sorted(live)
        assert live
        assert await store.due()
    finally:
        await redis.aclose()


async def test_sessions_on_a_cluster_and_jobs_elsewhere(cluster: Server, redis: Redis, valkey_url: str) -> None:
    async with CompactionClient.from_url(cluster.url, queue=valkey_url, timeout=TIMEOUT) as client:
        values = load_worker_settings(
            store_url=cluster.url, queue_url=valkey_url, health_port=-1, timeout=TIMEOUT, sweep_seconds=0.1
        )
        session = client.session("s", format="openai-chat", window=WINDOW)
        await session.record(talk(36))
        ticket = await session.request()  # before there is a worker: one job answers it and the crossing
        up = asyncio.Event()
        worker = asyncio.create_task(run_worker(values, summarizer=EXTRACTIVE, started=lambda _: up.set()))
        await up.wait()
        assert isinstance(await ticket.wait(PATIENCE), Compacted)
        assert (await session.view()).generation == 1
        async for _ in ticks():  # it beats beside its jobs
            if (await client.health()).attended:
                break
        assert await redis.dbsize() < 5  # nothing of the session is here
        await stop(worker)


async def test_a_worker_refuses_a_cluster_for_its_queue(cluster: Server, valkey_url: str) -> None:
    for urls in ({"store_url": cluster.url}, {"store_url": valkey_url, "queue_url": cluster.url}):
        with pytest.raises(InvalidSetting, match="OFFTURN_QUEUE_URL"):
            async with open_servers(load_worker_settings(**urls)):
                pass


async def test_another_node_of_a_cluster_is_named(tmp_path: Path) -> None:
    """Two nodes: the one that is asked does not have the slot of the keys."""
    bus = free_port()
    with running(tmp_path / "a", *node(free_port())) as one, running(tmp_path / "b", *node(bus)) as two:
        slot = int(one.ask.execute_command("CLUSTER", "KEYSLOT", SessionKey("default", "s").key("meta")))
        assert 0 < slot < 16383
        one.ask.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, slot - 1)
        two.ask.execute_command("CLUSTER", "ADDSLOTSRANGE", slot, 16383)
        two.ask.execute_command("CLUSTER", "SET-CONFIG-EPOCH", 2)
        one.ask.execute_command("CLUSTER", "MEET", "127.0.0.1", two.port, bus)
        for server in (one, two):
            await asyncio.to_thread(wait_until, partial(serves, server))
        redis = await open_redis(one.url, timeout=TIMEOUT)
        with pytest.raises(StoreFault, match="another node"):
            await SessionStore(redis).meta(SessionKey("default", "s"))
        await redis.aclose()


@dataclass
class Watched:
    """Two servers, the second follows the first, and a sentinel that watches them."""

    first: Server
    second: Server
    sentinel: Server
    url: str


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    secret = ("--requirepass", "p@ss", "--masterauth", "p@ss", "--appendonly", "no")
    with ExitStack() as stack:
        first = stack.enter_context(running(tmp_path / "a", *secret, password="p@ss"))
        follow = ("--replicaof", f"127.0.0.1 {first.port}", "--repl-diskless-sync-delay", "0")
        second = stack.enter_context(running(tmp_path / "b", *secret, *follow, password="p@ss"))
        folder = tmp_path / "s"
        folder.mkdir()
        config = folder / "sentinel.conf"
        config.write_text(
            f"sentinel monitor main 127.0.0.1 {first.port} 1\n"
            "sentinel auth-pass main p@ss\n"
            "sentinel down-after-milliseconds main 5000\n"
            "sentinel failover-timeout main 60000\n"
        )
        sentinel = stack.enter_context(running(folder, sentinel=config))
        sentinel.ask.execute_command(
            "SENTINEL", "DEBUG", "tilt-trigger", 600_000
        )  # else it rests after a machine's pause
        wait_until(lambda: watches(first, sentinel))
        yield Watched(first, second, sentinel, f"sentinel://:p%40ss@127.0.0.1:1,127.0.0.1:{sentinel.port}/main/0")


def watches(first: Server, sentinel: Server) -> bool:
    """And has heard of the second that it could take over."""
    listed = sentinel.ask.execute_command("SENTINEL", "REPLICAS", "main")
    replicas = [dict(zip(one[::2], one[1::2], strict=True)) for one in listed]
    able = [one for one in replicas if (one["flags"], one["master-link-status"]) == ("slave", "ok")]
    return len(able) == 1 and first.ask.info("replication")["connected_slaves"] == 1


async def test_a_failover_is_outlived_by_host_and_worker(watched: Watched) -> None:
    """The first sentinel of the URL does not answer; the server it names is killed under a worker and a host."""
    values = load_worker_settings(store_url=watched.url, health_port=-1, lease_ms=1000, sweep_seconds=0.2, timeout=1.0)
    async with CompactionClient.from_url(watched.url, timeout=TIMEOUT, on_outage="raise") as client:
        session = client.session("s", format="openai-chat", window=WINDOW)
        await session.record(talk(36))
        ticket = await session.request()  # before there is a worker: one job answers it and the crossing
        up = asyncio.Event()
        worker = asyncio.create_task(run_worker(values, summarizer=EXTRACTIVE, started=lambda _: up.set()))
        await up.wait()
        assert isinstance(await ticket.wait(PATIENCE), Compacted)
        await asyncio.to_thread(watched.first.ask.execute_command, "WAIT", 1, 60_000)
        watched.first.kill()
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                await session.record([{"role": "user", "content": "after the failover"}])
                break
            except StoreUnavailable:
                assert time.monotonic() < ends
                await asyncio.sleep(0.2)
        assert is_master(watched.second)
        await session.record(talk(36, start=36))
        await (await session.request()).wait(PATIENCE)  # the crossing may have been enough
        assert [one.number for one in await session.generations()] == [1, 2]
        assert not worker.done()
    await stop(worker)


async def test_a_demoted_server_is_left(watched: Watched) -> None:
    """A switch without any death: the old one lives on and refuses writes."""
    redis = await open_redis(watched.url, timeout=TIMEOUT)
    await redis.set("a", 1)
    await asyncio.to_thread(watched.first.ask.execute_command, "WAIT", 1, 60_000)
    await asyncio.to_thread(watched.sentinel.ask.execute_command, "SENTINEL", "FAILOVER", "main")
    await asyncio.to_thread(wait_until, lambda: is_master(watched.second) and not is_master(watched.first))
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            await redis.set("b", 2)
            break
        except (RedisError, OSError):
            assert time.monotonic() < ends
            await asyncio.sleep(0.1)
    assert watched.second.ask.get("b") == "2"
    await redis.aclose()


async def test_a_sentinels_client_has_the_limits_of_every_client(watched: Watched) -> None:
    client = await open_redis(watched.url, timeout=1.5)
    connection = await client.connection_pool.get_connection()
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (1.5, 1.5)
    assert connection.socket_keepalive
    assert OSError in connection.retry_on_error
    assert (connection.password, connection.port) == ("p@ss", watched.first.port)
    assert "p@ss" not in repr(client) + repr(connection) + repr(client.connection_pool)
    await client.connection_pool.release(connection)
    await client.aclose()
