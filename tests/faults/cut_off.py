"""A host behind a line to its store that can be cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, courier
from tests.faults.forwarder import Proxy, proxy
from tests.integration.host import Raw, stored

WINDOW = 16_000
SECONDS = 0.5  # of one call
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


@asynccontextmanager
async def cut_off(redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(courier, "FIRST_SECONDS", NEVER)
    async with proxy(valkey_url) as line:
        client = CompactionClient.from_url(line.url, timeout=SECONDS)
        try:
            yield Place(line, client, redis)
        finally:
            line.down = line.silent = False
            await client.close()
