"""A process that archives or restores a session and is killed on the way.

argv: the store, the archive, `archive` or `restore`, the session, and where it dies: a method, `before` or `after`, at which
of its calls.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from redis.asyncio import Redis

from offturn.store.archiving import ArchiveStore
from offturn_config.keys import SessionKey
from offturn_worker.archive.keeping import Keeper
from offturn_worker.archive.objects import Objects


def dying(target: Any, name: str, when: str, at: int) -> None:
    """Let the process end there."""
    inner, calls = getattr(target, name), 0

    async def method(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if when == "before" and calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await inner(*args, **options)
        if when == "after" and calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    setattr(target, name, method)


async def main(url: str, archive: str, operation: str, session: str, method: str, when: str, at: str) -> None:
    async with Redis.from_url(url) as redis:
        keeper = Keeper(ArchiveStore(redis), Objects(archive))
        owner, _, name = method.rpartition(".")
        dying(keeper.objects if owner == "objects" else keeper.store, name, when, int(at))
        await getattr(keeper, operation)(SessionKey("default", session))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
