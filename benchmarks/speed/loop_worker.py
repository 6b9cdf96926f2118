"""A process of its own: a worker as `offturn worker` runs it, with a tick on its loop. At its end it prints, as JSON, by how
many seconds each tick came late.

python -m benchmarks.speed.loop_worker
"""

from __future__ import annotations

import asyncio
import gc
import json

gc.disable()  # as the command line imports

from benchmarks.speed.loop import watched  # noqa: E402

from offturn_config.settings import load_worker_settings  # noqa: E402
from offturn_worker.app import run_worker  # noqa: E402
from offturn_worker.logs import configure_logging  # noqa: E402
from offturn_worker.process import alone  # noqa: E402
from offturn_worker.summarizers import build_for_worker  # noqa: E402

gc.freeze()
gc.enable()


async def _worked() -> None:
    settings = load_worker_settings()
    configure_logging(level="error", style="json")
    async with watched() as late:
        await run_worker(settings, summarizer=build_for_worker(settings))
    print(json.dumps(late))


if __name__ == "__main__":
    asyncio.run(alone(_worked()))
