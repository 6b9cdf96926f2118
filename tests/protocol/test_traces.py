"""Every known mistake's shortest run, on the real scripts: they answer right and leave the state the model leaves."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from tests.protocol.stage import Stage
from tests.protocol.traces import MORE, TRACES, Trace
from tests.protocol.traces_archive import ARCHIVE
from tests.protocol.traces_bounds import BOUNDS
from tests.protocol.traces_packing import PACKING
from tests.protocol.traces_redacting import REDACTING

EVERY = {**TRACES, **MORE, **BOUNDS, **REDACTING, **PACKING, **ARCHIVE}


async def play(stage: Stage, trace: Trace) -> None:
    if trace.messages:
        await stage.do("open h1")
    for _ in range(trace.messages):
        await stage.do("record h1")
    for step in trace.steps.split("; "):
        line, _, expected = step.partition(" = ")
        answer = await stage.do(line)
        assert not expected or answer == expected, f"{line}: {answer}, expected {expected}"


@pytest.mark.parametrize("name", EVERY)
async def test_trace(name: str, redis: Redis) -> None:
    stage = Stage(SessionStore(redis), redis, SessionKey("default", name), max_attempts=3)

    await play(stage, EVERY[name])
