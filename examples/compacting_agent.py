"""An agent that compacts its own list when a stage is finished, and goes on meanwhile.

`finish_stage` hands the list over and returns; before the next turn the result is applied, with all that was said since.
There is no session to name and none to clean up. Run it without a key or a network: `python
examples/compacting_agent.py` talks to a model server on this machine. It needs offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from openai import AsyncOpenAI

from offturn import CompactionClient, Ticket
from offturn_worker.fake_model import FakeModel

LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50


class CompactingAgent:
    """Keeps one list. `window`: tokens of the model."""

    def __init__(self, client: CompactionClient, llm: AsyncOpenAI, *, window: int, system: str) -> None:
        self.messages: list[Any] = [{"role": "system", "content": system}]
        self._client = client
        self._llm = llm
        self._window = window
        self._ticket: Ticket | None = None

    async def chat(self, text: str) -> str:
        """One turn. A compaction that is done by now is applied first; one that is not is not waited for."""
        if self._ticket is not None:
            self.messages = await self._ticket.apply(self.messages)
        self.messages.append({"role": "user", "content": text})
        answer = await self._llm.chat.completions.create(model="fake", messages=self.messages)
        self.messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        return str(answer.choices[0].message.content)

    async def finish_stage(self, note: str) -> None:
        """A stage is done: what led to it may be told shorter from now on."""
        self._ticket = await self._client.compact(self.messages, format="openai-chat", window=self._window, note=note)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as llm:
                agent = CompactingAgent(client, llm, window=16_000, system="You answer in one paragraph.")
                for number in range(10):
                    await agent.chat(f"What went wrong in run {number}?\n{LOG}")
                await agent.finish_stage("All runs are looked at; the parser drops nothing.")
                before = len(agent.messages)
                await agent.chat("Which one was the slowest?")
                await client.run_due()  # in production: `offturn worker`, in another process
                await agent.chat("And the fastest?")
            print(f"{before} messages before, {len(agent.messages)} two turns later")


if __name__ == "__main__":
    asyncio.run(main())
