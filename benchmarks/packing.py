"""What packing saves and costs: the recorded transcripts through a real store, by format.

    python benchmarks/packing.py [FOLDER OF TRANSCRIPTS] [--repeat N]

Each conversation is recorded turn by turn, compacted once without a model, and packed. `packed`: what the covered
messages take then, of what they took. `written`: what the append-only file grew by for everything (messages, state,
generation, packs), for each byte of the messages as JSON; `without`: before packing. `first view`: of a new process,
before and after packing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from redis.asyncio import Redis

from offturn import CompactionClient, OffturnError
from offturn.embedded import open_server
from offturn.packing import pack_covered
from offturn.store.sessions import SessionStore
from offturn_engine.files import Conversation, UnreadableFile, read

SHARED = Path(__file__).resolve().parents[2] / "shared" / "transcripts"
CONVERSATIONS = 6  # of one file at most
BATCH = 4  # messages of one record
LEAST = 40_000  # bytes of messages: smaller ones are not compacted
WINDOW = 16_000
ANY = 10**9


@dataclass(slots=True)
class Sums:
    """Of one format."""

    conversations: int = 0
    messages: int = 0
    raw: int = 0
    covered: int = 0
    stored: int = 0
    without: int = 0
    written: int = 0
    before: float = 0.0
    after: float = 0.0

    def row(self, name: str) -> str:
        sizes = f"{self.conversations:>5} {self.messages:>9,} {self.raw / 1e6:>7.2f} MB"
        share = f"{100 * self.stored / max(1, self.covered):>6.1f} %"
        grown = f"{self.without / max(1, self.raw):>8.2f} {self.written / max(1, self.raw):>8.2f}"
        return f"{name:<18}{sizes} {share} {grown} {1000 * self.before:>9.0f} {1000 * self.after:>9.0f} ms"


def conversations(folder: Path) -> Iterator[Conversation]:
    for file in sorted(folder.iterdir()):
        try:
            found = read(file.read_bytes(), format=None)[:CONVERSATIONS]
        except (UnreadableFile, OffturnError):
            continue
        yield from (one for one in found if size_of(one) >= LEAST)


def size_of(conversation: Conversation) -> int:
    return sum(len(json.dumps(m, ensure_ascii=False).encode("utf-8", "surrogatepass")) for m in conversation.messages)


async def one(client: CompactionClient, redis: Any, conversation: Conversation, sums: Sums, repeat: int) -> None:
    def opened() -> Any:
        return client.session("s", format=conversation.format, window=WINDOW)

    async def first_view() -> float:
        best = float("inf")
        for _ in range(repeat):
            start = time.perf_counter()
            await opened().view(generation=0, window=ANY)
            best = min(best, time.perf_counter() - start)
        return best

    async def file_size() -> int:
        return int((await redis.info("persistence"))["aof_current_size"])

    await redis.flushall()
    start, session = await file_size(), opened()
    for low in range(0, len(conversation.messages), BATCH):
        await session.record(conversation.messages[low : low + BATCH])
    await session.request()
    await client.run_due()
    before, without = await first_view(), await file_size()
    done = await pack_covered(SessionStore(redis), session.key, before_ms=2**50)
    if not done.bytes:
        return
    sums.conversations += 1
    sums.messages += len(conversation.messages)
    sums.raw += size_of(conversation)
    sums.covered += done.bytes
    sums.stored += done.stored
    sums.without += without - start
    sums.written += await file_size() - start
    sums.before += before
    sums.after += await first_view()


async def main(folder: Path, repeat: int) -> None:
    by_format: dict[str, Sums] = defaultdict(Sums)
    with TemporaryDirectory() as place:
        server = open_server(Path(place))
        try:
            url = f"redis://127.0.0.1:{server.port}/0"
            async with CompactionClient.from_url(url, timeout=60) as client, Redis.from_url(url) as redis:
                await redis.config_set("auto-aof-rewrite-percentage", 0)
                for conversation in conversations(folder):
                    await one(client, redis, conversation, by_format[conversation.format], repeat)
        finally:
            server.close()
    every = Sums()
    print("format             convs  messages        raw  packed  without  written   first view: before, after")
    for name, sums in sorted(by_format.items()):
        for field in Sums.__dataclass_fields__:
            setattr(every, field, getattr(every, field) + getattr(sums, field))
        print(sums.row(name))
    print(every.row("all"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    asyncio.run(main(given.folder, given.repeat))
