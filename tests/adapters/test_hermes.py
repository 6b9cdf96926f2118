"""Hermes Agent itself, with our engine in it: it goes on while a worker compacts, and its next request is shorter."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from offturn import Compacted, CompactionClient
from offturn.testing import FakeSummarizer
from tests.adapters.conftest import EXAMPLES, Model

ROOT = EXAMPLES.parent
PYTHON = Path(os.environ.get("OFFTURN_TEST_HERMES", ROOT / ".venv-hermes" / "bin" / "python"))
TURNS = 17

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="Hermes Agent has an environment of its own: make hermes"),
    pytest.mark.timeout(400),
]


class Agent:
    """A process of Hermes, one turn after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    async def turns(self) -> AsyncIterator[dict[str, Any]]:
        """What it says after each turn; it waits until the next is asked for."""
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        async for line in self.process.stdout:
            if not line.startswith(b"{"):
                self.said += line.decode()
                continue
            yield json.loads(line)
            self.process.stdin.write(b"\n")
            await self.process.stdin.drain()


async def start(model: Model, valkey_url: str, home: Path, turns: int = TURNS) -> Agent:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *(str(PYTHON), str(EXAMPLES / "hermes_agent.py"), model.url, str(turns)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, "OFFTURN_STORE_URL": valkey_url, "OFFTURN_TIMEOUT": "20"},
    )
    return Agent(process)


async def test_hermes_goes_on_with_the_view(
    client: CompactionClient, model: Model, valkey_url: str, tmp_path: Path
) -> None:
    agent = await start(model, valkey_url, tmp_path)
    outcomes, told = list[Any](), list[dict[str, Any]]()
    async for turn in agent.turns():
        told.append(turn)
        outcomes += await client.run_due(summarizer=FakeSummarizer())
    assert agent.process.stderr is not None
    errors = (await agent.process.stderr.read()).decode()
    assert (await agent.process.wait(), errors) == (0, "")

    assert {turn["engine"] for turn in told} == {"offturn"}
    assert len(told) == TURNS
    assert any(isinstance(outcome, Compacted) for outcome in outcomes)
    assert 1 <= told[-1]["count"] <= 2
    assert "aborted" not in agent.said
    sizes = [len(model.texts(number)) for number in range(len(model.sent))]
    adopted = next(i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1])
    assert "[Summary of messages" in model.texts(adopted)
    assert all("[Summary of messages" in model.texts(number) for number in range(adopted, len(sizes)))
    roles = [message["role"] for message in model.sent[-1]["messages"]]
    assert not any(one == other == "user" for one, other in pairwise(roles))
    session = client.session("hermes:demo", format="openai-chat")
    assert not [event for event in await session.events() if event.kind == "undone"]
    assert (await session.status()).messages > 2 * adopted - 2
