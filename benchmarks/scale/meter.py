"""What a part of the run costs: Redis commands, bytes a session takes, the processes' CPU and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """At one moment; `commands` with those inside scripts."""

    at: float
    commands: int
    memory: int

    @classmethod
    async def taken(cls, redis: Redis) -> Reading:
        stats, memory = await redis.info("stats"), await redis.info("memory")
        return cls(
            at=time.monotonic(), commands=int(stats["total_commands_processed"]), memory=int(memory["used_memory"])
        )

    def rate(self, later: Reading) -> float:
        """Commands a second between the two."""
        return (later.commands - self.commands) / (later.at - self.at)


def cpu_seconds(pids: Sequence[int]) -> float:
    """User and system time of processes, from /proc."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(found[11]) + int(found[12]) for found in fields) / _TICKS


def resident(pids: Sequence[int]) -> int:
    """Bytes of the largest of these processes."""
    return max(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE for pid in pids)
