"""What starts a compaction by itself, by the policy's parameters, against a real store."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient, Session, Skipped, Usage
from offturn.testing import FakeSummarizer, summary_of
from offturn_config import keys
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_engine.tokens import estimate_text

WINDOW = 20_000
WORDS = "The team talks about a sentence and its colour. " * 40


def talk(turns: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        raw
        for i in range(start, start + turns)
        for raw in ({"role": "user", "content": f"Question {i}?"}, {"role": "assistant", "content": f"{i}: {WORDS}"})
    ]


class Slow(FakeSummarizer):
    """Says that it took half a minute."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        text = summary_of(request)
        return SummaryReply(
            text=text, finish="stop", model="slow", output_tokens=estimate_text(text), milliseconds=30_000
        )


async def test_without_automatic_triggers_only_requests_and_phases_count(client: CompactionClient) -> None:
    session = client.session("off", format="openai-chat", window=WINDOW, overrides={"trigger.enabled": False})
    recorded = await session.record(talk(40))

    assert recorded.requirement == "none"
    assert await client.run_due() == []
    await session.phase_done("finished")
    [outcome] = await client.run_due()
    assert not isinstance(outcome, Skipped)


async def test_a_policy_without_phases_pays_for_none(client: CompactionClient) -> None:
    session = client.session("phases", format="openai-chat", window=WINDOW, overrides={"trigger.phase": False})
    await session.record(talk(10))
    await session.phase_done("finished")

    assert await client.run_due() == [Skipped(reason="phases_off")]


async def silence_ends(redis: Redis, session: Session) -> None:
    """As if its hour were over: the store had foreseen an end that was still to come."""
    meta = session.key.key("meta")
    foreseen = int(await redis.hget(meta, "doze") or 0)  # type: ignore[misc]
    now, _ = await redis.time()
    assert await redis.zscore(keys.due(), session.key.member) == foreseen > 1000 * now
    await redis.hset(meta, "doze", "1")  # type: ignore[misc]
    await redis.zadd(keys.due(), {session.key.member: 1})


async def test_silence_above_the_floor_starts_one(client: CompactionClient, redis: Redis) -> None:
    overrides = {"trigger.idle_seconds": 3600, "trigger.idle_floor": 2_000}
    session = client.session("idle", format="openai-chat", window=WINDOW, overrides=overrides)
    await session.record(talk(8))
    small = client.session("small", format="openai-chat", window=WINDOW, overrides=overrides)
    await small.record(talk(1))
    assert not (await session.status()).due

    assert await client.run_due() == []
    await silence_ends(redis, session)
    assert len(await client.run_due()) == 1
    assert "finished" in [event.kind for event in await session.events()]
    assert await client.run_due() == []
    assert "finished" not in [event.kind for event in await small.events()]


async def test_a_message_during_a_job_begins_a_silence_that_counts(client: CompactionClient, redis: Redis) -> None:
    overrides = {"trigger.idle_seconds": 3600, "trigger.idle_floor": 1_000, "gate": "always_summarise"}
    session = client.session("meanwhile", format="openai-chat", window=WINDOW, overrides=overrides)
    await session.record(talk(20))
    await session.request()

    async def more(_: SummaryRequest) -> None:
        await session.record(talk(4, 50))

    [asked] = await client.run_due(summarizer=FakeSummarizer(on_request=more))
    assert not isinstance(asked, Skipped)
    assert not (await session.status()).due

    assert await client.run_due() == []
    await silence_ends(redis, session)
    assert len(await client.run_due(summarizer=FakeSummarizer())) == 1
    assert (await client.run_due()) == []


async def test_silence_that_ends_while_a_limit_holds_starts_one_later(client: CompactionClient, redis: Redis) -> None:
    overrides = {"trigger.idle_seconds": 3600, "trigger.idle_floor": 2_000, "trigger.minimum_interval": 900}
    session = client.session("later", format="openai-chat", window=WINDOW, overrides=overrides)
    await session.record(talk(30))
    [first] = await client.run_due()
    await session.record(talk(5, 30))
    assert await client.run_due() == []
    await silence_ends(redis, session)
    late = await client.run_due()
    await redis.hdel(session.key.key("meta"), "starts")  # type: ignore[misc]  # the interval is over
    await redis.zadd(keys.due(), {session.key.member: int(time.time() * 1000)})  # the store counts whole milliseconds
    [then] = await client.run_due()

    assert not isinstance(first, Skipped)
    assert late == [Skipped(reason="limited")]
    assert then != Skipped(reason="not_wanted")


async def test_no_more_an_hour_than_the_policy_says(client: CompactionClient) -> None:
    session = client.session("hourly", format="openai-chat", window=WINDOW, overrides={"trigger.most_per_hour": 1})
    await session.record(talk(30))
    first = await client.run_due()
    await session.record(talk(30, 30))

    assert len(first) == 1
    assert await client.run_due() == [Skipped(reason="limited")]
    await session.request()
    [asked] = await client.run_due()
    assert not isinstance(asked, Skipped)


async def test_an_interval_between_two(client: CompactionClient) -> None:
    session = client.session(
        "interval", format="openai-chat", window=WINDOW, overrides={"trigger.minimum_interval": 900}
    )
    await session.record(talk(30))
    await client.run_due()
    await session.record(talk(30, 30))

    assert await client.run_due() == [Skipped(reason="limited")]
    await session.request()
    [outcome] = await client.run_due()
    assert not isinstance(outcome, Skipped)


@pytest.mark.parametrize("tells_usage", [True, False])
async def test_a_slow_summarizer_and_fast_growth_start_earlier(client: CompactionClient, tells_usage: bool) -> None:
    levels = {}
    for learns in (False, True):
        name = f"learn-{learns}"
        session = client.session(name, format="openai-chat", window=100_000, overrides={"trigger.learn_start": learns})
        for i in range(4):
            await session.record(talk(10, 10 * i))
            await asyncio.sleep(0.01)
        await session.request()
        await client.run_due(summarizer=Slow())
        view = await session.view()
        usage = Usage(input_tokens=view.tokens) if tells_usage else None
        await session.record(talk(1, 50), usage=usage, view=view if tells_usage else None)
        meta = await (await client._connector.links()).store.meta(session.key)
        assert meta is not None
        levels[learns] = meta.soft
    assert levels[True] < levels[False]


async def test_a_view_smaller_than_the_store_takes_it_for_is_not_looked_at_again_and_again(
    client: CompactionClient, redis: Redis
) -> None:
    session = client.session("tiers", format="openai-chat", window=WINDOW * 5, policy="claude-code")
    await session.record(talk(4))
    meta = session.key.key("meta")
    soft = int(await redis.hget(meta, "soft") or 0)  # type: ignore[misc]
    await redis.hset(meta, "path_tokens", str(soft))  # type: ignore[misc]  # as a handle with another ruler records
    await session.record(talk(1, 4))

    assert await client.run_due() == [Skipped(reason="below_trigger")]
    assert await client.run_due() == []
