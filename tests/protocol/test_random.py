"""Hosts, workers and faults in random order: replies and state stay those of the model, step for step."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from tests.protocol.runs import play_random
from tests.protocol.stage import Stage

BATCHES, RUNS = 24, 25


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_random_interleavings(batch: int, redis: Redis) -> None:
    store = SessionStore(redis)

    for seed in range(batch * RUNS, (batch + 1) * RUNS):
        await play_random(Stage(store, redis, SessionKey("default", f"run {seed}"), max_attempts=3), seed)
