"""Models that answer badly, called by a real worker: an end in every case, and no bad text in any view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import TIMEOUT, fill, handle, settled, workers
from tests.integration.host import assert_sendable

FOR_EVER = 40
BAD = ("Error: upstream", "## Next Steps []", "Bad gateway", "<html")
HOPELESS: dict[str, int] = {"refusal": 1, "error_text": 2, "garbage": 2, "cut": 2, "too_long": 8, "too_long_late": 8}
"""How a model that never does better answers, and the calls one compaction may spend on it."""


async def test_a_model_that_never_does_better_is_done_without(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        worker = await crew.start(
            SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key", SUMMARIZER_TIMEOUT="2"
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
