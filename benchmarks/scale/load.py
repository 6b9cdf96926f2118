"""Sessions that each need one compaction by the model, hosts that go on writing meanwhile, and what must hold at the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapreplace
from typing import Any

import orjson

from offturn import CompactionClient, Session
from offturn.config import ANY_WINDOW

WINDOW = 24_000
MESSAGES = 60
SENTENCE = (
    "the worker reads a range of the log and plans which messages are covered before it asks a model for prose "
    "about what was decided and why a test had failed when the queue was empty and a lease ran out"
)
WORDS = SENTENCE.split()


@dataclass(slots=True)
class Backlog:
    """`sent`: what each session's host has recorded, in order."""

    client: CompactionClient
    seed: int
    sessions: list[Session] = field(default_factory=list)
    sent: list[list[dict[str, Any]]] = field(default_factory=list)

    async def add(self, number: int) -> None:
        """So many sessions more, each with a request: their jobs wait in the queue."""
        for _ in range(number):
            place = len(self.sessions)
            session = self.client.session(
                f"scale:{self.seed}:{place}",
                format="openai-chat",
                window=WINDOW,
                overrides={"gate": "always_summarise"},
            )
            messages = conversation(random.Random(f"{self.seed}:{place}"), MESSAGES)
            await session.record(messages)
            await session.request()
            self.sessions.append(session)
            self.sent.append(messages)

    async def go_on(self, every: float, ended: asyncio.Event) -> None:
        """A host that says something in one session after the other, every so many seconds, until that is set. It sees each
        record through: of one that is cancelled nobody knows whether it was recorded.
        """
        rng = random.Random(self.seed)
        while not ended.is_set():
            await asyncio.sleep(every)
            place = rng.randrange(len(self.sessions))
            more = conversation(rng, 2)
            await self.sessions[place].record(more)
            self.sent[place] += more

    @property
    def size(self) -> int:
        """Bytes of all messages as JSON."""
        return sum(len(orjson.dumps(message)) for sent in self.sent for message in sent)

    async def spans(self) -> list[tuple[int, int]]:
        """When the first job of each session was claimed, and when it committed, in ms of the server's clock."""
        found = []
        for session in self.sessions:
            at: dict[str, int] = {}
            for event in await session.events():
                at.setdefault(event.kind, event.at)
            found.append((at["claimed"], at["committed"]))
        return found

    async def without(self) -> int:
        """Sessions that have no generation by the model."""
        found = [await session.generations() for session in self.sessions]
        return sum(not any(one.method == "model" for one in generations) for generations in found)

    async def lost(self) -> int:
        """Messages that were recorded and are not in the raw transcript as they were."""
        missing = 0
        for session, sent in zip(self.sessions, self.sent, strict=True):
            raw = (await session.view(generation=0, window=ANY_WINDOW)).messages
            missing += sum(a != b for a, b in zip(sent, raw, strict=False)) + abs(len(sent) - len(raw))
        return missing


def conversation(rng: random.Random, number: int) -> list[dict[str, Any]]:
    """Short questions and long answers, some 200 tokens each: nothing can be pruned, so the model is needed."""
    said: Sequence[tuple[str, int]] = (("user", 15), ("assistant", 300))
    return [
        {"role": role, "content": " ".join(rng.choices(WORDS, k=length))}
        for role, length in (said[i % 2] for i in range(number))
    ]


def whole(spans: Sequence[tuple[int, int]]) -> float:
    """Jobs a second from the first claim to the last commit."""
    return len(spans) / (max(ended for _, ended in spans) - min(began for began, _ in spans)) * 1000


def steady(spans: Sequence[tuple[int, int]]) -> float:
    """Jobs a second while jobs were waiting: from the first claim to the last one, jobs of its edges counted by their part."""
    first, last = min(began for began, _ in spans), max(began for began, _ in spans)
    done = sum((min(ended, last) - began) / (ended - began) for began, ended in spans)
    return done / (last - first) * 1000


def lossless(answers: Sequence[float], slots: int) -> float:
    """Seconds that so many slots take for these answers, asked one after the other, if nothing else takes time."""
    ends = [0.0] * slots
    for seconds in answers:
        heapreplace(ends, ends[0] + seconds)
    return max(ends)
