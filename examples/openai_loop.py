"""An agent loop over the OpenAI SDK, in which offturn keeps the list: `record` what is new, send what `view` gives.

Run it without a key or a network: `python examples/openai_loop.py` talks to a model server on this machine. It needs
offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from openai import AsyncOpenAI

from offturn import CompactionClient, Session, is_overflow
from offturn_worker.fake_model import FakeModel

SYSTEM = "You answer in one paragraph."
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50
NOTES: Any = {
    "type": "function",
    "function": {
        "name": "notes",
        "description": "What is known about a topic.",
        "parameters": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]},
    },
}


def notes(topic: str) -> str:
    return f"Notes on {topic}: " + "the parser reads one line after the other and keeps what it has seen. " * 60


async def turn(llm: AsyncOpenAI, session: Session, text: str, tools: Mapping[str, Callable[..., str]]) -> str:
    """One question, with as many tool calls as the model wants."""
    await session.record({"role": "user", "content": text})
    while True:
        answer, view = await ask(llm, session)
        message = answer.choices[0].message
        await session.record(message, usage=answer.usage, view=view)
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            found = tools[call.function.name](**json.loads(call.function.arguments))
            await session.record({"role": "tool", "tool_call_id": call.id, "content": found})


async def ask(llm: AsyncOpenAI, session: Session) -> tuple[Any, Any]:
    """The model's answer, and the view it was asked with; a smaller one where the provider found it too long."""
    view = await session.view(system=SYSTEM, tools=[NOTES])
    while True:
        try:
            return await llm.chat.completions.create(model="fake", tools=[NOTES], **view.kwargs()), view
        except Exception as error:
            if not is_overflow(error):
                raise
            view = await session.overflow(error, sent=view)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            session = client.session("loop:demo", format="openai-chat", window=16_000)
            async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as llm:
                for number in range(15):
                    await turn(llm, session, f"What went wrong in run {number}?\n{LOG}", {"notes": notes})
                    await client.run_due()  # in production: `offturn worker`, in another process
            view = await session.view()
            print(f"{(await session.status()).messages} messages, {len(view.messages)} in generation {view.generation}")


if __name__ == "__main__":
    asyncio.run(main())
