"""The LangChain middleware: the state keeps everything, the model gets the view."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from offturn import CompactionClient, Refused, sync
from offturn.testing import FakeSummarizer
from tests.adapters.conftest import Model
from tests.conftest import TIMEOUT
from tests.integration.host import long_text

pytest.importorskip("langchain", reason="the example needs langchain")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from offturn.adapters import langchain
from offturn.adapters.originals import restored

EXAMPLE = "langchain_agent"
ALWAYS = {"gate": "always_summarise"}  # a summary where pruning would do
THREAD: Any = {"configurable": {"thread_id": "demo"}}


@pytest.fixture
async def agent(client: CompactionClient, model: Model, example: Any) -> AsyncIterator[Any]:
    llm = ChatOpenAI(model="fake", base_url=model.url, api_key=SecretStr("none"), max_retries=0)
    yield example.agent(client, llm)
    await llm.root_async_client.close()
    llm.root_client.close()


async def ask(agent: Any, text: str) -> Any:
    return (await agent.ainvoke({"messages": [("user", text)]}, config=THREAD))["messages"]


async def test_the_next_request_carries_the_view(client: CompactionClient, model: Model, agent: Any) -> None:
    for number in range(10):
        await ask(agent, f"Please look into part {number}. {long_text(800)}")
        await client.run_due(summarizer=FakeSummarizer())
    state = await ask(agent, "And now?")

    session = client.session("langgraph:demo", format="openai-chat")
    status, body = await session.status(), model.sent[-1]
    assert status.generation > 0
    assert status.messages == len(state) == 42
    assert len(json.dumps(body["messages"])) < len(json.dumps([m.content for m in state])) / 2
    assert body["messages"][0]["role"] == "system"
    assert body["messages"][0]["content"].startswith("You answer in one paragraph.")
    assert body["messages"][-1] == {"role": "user", "content": "And now?"}
    view = await session.view(generation=status.generation)
    sent, shown = ([(m["content"] or "")[:300] for m in list_] for list_ in (body["messages"][1:], view.messages[:-1]))
    assert sent == shown
    assert not [event for event in await session.events(limit=10_000) if event.kind == "undone"]


async def test_a_summary_takes_the_place_of_messages(client: CompactionClient, model: Model, agent: Any) -> None:
    await client.session("langgraph:demo", format="openai-chat", window=16_000, overrides=ALWAYS).record([])
    for number in range(10):
        await ask(agent, f"Please look into part {number}. {long_text(800)}")
        await client.run_due(summarizer=FakeSummarizer())
    await ask(agent, "And now?")
    assert len(model.sent[-1]["messages"]) < 20


async def test_usage_calibrates(client: CompactionClient, model: Model, agent: Any) -> None:
    model.server.cached_tokens = 5
    await ask(agent, "Please look into it.")
    usage = [
        dict(e.fields)
        for e in await client.session("langgraph:demo", format="openai-chat").events()
        if e.kind == "usage"
    ]
    assert len(usage) == 2
    assert all(one["input"] > 5 and one["cached"] == 5 for one in usage)


async def test_a_message_goes_out_as_the_object_it_came_in_as(
    client: CompactionClient,
) -> None:
    thought = AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes."}])
    tool = ToolMessage("text", tool_call_id="c1", artifact={"kept": True})
    call = AIMessage("", tool_calls=[{"id": "c1", "name": "notes", "args": {"topic": "x"}}])
    state: list[Any] = [HumanMessage("Is it?"), thought, HumanMessage("Look."), call, tool]
    given = langchain._Given(state)
    session = client.session("objects", format="openai-chat")
    view = await session.mirror(given.raws)
    back = restored(view.messages, given.originals, langchain._made)
    assert all(one is other for one, other in zip(back, state, strict=True))


async def test_a_request_too_long_is_sent_again_smaller(client: CompactionClient, model: Model, agent: Any) -> None:
    for number in range(4):
        await ask(agent, f"Please look into part {number}.")
    model.server.script(["too_long"])
    await ask(agent, "And the rest of it? " * 50)
    assert len(model.texts()) < len(model.texts(-2))


async def test_invoke_blocks_with_blocking_sessions(
    client: CompactionClient, valkey_url: str, model: Model, example: Any
) -> None:
    llm = ChatOpenAI(model="fake", base_url=model.url, api_key=SecretStr("none"), max_retries=0)
    blocking = sync.CompactionClient.from_url(valkey_url, timeout=TIMEOUT)
    agent = example.agent(blocking, llm)
    said = {"messages": [("user", "Please look into it.")]}
    state = await asyncio.to_thread(agent.invoke, said, config=THREAD)
    await ask(agent, "And now?")  # ainvoke with the same sessions
    assert len(state["messages"]) == 4
    session = client.session("langgraph:demo", format="openai-chat")
    assert (await session.status()).messages == 6
    await asyncio.to_thread(blocking.close)
    await llm.root_async_client.close()
    llm.root_client.close()


async def test_what_cannot_work_is_said(client: CompactionClient, model: Model, agent: Any) -> None:
    with pytest.raises(Refused, match="ainvoke"):
        agent.invoke({"messages": [("user", "Hi")]}, config=THREAD)
