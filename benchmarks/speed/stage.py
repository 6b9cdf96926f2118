"""What parts share: a server of their own, conversations of a given size, and where figures go."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from benchmarks.peers.hermes import DRIVER, PACKAGE, VENV
from benchmarks.peers.histories import history
from benchmarks.retention.environments import NotInstalled, python_of
from benchmarks.retention.transcripts import conversation as recording
from benchmarks.retention.transcripts import path_of
from benchmarks.speed.figures import Figure

from offturn.embedded import open_server
from offturn_engine.crossing import convert
from offturn_engine.formats import get

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"


@dataclass(slots=True)
class Run:
    """`quick`: a fifth of the rounds, and the small sizes alone."""

    quick: bool = False
    figures: list[Figure] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)
        say("  " + "  ".join(figure.cells()))

    def skip(self, part: str, why: str) -> None:
        self.skipped[part] = why
        say(f"  skipped: {why}")

    def fail(self, part: str, error: Exception) -> None:
        """Its figures so far are worth nothing."""
        self.failed.append(part)
        self.skip(part, f"it failed: {type(error).__name__}")
        self.figures = [figure for figure in self.figures if figure.part != part]

    def rounds(self, number: int) -> int:
        return max(2, number // 5) if self.quick else number


@asynccontextmanager
async def own_server() -> AsyncIterator[str]:
    """The URL of an embedded Valkey with an empty data directory, reached over a socket like any other."""
    with tempfile.TemporaryDirectory(prefix="offturn-speed-") as folder:
        server = await asyncio.to_thread(open_server, Path(folder))
        try:
            yield f"redis://127.0.0.1:{server.port}/0"
        finally:
            await asyncio.to_thread(server.close)


def conversation(messages: int, size: int, seed: int = 1) -> list[dict[str, Any]]:
    """Exactly so many messages of an agent's session, their largest texts grown until they take about `size` bytes."""
    made = history(messages, seed)[:messages]
    grows = [m for m in made if isinstance(m.get("content"), str) and len(m["content"]) > 1_000]
    missing = size - size_of(made)
    if missing > 0 and grows:
        share = missing // len(grows)
        for message in grows:
            text = message["content"]
            if text.startswith("{"):
                continue
            message["content"] = text + "\n" + (text * (share // len(text) + 1))[:share]
    return made


def recorded(file: str) -> list[dict[str, Any]] | None:
    """A recorded conversation as messages of openai-chat; None where it is not there."""
    found = recording(file)
    if found is None:
        return None
    made = convert([message.raw for message in path_of(found)], get(found.format), get("openai-chat"))
    return [dict(raw) for raw in made.messages]


def size_of(messages: list[dict[str, Any]]) -> int:
    """Bytes as JSON."""
    return sum(len(orjson.dumps(message)) for message in messages)


def batches(messages: list[Any], number: int) -> Iterator[list[Any]]:
    for low in range(0, len(messages), number):
        yield messages[low : low + number]


def hermes() -> Path:
    """The interpreter of the peer's environment, made where it is missing. Raises NotInstalled."""
    if not DRIVER.exists():
        raise NotInstalled(f"there is no {DRIVER.name} beside this checkout")
    return python_of([PACKAGE], folder=VENV)


class Child:
    """Answers a line for a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, value: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(value), file=self._process.stdin, flush=True)
        told = self._process.stdout.readline()
        if not told:
            raise ChildEnded(f"{self._process.args!r} ended with {self._process.wait()}")
        return dict(json.loads(told))


class ChildEnded(Exception):
    """Its own words are on standard error."""


@contextmanager
def child(command: Sequence[str | Path]) -> Iterator[Child]:
    """A process as long as the block; it ends when its input does."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Child(process)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
