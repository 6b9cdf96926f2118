"""How the store and the workers are, as a host or an operator asks: `CompactionClient.health`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from offturn.store.errors import StoreFault, StoreUnavailable, mapped
from offturn.store.pausing import Pause, Pauses
from offturn.store.workers import Workers, WorkerSeen
from offturn_config import keys

UNATTENDED = (
    "the session waits to be compacted and no worker is there: start one with `offturn worker`, or call run_due() in "
    "this process"
)


def paused_warning(pause: Pause) -> str:
    """What a host is told of a session that a pause keeps workers from."""
    return f"workers leave the session alone, an operator has paused {pause.told}: `offturn resume` ends that"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Of all tenants. `reachable`: the store answered within the client's timeout; where it did not, nothing else is known.

    server: name and version, as in "valkey 8.1.4"; None where the server does not tell. workers: those that beat within
    a day and did not stop cleanly, the latest first; `WorkerSeen.here` says whether one is there now.
    due: sessions that wait for a worker now; oldest_due_s: for how many seconds the first of them has; parked: sessions
    that too many jobs died on; pauses: what an operator keeps workers from.
    """

    reachable: bool
    server: str | None = None
    workers: tuple[WorkerSeen, ...] = ()
    due: int = 0
    oldest_due_s: float = 0.0
    parked: int = 0
    pauses: tuple[Pause, ...] = ()

    @property
    def attended(self) -> bool:
        """At least one worker is there and takes jobs."""
        return any(worker.here and not worker.about.draining for worker in self.workers)


async def health(redis: Redis) -> Health:
    """Ask the store. Raises StoreFault where it refuses to answer: permissions, mostly."""
    ask: Callable[..., Awaitable[Any]] = redis.execute_command
    try:
        workers = await Workers(redis).every()
        with mapped():
            seconds, microseconds = await ask("TIME")
            now = int(seconds) * 1000 + int(microseconds) // 1000
            due = await ask("ZCOUNT", keys.due(), "-inf", now)
            first = await ask("ZRANGE", keys.due(), 0, 0, "WITHSCORES", withscores=True)
            parked = await ask("HLEN", keys.dead())
        pauses = await Pauses(redis).known()
        server = await _server(ask)
    except StoreUnavailable:
        return Health(reachable=False)
    waited = now - first[0][1] if due and first else 0
    return Health(
        reachable=True,
        server=server,
        workers=tuple(workers),
        due=due,
        oldest_due_s=waited / 1000,
        parked=parked,
        pauses=tuple(pauses),
    )


async def _server(ask: Callable[..., Awaitable[Any]]) -> str | None:
    try:
        with mapped():
            told: Mapping[str, Any] = await ask("INFO", "server")
    except StoreFault:  # a managed server's, or an ACL's
        return None
    if "valkey_version" in told:
        return f"valkey {told['valkey_version']}"
    return f"redis {told['redis_version']}" if "redis_version" in told else None
