"""The store killed in the middle of a job and of a host's calls, and back again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from offturn import CompactionClient, timely
from offturn.errors import StoreUnavailable
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import PATIENCE, TIMEOUT, Store, compacted, fill, handle, settled, until, workers
from tests.integration.host import assert_sendable, human


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store(tmp_path / "data")
    await opened.start()
    yield opened
    await opened.stop()


async def test_hosts_are_told_and_everything_goes_on_afterwards(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, with a worker that has one slot, in use when the store goes."""
    monkeypatch.setattr(timely, "AWAY_SECONDS", TIMEOUT)  # a store that is back may need a moment
    async with (
        FakeModel(delay=0.6) as model,
        CompactionClient.from_url(store.url, timeout=TIMEOUT, on_outage="raise") as client,
        workers(store.url, tmp_path) as crew,
    ):
        settings = {"SUMMARIZER": f"openai:fake@{model.openai_url}", "OPENAI_API_KEY": "key"}
        worker = await crew.start(TIMEOUT="4", MAX_JOBS="1", **settings)
        for name in ("first", "second"):
            session = handle(client, name)
            sent = await fill(session)
            asked = len(model.calls)
            await session.request()
            await until(lambda: len(model.calls) > asked)  # noqa: B023 - awaited at once
            await store.kill()
            lost = human("said while the store was away")
            for call in (session.view, session.request, lambda: session.record([lost])):  # noqa: B023 - awaited at once
                with pytest.raises(StoreUnavailable):
                    await asyncio.wait_for(call(), PATIENCE)
            await store.start()
            await session.record([lost])  # the host's own retry
            await settled(session)
            await compacted(session)
            view = await session.view()
            assert_sendable(view)
            assert view.generation > 0
            assert list((await session.view(generation=0, window=10**9)).messages) == [*sent, lost]
        assert worker.alive
