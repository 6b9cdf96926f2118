"""Who looks at a session holds up nobody who works with it."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

import pytest

from offturn import CompactionClient, inspecting
from offturn.testing import FakeSummarizer
from tests.integration.host import turns


async def test_a_late_audit_leaves_the_turn_to_others(
    client: CompactionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go, audited = Event(), Event(), inspecting.audited

    def held(*args: Any) -> Any:
        begun.set()
        assert go.wait(100)
        return audited(*args)

    session = client.session("s", format="openai-chat", window=14_000)
    await session.record(turns("openai-chat", 22, size=1_500))
    await client.run_due(summarizer=FakeSummarizer())
    monkeypatch.setattr(inspecting, "audited", held)
    looking = asyncio.create_task(session.generations())
    try:
        assert await asyncio.to_thread(begun.wait, 30)
        async with asyncio.timeout(100):
            view = await session.view()
    finally:
        go.set()
    assert [one.number for one in await looking] == [view.generation] == [1]
