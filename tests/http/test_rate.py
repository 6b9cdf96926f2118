"""A key's requests are counted for all processes together, with few looks at the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
from redis.asyncio import Redis

from offturn.links import Connector
from offturn_http import rate
from offturn_http.problems import Problem
from offturn_http.rate import Rate
from tests.conftest import TIMEOUT

LIMIT = 6_000


@pytest.fixture
async def connector(redis: Redis, valkey_url: str) -> AsyncIterator[Connector]:
    """Of an empty store."""
    made = Connector(valkey_url, None, TIMEOUT, on_outage="raise")
    yield made
    await made.close()


async def _entered(process: Rate, key: str, most: int) -> int:
    for count in range(most):
        try:
            await process.enter(key)
        except Problem:
            return count
    return most


async def test_two_processes_share_a_keys_minute(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "SECONDS", 3600.0)
    one, two = Rate(connector, 60), Rate(connector, 60)
    assert await _entered(one, "a", 40) == 40
    assert 20 <= await _entered(two, "a", 60) < 60  # and one more for each second of the test
    assert await _entered(two, "b", 40) == 40


async def test_most_requests_ask_nobody(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "SECONDS", 3600.0)
    process, asked = Rate(connector, LIMIT), 0
    await process.enter("a")
    assert process._limits is not None
    enter = process._limits.route_enter

    async def counted(*args: object, **kwargs: object) -> object:
        nonlocal asked
        asked += 1
        return await enter(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(process, "_limits", SimpleNamespace(route_enter=counted))
    assert await _entered(process, "a", 10 * LIMIT // rate.PARTS - 1) == 199
    assert asked == 9


async def test_what_was_taken_is_forgotten(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "SECONDS", 0.0)
    monkeypatch.setattr(rate, "PARTS", 2)
    assert await _entered(Rate(connector, 4), "a", 4) == 2  # each took two
