"""A model gets back what its view has left out, in one round trip, over the SDKs; also in a host that blocks."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from offturn import Compacted, CompactionClient, Pruned
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from tests.adapters.conftest import Model, load
from tests.integration.host import calls, human, result

WINDOW = 16_000
LINES = "compiled without a warning\n" * 75
PHRASE = '"build 12" symbols'


def built(fmt: str, number: int) -> list[Any]:
    """A build whose telling line stands in the middle, where no stub has it."""
    text = f"build {number}: 212 files\n{LINES}parser.o has {1000 + number} symbols\n{LINES}done"
    return [human(f"Build {number}."), calls(fmt, f"b{number}"), result(fmt, f"b{number}", text)]


async def test_openai_by_handle_and_by_words(client: CompactionClient, model: Model) -> None:
    example = load("recalling_agent")
    session = client.session("recall", format="openai-chat", window=WINDOW)
    for number in range(20):
        await session.record(built("openai-chat", number))
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[-1], Compacted | Pruned)
    assert "1012 symbols" not in json.dumps((await session.view()).messages)

    model.tool = 1
    async with AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0) as llm:
        for arguments in ({"query": PHRASE}, {"handle": "m38"}):
            model.arguments = arguments
            assert await example.turn(llm, session, "Please look that up.", 0)
            assert "1012 symbols" in model.sent[-1]["messages"][-1]["content"]
            assert [p for p in get("openai-chat").problems(model.sent[-1]["messages"]) if p.rule != "pending"] == []
        model.arguments = {"handle": "m9999"}
        assert await example.turn(llm, session, "Please look again.", 0)
    assert "the session has" in model.sent[-1]["messages"][-1]["content"]
    assert all(hit.seq < 60 for hit in await session.search(PHRASE))  # not what the tool gave back


async def test_anthropic(client: CompactionClient, model: Model) -> None:
    session = client.session("recall", format="anthropic", window=WINDOW)
    for number in range(20):
        await session.record(built("anthropic", number))
    assert isinstance((await client.run_due(summarizer=FakeSummarizer()))[-1], Compacted | Pruned)
    await session.record(human("Please look that up."))
    tool, model.arguments = session.recall_tool(), {"query": PHRASE}
    async with AsyncAnthropic(base_url=model.anthropic_url, api_key="none", max_retries=0) as llm:
        while True:
            view = await session.view(tools=[tool.definition])
            made = view.kwargs()
            answer = await llm.messages.create(model="fake", max_tokens=500, tools=[tool.definition], **made)
            await session.record(answer)
            called = [block for block in answer.content if block.type == "tool_use"]
            if not called:
                break
            await session.record({"role": "user", "content": [await tool.run(block) for block in called]})
    assert "1012 symbols" in json.dumps(model.sent[-1]["messages"][-1])


async def test_a_host_that_blocks(model: Model, valkey_url: str) -> None:
    blocking = importlib.import_module("offturn.sync").CompactionClient

    def run() -> str:
        with (
            blocking.from_url(valkey_url, timeout=20.0, tenant="recalling") as client,
            OpenAI(base_url=model.url, api_key="none", max_retries=0) as llm,
        ):
            session = client.session("blocking", format="openai-responses", window=WINDOW)
            for number in range(20):
                said, called, told = built("openai-chat", number)
                function = called["tool_calls"][0]["function"]
                session.record([said, {"type": "function_call", "call_id": f"b{number}", **function}])
                session.record({"type": "function_call_output", "call_id": f"b{number}", "output": told["content"]})
            assert client.run_due(summarizer=FakeSummarizer())
            session.record(human("Please look that up."))
            tool, told = session.recall_tool(), ""
            answer = llm.responses.create(model="fake", tools=[tool.definition], **session.view().kwargs())
            session.record(answer.output)
            [called] = [item for item in answer.output if item.type == "function_call"]
            told = tool.run(called)
            session.record(told)
            assert any(hit.handle == "m38" for hit in session.search(PHRASE))
            session.purge()
            return str(told["output"])

    model.arguments = {"query": PHRASE}
    assert "1012 symbols" in await asyncio.to_thread(run)


pytestmark = pytest.mark.timeout(600)
