"""What a job computes while its model writes."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, recipe
from offturn.ahead import AHEAD, ahead
from offturn.doorbell import Doorbell
from offturn.store.sessions import SessionStore
from offturn_engine.plan import apply
from offturn_engine.summary import SummaryReply, SummaryRequest
from tests.integration.shell import until
from tests.integration.test_recipe import Scripted, good, talk


async def test_the_candidate_is_tried_while_the_model_writes(
    client: CompactionClient, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what it takes of the messages is there when the answer is."""
    told, began = list[str](), asyncio.Event()
    loop = asyncio.get_running_loop()

    def tried(*given: Any, **more: Any) -> Any:
        told.append("tried")
        loop.call_soon_threadsafe(began.set)
        return apply(*given, **more)

    async def slow(request: SummaryRequest) -> SummaryReply:
        await asyncio.wait_for(began.wait(), 100)
        told.append("answered")
        return await good(request)

    monkeypatch.setattr(recipe, "apply", tried)
    session = client.session("s", format="openai-chat", window=12_000, overrides={"gate": "always_summarise"})
    await session.record(talk(40))
    await session.request()
    run = partial(recipe.run, store=SessionStore(redis), doorbell=Doorbell(redis), summarizer=Scripted([slow]))
    outcome = await run(session.key)
    assert getattr(outcome, "method", "") == "model"
    assert told == ["tried", "answered"]


async def test_it_ends_with_the_block_and_its_error_is_nobody_s() -> None:
    def broken() -> None:
        seen.append(AHEAD.get())
        raise ValueError

    seen, go = list[bool](), threading.Event()
    async with ahead(broken):
        await until(lambda: seen)
    assert seen == [True]
    assert not AHEAD.get()
    async with ahead(partial(go.wait, 30)):
        await asyncio.sleep(0.01)
    assert not go.is_set()  # the block was left, although it still computes
    go.set()


async def test_what_has_not_begun_is_not_done() -> None:
    done = list[int]()
    async with ahead(partial(done.append, 1)):
        pass  # it never gave the loop a turn
    await asyncio.sleep(0.05)
    assert done == []
