"""Agent loops over the SDKs themselves: offturn keeps the list, or the host does."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from offturn import Compacted, CompactionClient, Pruned
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from tests.adapters.conftest import Model, load
from tests.integration.host import long_text, texts

TURNS = 10


def question(number: int) -> str:
    return f"Please look into part {number}. {long_text(800)}"


def carries(sent: Any, shown: Any) -> bool:
    """Does a request hold what the view shows? Roles, and the beginning of what is said."""

    def seen(messages: Any) -> list[Any]:
        return [(m["role"], texts([m.get("content") or ""])[:200]) for m in messages]

    return seen(sent) == seen(shown)


async def test_openai_record_and_view(client: CompactionClient, model: Model) -> None:
    example = load("openai_loop")
    session = client.session("loop", format="openai-chat", window=16_000)
    outcomes: list[Any] = []
    async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as llm:
        for number in range(TURNS):
            await example.turn(llm, session, question(number), {"notes": example.notes})
            outcomes += await client.run_due(summarizer=FakeSummarizer())
        model.server.script(["too_long"])
        assert await example.turn(llm, session, "And now?", {"notes": example.notes})

    assert any(isinstance(outcome, Compacted | Pruned) for outcome in outcomes)
    assert len(model.texts(-1)) < len(model.texts(-2)) < 45_000
    body = model.sent[-1]["messages"]
    assert body[0] == {"role": "system", "content": example.SYSTEM}
    assert carries(body[1:], (await session.view()).messages[:-1])
    assert [p for p in get("openai-chat").problems(body) if p.rule != "pending"] == []
    assert (await session.status()).messages == 4 * TURNS + 2


async def test_anthropic_mirror(client: CompactionClient, model: Model) -> None:
    example = load("anthropic_loop")
    session, mine = client.session("loop", format="anthropic", window=16_000), list[Any]()
    outcomes: list[Any] = []
    async with AsyncAnthropic(base_url=model.anthropic_url, api_key="none", max_retries=0) as llm:
        for number in range(TURNS):
            await example.turn(llm, session, mine, question(number), {"notes": example.notes})
            outcomes += await client.run_due(summarizer=FakeSummarizer())
        model.server.script(["too_long"])
        await example.turn(llm, session, mine, "And now?", {"notes": example.notes})

    assert any(isinstance(outcome, Compacted | Pruned) for outcome in outcomes)
    assert len(mine) == 4 * TURNS + 2
    assert len(model.texts(-1)) < len(model.texts(-2)) < 45_000
    assert model.sent[-1]["system"] == example.SYSTEM
    assert carries(model.sent[-1]["messages"], (await session.view()).messages[:-1])
    assert (await session.status()).messages == len(mine)


async def test_a_finished_stage_is_applied_before_the_next_turn(client: CompactionClient, model: Model) -> None:
    example = load("compacting_agent")
    async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as llm:
        agent = example.CompactingAgent(client, llm, window=16_000, system="Be brief.")
        for number in range(TURNS):
            await agent.chat(question(number) + example.LOG)
        await agent.finish_stage("The parts are looked into.")
        await agent.chat("While it is compacted?")
        assert len(model.sent[-1]["messages"]) == 2 * TURNS + 2
        [outcome] = await client.run_due(summarizer=FakeSummarizer())
        await agent.chat("And afterwards?")

    assert isinstance(outcome, Compacted)
    body = model.sent[-1]["messages"]
    assert body[0] == {"role": "system", "content": "Be brief."}
    assert len(body) < TURNS
    assert [m["content"] for m in body if m["role"] == "user"][-2:] == ["While it is compacted?", "And afterwards?"]
    assert agent.messages[:-1] == body
    assert all(f"part {number}." in texts(body) for number in range(TURNS))


def test_compactions_are_written_back(tmp_path: Any, valkey_url: str) -> None:
    example = load("write_back")
    blocking = importlib.import_module("offturn.sync").CompactionClient
    with blocking.from_url(valkey_url, timeout=20.0, tenant="write-back") as client:
        chats = example.Chats(str(tmp_path / "bot.db"))
        session = client.session("ann", format="openai-chat", window=16_000)
        for number in range(TURNS):
            example.say(chats, session, question(number) + example.LOG)
        client.run_due(summarizer=FakeSummarizer())
        again = client.session("ann", format="openai-chat")
        example.say(chats, session, "While it is on its way.")
        view = again.view()
        chats.write_back(again, view)
        chats.write_back(again, view)  # a repetition
        example.say(chats, session, "And now?")

        assert chats.generation("ann") == view.generation == 1
        assert len(chats.read("ann")) < 2 * TURNS
        assert texts(chats.read("ann")).count("While it is on its way.") == 1
        assert session.mirror(chats.read("ann")).warnings == ()
        assert session.status().messages == 2 * TURNS + 4
        session.purge()


pytestmark = pytest.mark.timeout(600)
