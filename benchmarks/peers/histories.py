"""Histories to compare with peers: agent sessions of openai-chat messages, made from a seed alone.

Most of their tokens are tool results; some results come twice, some calls are parallel, some text is not ASCII, and a tool
is among them that nobody knows. Only `Random.random` is used, whose numbers no Python version changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, TypeVar

Raw = dict[str, Any]
Thing = TypeVar("Thing")

SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "so", "va", "pel", "dri", "on", "xi", "ber", "nau", "fe", "gol")
FOREIGN = ("größer", "naïve", "señal", "設定", "ошибка", "→")
AGAIN = 0.2  # of the files read


def history(messages: int, seed: int) -> list[Raw]:
    """A system prompt, about so many messages in whole turns, and a request that waits for its answer."""
    writer = _Writer(seed)
    made: list[Raw] = [{"role": "system", "content": writer.prose(3_000)}]
    while len(made) <= messages:
        made += writer.turn()
    return [*made, {"role": "user", "content": "And now the next module, please."}]


class _Writer:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._calls = 0
        self._read: list[str] = []

    def turn(self) -> Iterator[Raw]:
        yield {"role": "user", "content": self.prose(self._between(40, 600))}
        for _ in range(self._between(1, 6)):
            yield from self._step()
        yield {"role": "assistant", "content": self.prose(self._between(100, 900))}

    def prose(self, characters: int) -> str:
        words: list[str] = []
        left = characters
        while left > 0:
            word = "".join(self._one_of(SYLLABLES) for _ in range(self._between(1, 3)))
            if self._random.random() < 0.04:
                word = self._one_of(FOREIGN)
            words.append(word + ("\n" if self._random.random() < 0.07 else " "))
            left -= len(words[-1])
        return "".join(words)[:characters]

    def _step(self) -> Iterator[Raw]:
        calls: list[Raw] = []
        results: list[Raw] = []
        for _ in range(1 if self._random.random() < 0.7 else self._between(2, 3)):
            name, arguments, output = self._one_of(
                (self._reads, self._runs, self._searches, self._writes, self._asks)
            )()
            self._calls += 1
            known = f"call_{self._calls:05d}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls.append({"id": known, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": known, "content": output})
        words = self.prose(self._between(10, 160)) if self._random.random() < 0.8 else ""
        yield {"role": "assistant", "content": words, "tool_calls": calls}
        yield from results

    def _reads(self) -> tuple[str, Raw, str]:
        again = self._read and self._random.random() < AGAIN
        text = self._one_of(self._read) if again else self.prose(self._between(150, 7_000))
        self._read.append(text)
        return "read_file", {"path": self._path(), "offset": self._between(1, 400)}, text

    def _runs(self) -> tuple[str, Raw, str]:
        command = f"pytest {self._path()} -k '{self.prose(self._between(4, 120)).strip()}'"
        output = {"output": self.prose(self._between(50, 5_000)), "exit_code": self._between(0, 1)}
        return "terminal", {"command": command}, json.dumps(output, ensure_ascii=False)

    def _searches(self) -> tuple[str, Raw, str]:
        found = {"total_count": self._between(0, 120), "matches": self.prose(self._between(20, 3_000))}
        return "search_files", {"pattern": self._one_of(SYLLABLES), "path": "src"}, json.dumps(found)

    def _writes(self) -> tuple[str, Raw, str]:
        return "write_file", {"path": self._path(), "content": self.prose(self._between(100, 4_000))}, "written"

    def _asks(self) -> tuple[str, Raw, str]:
        return (
            "lookup_ticket",
            {"id": self._between(1, 9_999), "with": "comments"},
            self.prose(self._between(60, 1_500)),
        )

    def _path(self) -> str:
        return f"src/{self._one_of(SYLLABLES)}{self._between(0, 30)}/{self._one_of(SYLLABLES)}.py"

    def _between(self, low: int, high: int) -> int:
        return low + int(self._random.random() * (high - low + 1))

    def _one_of(self, things: Sequence[Thing]) -> Thing:
        return things[self._between(0, len(things) - 1)]
