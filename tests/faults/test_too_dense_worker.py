"""A session that no compaction helps, and a real worker: three are paid, then none until somebody says so."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from offturn import CompactionClient, Skipped
from offturn_worker.fake_model import FakeModel
from tests.faults.processes import PATIENCE, TIMEOUT, count, handle, settled, workers
from tests.integration.host import human, says, turns

OVERHEAD = 11_500  # tokens of system prompt and tools, of a window of 14,000: what is saved elsewhere is not enough


async def test_what_makes_no_room_is_paid_three_times_at_most(valkey_url: str, redis: Redis, tmp_path: Path) -> None:
    async with (
        FakeModel() as model,
        CompactionClient.from_url(valkey_url, timeout=TIMEOUT) as client,
        workers(valkey_url, tmp_path) as crew,
    ):
        session = handle(client, "dense")
        await session.record([human("Hello.")])
        view = await session.view()
        usage = {"prompt_tokens": OVERHEAD, "completion_tokens": 4}
        await session.record([says("Hello.")], usage=usage, view=view)
        await session.record(turns("openai-chat", 16, size=1_500))
        await crew.start(SUMMARIZER=f"openai:fake@{model.openai_url}", OPENAI_API_KEY="key")
        await settled(session)
        assert await count(session, "claimed") == 2  # the same again would end in the same way
        await session.record([human("On."), says("I go on.")])
        await settled(session)

        status = await session.status()
        assert "3 compactions in a row made no room" in status.blocked
        assert (status.requirement, status.parked) == ("hard", False)
        assert await count(session, "claimed") == 3
        paid = len(model.calls)
        assert 1 <= paid <= 3

        recorded = await session.record(turns("openai-chat", 8, start=16))
        assert status.blocked in recorded.warnings
        ticket = await session.request()
        assert await ticket.wait(PATIENCE) == Skipped(reason="blocked")
        await settled(session)
        assert (len(model.calls), await count(session, "claimed")) == (paid, 3)

        await session.unblock()
        await settled(session)
        assert await count(session, "claimed") > 3
        assert len(model.calls) > paid
