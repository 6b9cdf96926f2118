"""Record what this release writes, for the tests of later ones: `python -m tests.skew.record_dumps NAME`.

Run it in a checkout of the release to record, with an empty store at OFFTURN_TEST_REDIS_URL, and commit
`tests/skew/dumps/NAME.json`. For a release without this file, put `tests/skew/` beside its code: the script uses the
public API and `SessionStore.claim` only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from offturn import CompactionClient, Session
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from tests.skew.keyspace import dump

DUMPS = Path(__file__).parent / "dumps"
WINDOW = 14_000


def talk(turns: int, start: int = 0) -> list[dict[str, Any]]:
    words = "The build of the parser was slow and every module of it was looked into before the release. "
    return [
        message
        for n in range(start, start + turns)
        for message in (
            {"role": "user", "content": f"Please look into module {n}, keep the port at 8443."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"call_{n}",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command":"ls"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": f"call_{n}", "content": f"module_{n}.py é 中"},
            {"role": "assistant", "content": f"Module {n}: " + words * 14},
        )
    ]


def handle(client: CompactionClient, name: str) -> Session:
    return client.session(name, format="openai-chat", window=WINDOW)


async def record(client: CompactionClient, store: SessionStore) -> None:
    model = FakeSummarizer()
    new = handle(client, "new")
    await new.record(talk(2)[:-2], ids=[f"row {i}" for i in range(6)])  # a call is open

    compacted = handle(client, "compacted")
    for start in (0, 24):
        await compacted.record(talk(24, start), ids=[f"row {4 * start + i}" for i in range(96)])
        await client.run_due(summarizer=model)
        await compacted.view()
    await compacted.record(talk(1, 48), usage={"prompt_tokens": 9_000, "completion_tokens": 10})

    moved = handle(client, "moved")
    await moved.record(talk(24))
    await client.run_due(summarizer=model)
    await moved.view()
    await moved.record(talk(2, 24))
    await moved.rewind(turns=1)
    await moved.amend(99, {"role": "assistant", "content": "Module 24: not slow at all."})

    ended = handle(client, "ended")
    await ended.record(talk(1))
    await ended.purge()

    parked = handle(client, "parked")
    await parked.record(talk(24))
    for attempt in range(7):
        await store.claim(parked.key, token=f"dead {attempt}", lease_ms=1)
        await asyncio.sleep(0.01)

    held = handle(client, "held")
    await held.record(talk(24))
    await held.request(focus="the port")
    await store.claim(held.key, token="of a worker", lease_ms=1)


async def main(name: str) -> None:
    url = os.environ["OFFTURN_TEST_REDIS_URL"]
    redis = Redis.from_url(url)
    async with CompactionClient.from_url(url, timeout=30) as client:
        await record(client, SessionStore(redis))
    lines = (
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in (await dump(redis)).items()
    )
    (DUMPS / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    await redis.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
