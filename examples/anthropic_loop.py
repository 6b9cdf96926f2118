"""An agent loop over the Anthropic SDK, in which you keep your own list: `mirror` it, and send the view.

Run it without a key or a network: `python examples/anthropic_loop.py` talks to a model server on this machine. It needs
offturn with its extra `local`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from anthropic import AsyncAnthropic

from offturn import CompactionClient, Session, is_overflow
from offturn_worker.fake_model import FakeModel

SYSTEM = "You answer in one paragraph."
LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50
NOTES: Any = {
    "name": "notes",
    "description": "What is known about a topic.",
    "input_schema": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]},
}


def notes(topic: str) -> str:
    return f"Notes on {topic}: " + "the parser reads one line after the other and keeps what it has seen. " * 60


async def turn(
    llm: AsyncAnthropic, session: Session, history: list[Any], text: str, tools: Mapping[str, Callable[..., str]]
) -> None:
    """One question, with as many tool calls as the model wants; all of it is appended to `history`."""
    history.append({"role": "user", "content": text})
    usage = None
    while True:
        answer = await ask(llm, session, history, usage)
        usage = answer.usage
        history.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": tools[block.name](**block.input)}
            for block in answer.content
            if block.type == "tool_use"
        ]
        if not results:
            await session.mirror(history, usage=usage)  # so that the answer is compacted between the turns
            return
        history.append({"role": "user", "content": results})


async def ask(llm: AsyncAnthropic, session: Session, history: list[Any], usage: Any) -> Any:
    """The model's answer to the view of this list; to a smaller one where the provider found it too long.

    usage: of the answer before.
    """
    view = await session.mirror(history, usage=usage, system=SYSTEM, tools=[NOTES])
    while True:
        try:
            return await llm.messages.create(model="fake", max_tokens=1_000, tools=[NOTES], **view.kwargs())
        except Exception as error:
            if not is_overflow(error):
                raise
            view = await session.overflow(error, sent=view)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            session, history = client.session("loop:demo", format="anthropic", window=16_000), list[Any]()
            async with AsyncAnthropic(base_url=model.url, api_key="none") as llm:
                for number in range(15):
                    await turn(llm, session, history, f"What went wrong in run {number}?\n{LOG}", {"notes": notes})
                    await client.run_due()  # in production: `offturn worker`, in another process
            view = await session.mirror(history)
            print(f"{len(history)} messages, {len(view.messages)} in generation {view.generation}")


if __name__ == "__main__":
    asyncio.run(main())
