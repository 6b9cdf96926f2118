"""Every file of ../shared/transcripts, read and compacted with every policy without a model; what it came to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from offturn.summarizer import EXTRACTIVE
from offturn_config.presets import load, names
from offturn_engine.files import Conversation, UnreadableFile
from offturn_engine.formats import get, parse_all
from offturn_worker.cli.reading import conversations_of
from offturn_worker.offline import Result, compact_conversation
from tests.formats.judge import of_reading, of_result

SHARED = Path(__file__).resolve().parents[3] / "shared" / "transcripts"


@dataclass(slots=True)
class Found:
    """One file. before: tokens by each policy's own ruler; after: what it leaves. refused: why it holds no conversation."""

    file: str
    reader: str = ""
    formats: list[str] = field(default_factory=list)
    conversations: int = 0
    messages: int = 0
    human: int = 0
    calls: int = 0
    results: int = 0
    told: int = 0
    generations: int = 0
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    refused: str = ""


def files() -> list[Path]:
    """The transcripts, by name; none where they are not beside this checkout."""
    return sorted(path for path in SHARED.glob("*.json*") if path.name != "MANIFEST.json")


def run() -> Iterator[Found]:
    """One file after the other."""
    for path in files():
        found = Found(path.name)
        try:
            conversations = conversations_of(path, None)
        except UnreadableFile as error:
            found.refused = str(error)
            conversations = []
        for number, conversation in enumerate(conversations):
            _count(found, conversation)
            found.violations += [f"conversation {number}: {told}" for told in of_reading(conversation)]
            for policy in names():
                _compact(found, number, conversation, policy)
        yield found


def _count(found: Found, conversation: Conversation) -> None:
    path = parse_all(get(conversation.format), conversation.messages, conversation.origins)
    found.reader = conversation.source_format
    found.formats = sorted({*found.formats, conversation.format})
    found.conversations += 1
    found.messages += len(path)
    found.human += sum(m.origin == "human" for m in path)
    found.calls += sum(len(m.calls) for m in path)
    found.results += sum(len(m.results) for m in path)
    found.told += len(conversation.earlier)


def _compact(found: Found, number: int, conversation: Conversation, policy: str) -> None:
    result = asyncio.run(compact_conversation(conversation, load(policy), None, EXTRACTIVE))
    found.before[policy] += result.tokens_before
    found.after[policy] += result.tokens_after
    found.outcomes.setdefault(policy, Counter())[_outcome(result)] += 1
    if policy == names()[0]:
        found.generations += len(result.read.generations)
    found.violations += [f"conversation {number}, {policy}: {told}" for told in of_result(result, conversation)]


def _outcome(result: Result) -> str:
    return result.reason if result.outcome == "skipped" else result.outcome
