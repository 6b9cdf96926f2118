"""A host behind a line to its store that can be cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, courier, timely
from offturn.links import OnOutage
from offturn.timely import Timely
from tests.conftest import TIMEOUT
from tests.faults.forwarder import Proxy, proxy
from tests.integration.host import Raw, stored

WINDOW = 16_000
SECONDS = 0.5  # of one call while the line is cut
NEVER = 3_600.0  # seconds: the courier does not come by itself


@dataclass
class Place:
    """The line, the host's client, and a connection of the test's own."""

    line: Proxy
    client: CompactionClient
    redis: Redis

    def session(self, name: str = "chat") -> Session:
        return self.client.session(name, format="openai-chat", window=WINDOW)

    async def stored(self) -> list[Raw]:
        return await stored(self.redis, "chat")


def opened(line: Proxy, monkeypatch: pytest.MonkeyPatch, on_outage: OnOutage = "degrade") -> CompactionClient:
    """A host's client. Its calls have little time while the line is cut, and else as much as a busy machine may need."""
    client = CompactionClient.from_url(line.url, timeout=TIMEOUT, on_outage=on_outage)
    connector = client._connector

    def changed() -> None:
        connector.timeout = connector.courier._timeout = SECONDS if line.down or line.silent else TIMEOUT
        if connector._links is not None:
            cast("Timely", connector._links.redis)._timeout = connector.timeout

    line.changed = changed
    monkeypatch.setattr(timely, "AWAY_SECONDS", TIMEOUT)  # the call's own time is short enough
    return client


@asynccontextmanager
async def cut_off(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(courier, "FIRST_SECONDS", NEVER)
    async with proxy(valkey_url) as line:
        client = opened(line, monkeypatch)
        try:
            yield Place(line, client, redis)
        finally:
            line.down = line.silent = False
            await client.close()
