"""A worker whose commits wait, so that a demonstration can show a job at work: `python -m offturn_worker.demo.slow_worker 1.5`."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import Any

from offturn.store.replies import CommitReply
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_worker.app import Running, run_worker
from offturn_worker.logs import configure_logging
from offturn_worker.summarizers import build


class SlowStore(SessionStore):
    """The store, with a pause before each commit."""

    def __init__(self, redis: Any, seconds: float) -> None:
        super().__init__(redis)
        self._seconds = seconds

    async def commit(self, key: SessionKey, **arguments: Any) -> CommitReply:
        await asyncio.sleep(self._seconds)
        return await super().commit(key, **arguments)


async def main(seconds: float) -> None:
    """Run until a signal; settings as for any worker. Prints a line once it takes jobs."""
    settings = load_worker_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)

    def started(running: Running) -> None:
        print(json.dumps({"worker": running.worker_id}), flush=True)  # noqa: T201 -- who started it reads that

    store = partial(SlowStore, seconds=seconds)
    await run_worker(settings, summarizer=build(settings), started=started, store=store)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
