"""A blocking bot with a database of its own, into which offturn writes each compaction back.

The bot reads its table before each call and knows nothing of compactions; `write_back` replaces the rows of a chat when
one is ready. Run it without a key or a network: `python examples/write_back.py` needs offturn with its extra `embedded`.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import threading
from typing import Any

from offturn import View
from offturn.sync import CompactionClient, Session

LOG = "12:03:44 parser: line read, 3 tokens kept, nothing dropped. " * 50


class Chats:
    """The bot's table: one list a chat. One lock, under which turns and write-backs change it."""

    def __init__(self, path: str) -> None:
        self.turn = threading.Lock()
        self._rows = sqlite3.connect(path, check_same_thread=False)
        self._rows.execute("CREATE TABLE IF NOT EXISTS chats (id TEXT PRIMARY KEY, generation INT, messages TEXT)")

    def read(self, chat: str) -> list[Any]:
        found = self._rows.execute("SELECT messages FROM chats WHERE id = ?", (chat,)).fetchone()
        return [] if found is None else list(json.loads(found[0]))

    def generation(self, chat: str) -> int:
        found = self._rows.execute("SELECT generation FROM chats WHERE id = ?", (chat,)).fetchone()
        return 0 if found is None else int(found[0])

    def write(self, chat: str, messages: list[Any], generation: int) -> None:
        with self._rows:
            row = (chat, generation, json.dumps(messages))
            self._rows.execute("INSERT OR REPLACE INTO chats VALUES (?, ?, ?)", row)

    def write_back(self, session: Session, view: View) -> None:
        """What offturn calls. Called again with the same generation it does nothing."""
        chat = session.key.session
        with self.turn:
            if self.generation(chat) != view.generation:
                taken_over = session.mirror(self.read(chat))  # with what the table has beyond the view
                self.write(chat, list(taken_over.messages), taken_over.generation)


def say(chats: Chats, session: Session, text: str) -> None:
    """One turn: `answer` stands for the call of a model with the list that the table holds."""
    chat = session.key.session
    with chats.turn:
        messages = [*chats.read(chat), {"role": "user", "content": text}]
        answer = {"role": "assistant", "content": f"{len(messages)} messages were sent."}
        chats.write(chat, [*messages, answer], chats.generation(chat))
        session.mirror([*messages, answer])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, CompactionClient.from_url(f"embedded://{folder}/store") as client:
        chats, done = Chats(f"{folder}/bot.db"), threading.Event()

        def sink(session: Session, view: View) -> None:
            chats.write_back(session, view)
            done.set()

        client.on_generation(sink)
        session = client.session("ann", format="openai-chat", window=16_000)
        for number in range(15):
            say(chats, session, f"What went wrong in run {number}?\n{LOG}")
        client.run_due()  # in production: `offturn worker`, in another process
        done.wait(30)
        say(chats, session, "And now?")
        print(f"{chats.read('ann')[-1]['content']} Generation {chats.generation('ann')} is in the table.")


if __name__ == "__main__":
    main()
