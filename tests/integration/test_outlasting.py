"""What a job sends again: a paid result lands once, whatever became of the first try."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import Compacted, CompactionClient, Failed, outlasting, recipe
from offturn.links import Links
from offturn.store.errors import StoreFault, StoreFull, StoreUnavailable
from offturn.store.sessions import SessionStore
from tests.integration.clocks import Clock
from tests.integration.test_recipe import Scripted, good, talk

Method = Callable[..., Awaitable[Any]]


class Faulty:
    """Fails so many calls of each named method: before they are sent, or after they took effect."""

    def __init__(self, store: SessionStore, error: Exception, *, effective: bool, **times: int) -> None:
        self._store, self._error, self._effective, self.left = store, error, effective, times
        self.sent: list[str] = []

    def __getattr__(self, name: str) -> Method:
        real: Method = getattr(self._store, name)

        async def call(*args: Any, **options: Any) -> Any:
            self.sent.append(name)
            if self.left.get(name, 0) <= 0:
                return await real(*args, **options)
            self.left[name] -= 1
            if self._effective:
                await real(*args, **options)
            raise self._error

        return call


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlasting, "PAUSE_SECONDS", 0.01)


async def play(client: CompactionClient, error: Exception, *, effective: bool, **times: int) -> tuple[Any, Faulty, Any]:
    """In a session of its own: what the store did not take waits in this process, for the next job of that name."""
    name = f"{error} {effective} {times}"
    session = client.session(name, format="openai-chat", window=12_000)
    await session.record(talk(36))
    links: Links = await client._connector.links()
    store: Any = Faulty(links.store, error, effective=effective, **times)
    model = Scripted([good])
    outcome = await recipe.run(session.key, store=store, doorbell=links.doorbell, summarizer=model)
    assert len(model.asked) == 1
    return outcome, store, await links.store.meta(session.key)


@pytest.mark.parametrize("effective", [False, True], ids=["lost", "reply lost"])
@pytest.mark.parametrize("name", ["commit", "finish", "chunk"])
async def test_a_job_outlasts_an_outage(client: CompactionClient, name: str, effective: bool) -> None:
    outcome, store, meta = await play(client, StoreUnavailable("away"), effective=effective, **{name: 3})
    assert isinstance(outcome, Compacted)
    assert store.sent.count(name) == 4
    assert (meta.counter, meta.current, meta.leased, meta.due, meta.attempts) == (1, 1, False, False, 0)


async def test_a_full_store_is_not_waited_for(client: CompactionClient) -> None:
    outcome, store, meta = await play(client, StoreFull("full"), effective=False, commit=1)
    assert outcome == Failed(kind="StoreFull", cause="store")
    assert store.sent.count("commit") == 1
    assert (meta.counter, meta.leased, meta.due, meta.attempts) == (0, False, True, 0)


async def test_a_chunk_that_does_not_fit_holds_up_nothing(client: CompactionClient) -> None:
    outcome, store, _ = await play(client, StoreFull("full"), effective=False, save_chunk=1_000)
    assert isinstance(outcome, Compacted)
    assert store.sent.count("save_chunk") == 1


async def test_after_a_while_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, clock = [], Clock()
    monkeypatch.setattr(outlasting, "time", clock)
    monkeypatch.setattr(outlasting, "asyncio", clock)

    async def away() -> None:
        tries.append(1)
        raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await outlasting.outlasting(away, seconds=0.05)
    assert len(tries) > 1
    tries.clear()
    with pytest.raises(StoreUnavailable):
        await outlasting.outlasting(away, seconds=0)
    assert len(tries) == 1


async def test_what_will_not_pass_is_raised_at_once() -> None:
    tries = []

    async def refused() -> None:
        tries.append(1)
        raise StoreFault("no")

    with pytest.raises(StoreFault):
        await outlasting.outlasting(refused)
    assert len(tries) == 1


async def test_a_cancelled_job_does_not_wait_for_the_store(client: CompactionClient, redis: Redis) -> None:
    """A worker that is told to stop, or a job over its time, must end."""
    session = client.session("cancelled", format="openai-chat", window=12_000)
    await session.record(talk(36))
    links: Links = await client._connector.links()
    store: Any = Faulty(links.store, StoreUnavailable("away"), effective=False, finish=1_000)
    asked = asyncio.Event()

    async def hanging(_request: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    run = recipe.run(session.key, store=store, doorbell=links.doorbell, summarizer=Scripted([hanging]))
    job = asyncio.create_task(run)
    await asked.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert store.sent.count("finish") == 1
