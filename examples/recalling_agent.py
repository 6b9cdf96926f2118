"""An agent that reads again by itself what its view has left out: one more tool, whose calls offturn answers.

Run it without a key or a network: `python examples/recalling_agent.py` talks to a model server on this machine. It needs
offturn with its extra `local`. That server calls no tools, so the last lines make the call that a model would.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from typing import Any

from openai import AsyncOpenAI

from offturn import CompactionClient, Session
from offturn_worker.fake_model import FakeModel

SYSTEM = "You answer in one paragraph. Where something was left out, offturn_recall reads it again."
BUILD: Any = {"type": "function", "function": {"name": "build", "description": "Builds all.", "parameters": {"type": "object"}}}  # fmt: skip


def build(number: int) -> str:
    compiled = "compiled without a warning\n" * 75
    return f"build {number}: 212 files\n{compiled}parser.o has {1000 + number} symbols\n{compiled}done"


async def turn(llm: AsyncOpenAI, session: Session, text: str, number: int) -> str:
    """One question, with as many tool calls as the model wants."""
    recall = session.recall_tool()
    tools = [BUILD, recall.definition]
    await session.record({"role": "user", "content": text})
    while True:
        view = await session.view(system=SYSTEM, tools=tools)
        answer = await llm.chat.completions.create(model="fake", tools=tools, **view.kwargs())
        message = answer.choices[0].message
        await session.record(message, usage=answer.usage, view=view)
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            if call.function.name == recall.name:
                told = await recall.run(call)
            else:
                told = {"role": "tool", "tool_call_id": call.id, "content": build(number)}
            await session.record(told)


def called(name: str, number: int, **arguments: Any) -> dict[str, Any]:
    """A call as a model makes it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with FakeModel() as model, CompactionClient.from_url(f"embedded://{folder}") as client:
            session = client.session("recall:demo", format="openai-chat", window=16_000)
            async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as llm:
                for number in range(20):
                    await turn(llm, session, f"Build number {number}, please.", number)
                    call = {"role": "assistant", "content": None, "tool_calls": [called("build", number)]}
                    await session.record(
                        [call, {"role": "tool", "tool_call_id": f"call_{number}", "content": build(number)}]
                    )
                    await client.run_due()  # in production: `offturn worker`, in another process
            view = json.dumps((await session.view()).messages)
            recall = session.recall_tool(characters=5_000)
            told = await recall.run(called(recall.name, 99, query='"build 12" symbols'))
            print(f"in the view: {'1012 symbols' in view}, given back: {'1012 symbols' in told['content']}")


if __name__ == "__main__":
    asyncio.run(main())
