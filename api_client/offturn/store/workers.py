"""Which workers are there: each says so every few seconds, and what it runs. Nothing here decides about a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Any, Literal

from redis.asyncio import Redis

from offturn.store.entries import dumps, loads, text_of
from offturn.store.errors import mapped
from offturn.store.scripts import Scripts
from offturn_config import keys

VERSION = 1
FORGOTTEN_MS = 24 * 3600 * 1000

Kind = Literal["worker", "in-process"]

COUNTS_MS: Mapping[Kind, int] = {"worker": 15_000, "in-process": 3600 * 1000}
"""How long after a beat nobody misses a worker. A worker beats every 5 s; a bot that calls `run_due` does so when it
likes, but at least once an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a worker says of itself. `policies`: each preset's hash; `summarizers`: names as in the setting, no secrets.

    `max_jobs`: jobs at a time; `draining`: it was asked to stop and takes no more.
    """

    kind: Kind = "worker"
    version: str = ""
    queue: str = ""
    max_jobs: int = 1
    policies: Mapping[str, str] = field(default_factory=dict)
    summarizers: tuple[str, ...] = ()
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """A worker's last beat. `at`: ms of Redis TIME; `age_ms`: how long ago that is; a clean stop leaves none.

    `about` is what it said; of a later release's, what this one can read.
    """

    id: str
    at: int
    age_ms: int
    about: About

    @property
    def here(self) -> bool:
        """It was there lately, as far as its kind has promised."""
        return self.age_ms < COUNTS_MS.get(self.about.kind, COUNTS_MS["worker"])


class Workers:
    """The workers of one store. Every method may raise StoreUnavailable, StoreFull and StoreFault."""

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        text = (files("offturn.store") / "lua" / "beat.lua").read_text(encoding="utf-8")
        self._scripts = Scripts(redis, {"beat": text})
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._keys = (keys.workers(shard), keys.seen(shard))

    async def beat(self, worker_id: str, about: About) -> None:
        """The worker is there, and so says the store for `COUNTS_MS`."""
        await self._tell(worker_id, dumps({"v": VERSION, **asdict(about)}), COUNTS_MS[about.kind])

    async def leave(self, worker_id: str) -> None:
        """The worker has stopped: it is not listed any more."""
        await self._tell(worker_id, b"", 0)

    async def every(self) -> list[WorkerSeen]:
        """All that beat within a day and did not leave, the latest first."""
        with mapped():
            found: Mapping[bytes, bytes] = await self._execute("HGETALL", self._keys[0])
            seconds, microseconds = await self._execute("TIME")
        now = int(seconds) * 1000 + int(microseconds) // 1000
        seen = [one for name, item in found.items() if (one := _read(name, item, now))]
        return sorted((one for one in seen if one.age_ms < FORGOTTEN_MS), key=lambda one: (one.age_ms, one.id))

    async def _tell(self, worker_id: str, facts: bytes, counts_ms: int) -> None:
        args = (worker_id, facts, str(counts_ms), str(FORGOTTEN_MS))
        await self._scripts.run("beat", self._keys, args)


def _read(name: bytes, item: bytes, now: int) -> WorkerSeen | None:
    """None for what no release of a worker has written."""
    try:
        worker_id, fields = text_of(name), loads(item)
        known = {name: fields[name] for name in About.__dataclass_fields__ if name in fields}
        known["summarizers"] = tuple(known.get("summarizers", ()))
        at = int(fields["at"])
    except (ValueError, TypeError, KeyError):
        return None
    return WorkerSeen(id=worker_id, at=at, age_ms=max(0, now - at), about=About(**known))
