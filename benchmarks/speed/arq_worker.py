"""A process of its own: arq's worker with nothing set, and a job that says when it began.

python arq_worker.py REDIS_URL
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from arq import Worker, func
from arq.connections import RedisSettings


async def started(ctx: dict[str, Any]) -> None:
    await ctx["redis"].rpush("benchmark:started", json.dumps(time.time() * 1000))


if __name__ == "__main__":
    Worker(
        [func(started, name="started")],
        queue_name="benchmark:plain",
        redis_settings=RedisSettings.from_dsn(sys.argv[1]),
        keep_result=0,
    ).run()
