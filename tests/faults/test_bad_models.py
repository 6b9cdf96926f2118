"""Models that answer badly, called by a real worker: an end in every case, and no bad text in any view."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.config import ANY_WINDOW
from offturn_worker.fake_model import FakeModel
from offturn_worker.fake_model.behaviour import Name
from tests.faults.processes import TIMEOUT, fill, handle, settled, workers
from tests.integration.host import assert_sendable

FOR_EVER = 40
BAD = ("Error: upstream", "## Next Steps []", "Bad gateway", "<html")
HOPELESS: dict[str, int] = {
    "refusal": 1,
    "error_text": 2,
    "garbage": 2,
    "cut": 2,
    "longer": 2,
    "too_long": 8,
    "too_long_late": 8,
}
"""How a model that never does better answers, and the calls one compaction may spend on it."""


async def test_a_model_that_never_does_better_is_done_without(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        worker = await crew.start(
            SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key", SUMMARIZER_TIMEOUT="20"
        )
        for name, calls in HOPELESS.items():
            model.calls.clear()
            model._script.clear()
            model.script([name] * FOR_EVER)  # type: ignore[list-item]
            session = handle(client, name)
            await fill(session)
            await session.request()
            await settled(session)
            view = await session.view()
            assert_sendable(view)
            assert view.kind == "compacted", name
            assert not [text for text in BAD if text in json.dumps(view.messages)], name
            assert len(model.calls) <= calls, name
            assert [g.provisional for g in await session.generations()] == [True], name
        assert worker.alive


@pytest.mark.parametrize("name", ["hang", "stall", "trickle", "endless"])
async def test_a_model_that_never_ends_is_left(valkey_url: str, redis: Redis, tmp_path: Path, name: Name) -> None:
    """At the hard level one call is tried, for as long as one call may take."""
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([name] * FOR_EVER)
        session = handle(client, "s")
        await fill(session, count=34)
        assert (await session.status()).requirement == "hard"
        before = (await session.view(generation=0, window=ANY_WINDOW)).tokens
        worker = await crew.start(
            SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key", SUMMARIZER_TIMEOUT="4"
        )
        await settled(session)

        view = await session.view()
        assert_sendable(view)
        assert view.tokens < before
        assert [(g.method, g.provisional) for g in await session.generations()] == [("extractive", True)]
        assert len(model.calls) == 1
        async with asyncio.timeout(TIMEOUT):
            await model.calls[0].disconnected.wait()  # the provider's slot is free again
        assert worker.alive


@pytest.mark.parametrize("name", ["longer", "error_text", "garbage"])
async def test_a_bad_summary_of_little_changes_nothing(
    valkey_url: str, redis: Redis, tmp_path: Path, name: Name
) -> None:
    """What is asked for has hardly anything to save: no generation is better than a worse one."""
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([name] * FOR_EVER)
        session = handle(client, "s")
        await fill(session, count=5)
        before = await session.view()
        await crew.start(SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key")
        await session.request()
        await settled(session)

        after = await session.view()
        assert after.tokens <= before.tokens
        assert all(g.tokens_after < before.estimate for g in await session.generations())


@pytest.mark.parametrize("name", [429, "drop"])
async def test_what_passes_is_waited_for(valkey_url: str, redis: Redis, tmp_path: Path, name: int | str) -> None:
    """One bad answer, then good ones: the session ends with the model's summary, and each part is paid once."""
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        model.script([name])  # type: ignore[list-item]
        await crew.start(SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key")
        session = handle(client, "s")
        await fill(session)
        await session.request()
        await settled(session)
        assert [(g.method, g.provisional) for g in await session.generations()] == [("model", False)]
        assert len(model.calls) == 2
