"""The other end of a child's lines: read commands, say things."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

LIMIT = 16 * 1024 * 1024


def say(**message: Any) -> None:
    """One line to the driver, whole even where the process is killed next."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def commands() -> AsyncIterator[dict[str, Any]]:
    """The driver's lines, until it is gone."""
    reader = asyncio.StreamReader(limit=LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)
