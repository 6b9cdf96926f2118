"""The session for the OpenAI Agents SDK, in the SDK's own runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from redis.asyncio import Redis

from offturn import CompactionClient, InvalidSetting
from offturn.testing import FakeSummarizer
from tests.adapters.conftest import Model
from tests.integration.host import long_text, stored

pytest.importorskip("agents", reason="the example needs openai-agents")

import agents
from agents.memory import Session, is_openai_responses_compaction_aware_session

from offturn.adapters.openai_agents import CompactedSession

EXAMPLE = "openai_agents_session"
ALWAYS = {"gate": "always_summarise"}  # a summary where pruning would do
USER: Any = {"role": "user", "content": "Hello."}
CALL: Any = {"type": "function_call", "call_id": "c1", "name": "notes", "arguments": "{}"}
OUTPUT: Any = {"type": "function_call_output", "call_id": "c1", "output": "noted"}
SAID: Any = {"role": "assistant", "content": "Hello to you."}


@pytest.fixture
async def bot(model: Model, example: Any) -> AsyncIterator[Any]:
    async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as llm:
        yield example.agent(llm)


@pytest.fixture
def session(client: CompactionClient, example: Any) -> CompactedSession:
    made: CompactedSession = example.session_of(client, "demo")
    return made


async def ask(bot: Any, session: CompactedSession, text: str, **config: Any) -> None:
    settings = agents.RunConfig(tracing_disabled=True, **config)
    await agents.Runner.run(bot, text, session=session, run_config=settings)


def test_it_follows_both_protocols(session: CompactedSession) -> None:
    assert isinstance(session, Session)
    assert is_openai_responses_compaction_aware_session(session)
    assert session.session_id == "agents:demo"


@pytest.mark.parametrize("overrides", [{}, ALWAYS], ids=["pruned", "summarised"])
async def test_the_next_run_starts_from_the_view(
    client: CompactionClient, model: Model, bot: Any, session: CompactedSession, overrides: dict[str, Any]
) -> None:
    own = client.session("agents:demo", format="openai-responses", window=16_000, overrides=overrides)
    await own.record([])
    for number in range(12):
        await ask(bot, session, f"Please look into part {number}. {long_text(800)}")
        await client.run_due(summarizer=FakeSummarizer())
    view = await own.view()
    await ask(bot, session, "And now?")

    status = await own.status()
    assert status.generation > 0
    assert status.messages == 12 * 4 + 2
    assert model.sent[-1]["input"] == [*view.messages, {"role": "user", "content": "And now?"}]
    assert len(json.dumps(model.sent[-1])) < 45_000  # of 65,000 characters
    assert (len(view.messages) < 40) == bool(overrides)


async def test_a_limit_takes_the_newest_of_the_view(session: CompactedSession, model: Model, bot: Any) -> None:
    assert await session.get_items() == []
    await session.add_items([USER, CALL, OUTPUT, SAID])
    assert await session.get_items(limit=2) == [OUTPUT, SAID]
    assert await session.get_items(limit=9) == [USER, CALL, OUTPUT, SAID]
    assert await session.get_items(limit=0) == []
    await ask(bot, session, "More.", session_settings=agents.memory.SessionSettings(limit=2))
    assert model.sent[-1]["input"] == [SAID, {"role": "user", "content": "More."}]  # the SDK drops the lone output


async def test_items_are_taken_back_one_by_one(session: CompactedSession, redis: Redis) -> None:
    await session.add_items([USER, CALL, OUTPUT])
    assert await session.pop_item() == OUTPUT
    assert await session.get_items() == [USER, CALL]
    await session.add_items([OUTPUT, SAID])
    assert [await session.pop_item() for _ in range(5)] == [SAID, OUTPUT, CALL, USER, None]
    assert await session.get_items() == []
    assert await stored(redis, "agents:demo") == [USER, CALL, OUTPUT, OUTPUT, SAID]


async def test_it_is_cleared_and_goes_on(session: CompactedSession) -> None:
    await session.add_items([USER])
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items([SAID])
    assert await session.get_items() == [SAID]
    await session.clear_session()
    await session.clear_session()


async def test_a_forced_compaction_is_asked_for_and_not_waited_for(
    client: CompactionClient, session: CompactedSession
) -> None:
    await session.add_items([USER])
    own = client.session("agents:demo", format="openai-responses")
    await session.run_compaction({"response_id": "resp_1", "force": False})
    assert not (await own.status()).due
    await session.run_compaction({"force": True})
    assert (await own.status()).due


def test_another_format_is_refused(client: CompactionClient) -> None:
    with pytest.raises(InvalidSetting, match="openai-responses"):
        CompactedSession(client.session("chat", format="openai-chat"))
