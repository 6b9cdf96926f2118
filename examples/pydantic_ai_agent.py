"""A pydantic-ai agent whose history is compacted off the turn.

Run it without a key or a network: `python examples/pydantic_ai_agent.py` talks to a model server on this machine. It
needs `pip install 'pydantic-ai-slim[openai]'` beside offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import tempfile

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from offturn import CompactionClient, Session
from offturn.adapters.pydantic_ai import Compaction
from offturn_worker.fake_model import FakeModel

WINDOW = 16_000
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50


def agent(client: CompactionClient, llm: AsyncOpenAI) -> Agent:
    """An agent as you have it, with one capability more."""

    def opened(conversation: str) -> Session:
        return client.session(f"bot:{conversation}", format="openai-chat", window=WINDOW)

    made = Agent(
        OpenAIChatModel("fake", provider=OpenAIProvider(openai_client=llm)),
        instructions="You answer in one paragraph.",
        capabilities=[Compaction(opened)],
    )

    @made.tool_plain
    def notes(topic: str) -> str:
        """What is known about a topic."""
        return f"Notes on {topic}: " + "the parser reads one line after the other and keeps what it has seen. " * 60

    return made


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as llm:
                bot, history = agent(client, llm), list[ModelMessage]()
                for number in range(15):
                    question = f"What went wrong in run {number}?\n{LOG}"
                    result = await bot.run(question, message_history=history, conversation_id="demo")
                    history = result.all_messages()
                    await client.run_due()  # in production: `offturn worker`, in another process
            status = await client.session("bot:demo", format="openai-chat").status()
            print(f"{status.messages} messages, generation {status.generation}, {len(history)} messages in the history")


if __name__ == "__main__":
    asyncio.run(main())
