"""One service process for all tests of this folder, over the tests' store, and a key of its own for whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import httpx
import pytest

from offturn import CompactionClient, Session
from tests.http.serving import Served, caller, made_key, served

Ask = Callable[..., httpx.Client]
Do = Callable[[Callable[[CompactionClient, Session], Any]], Any]


@pytest.fixture(scope="session")
def service(valkey_url: str) -> Iterator[Served]:
    """A service with limits that tests do not meet."""
    limits = ("OFFTURN_HTTP_REQUESTS_PER_MINUTE", "OFFTURN_HTTP_WRONG_KEYS_PER_MINUTE")
    with served(valkey_url, dict.fromkeys(limits, "1000000")) as running:
        yield running


@pytest.fixture
def tenant() -> str:
    """A name that no other test has."""
    return f"t-{token_hex(6)}"


@pytest.fixture
def ask(service: Served, valkey_url: str, tenant: str) -> Iterator[Ask]:
    """Clients of the service, each with a key: `ask(role, tenant)`."""
    opened: list[httpx.Client] = []

    def make(role: str = "host", of: str = tenant) -> httpx.Client:
        opened.append(caller(service.url, asyncio.run(made_key(valkey_url, of, role))))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def do(valkey_url: str, tenant: str) -> Do:
    """Something that is done in Python with the tenant's session `chat`."""

    async def run(work: Callable[[CompactionClient, Session], Any]) -> Any:
        async with CompactionClient.from_url(valkey_url, tenant=tenant, timeout=20) as client:
            return await work(client, client.session("chat", format="openai-chat", window=16_000))

    return lambda work: asyncio.run(run(work))
