"""A LangChain agent whose history is compacted off the turn.

Run it without a key or a network: `python examples/langchain_agent.py` talks to a model server on this machine. It needs
`pip install langchain langchain-openai` beside offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from offturn import CompactionClient
from offturn.adapters.langchain import Compaction
from offturn_worker.fake_model import FakeModel

WINDOW = 16_000
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50


@tool
def notes(topic: str) -> str:
    """What is known about a topic."""
    return f"Notes on {topic}: " + "the parser reads one line after the other and keeps what it has seen. " * 60


def agent(client: CompactionClient, llm: ChatOpenAI) -> Any:
    """An agent with a checkpointer, as you have it, and one middleware more."""
    compaction = Compaction(lambda thread: client.session(f"langgraph:{thread}", format="openai-chat", window=WINDOW))
    return create_agent(
        llm,
        [notes],
        system_prompt="You answer in one paragraph.",
        middleware=[compaction],
        checkpointer=InMemorySaver(),
    )


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            chat = agent(client, ChatOpenAI(model="fake", base_url=model.openai_url, api_key=SecretStr("none")))
            for number in range(15):
                said = {"messages": [("user", f"What went wrong in run {number}?\n{LOG}")]}
                state = await chat.ainvoke(said, config={"configurable": {"thread_id": "demo"}})
                await client.run_due()  # in production: `offturn worker`, in another process
            status = await client.session("langgraph:demo", format="openai-chat").status()
            print(f"{len(state['messages'])} messages in the state, generation {status.generation} is sent")


if __name__ == "__main__":
    asyncio.run(main())
