"""What a Redis or Valkey server says of itself, read once and within a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from redis.asyncio import Redis
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    NoPermissionError,
    RedisError,
    ResponseError,
)

from offturn.connect import open_redis
from offturn_worker.doctor.target import Target
from offturn_worker.server import apart

SECONDS = 3.0
"""For one look at a server. A frozen one costs this much, whatever is asked of it."""

CLOSE_SECONDS = 0.5

Why = Literal["absent", "unreachable", "silent", "refused", "unready"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """No look was possible; `detail` is a class or a time, never a server's text."""

    why: Why
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`info`: fields of INFO, empty where a managed server or an ACL denies it; `appendfsync` None likewise.

    `skew_ms`: how far this machine's clock is ahead, at least. `milliseconds`: of one round trip.
    """

    milliseconds: int
    skew_ms: int
    info: Mapping[str, Any]
    appendfsync: str | None

    @property
    def kind(self) -> str:
        """`valkey` or `redis`, "" where it does not tell."""
        return "valkey" if "valkey_version" in self.info else "redis" if "redis_version" in self.info else ""

    @property
    def version(self) -> str:
        return str(self.info.get(f"{self.kind}_version", ""))

    @property
    def process(self) -> str:
        """Names the running server, wherever it is reached; "" where it does not tell."""
        return str(self.info.get("run_id", ""))


@asynccontextmanager
async def opened(target: Target) -> AsyncIterator[Redis | Trouble]:
    """A client; nothing is started for it. Commands inside the block need a time limit of their own."""
    address = target.running
    if address is None:
        yield Trouble("absent", "no server runs there")
        return
    url = str(address) if target.address.scheme == "embedded" else target.url
    redis = await open_redis(url, timeout=SECONDS, setting=target.variable)
    try:
        yield redis
    finally:
        with suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await redis.aclose()


async def look(redis: Redis, target: Target) -> Server | Trouble:
    """Within `SECONDS`."""
    found = await asked(lambda: _look(redis))
    if isinstance(found, Server) and target.address.scheme == "embedded":
        folder = await asked(lambda: _config(redis, "dir"))
        if isinstance(folder, str) and Path(folder) != target.directory:
            return Trouble("absent", "another server has taken its port")
    return found if not isinstance(found, Trouble) or target.address.scheme != "embedded" else _stopped(found)


async def asked(question: Callable[[], Awaitable[Any]]) -> Any:
    """The answer, or the Trouble there was; within `SECONDS`."""
    try:
        async with asyncio.timeout(SECONDS):
            return await question()
    except TimeoutError:
        return Trouble("silent", f"no answer within {SECONDS:g} s")
    except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
        return Trouble("refused", type(error).__name__)
    except BusyLoadingError:
        return Trouble("unready", "it is loading its data")
    except (RedisError, OSError) as error:
        return Trouble("unreachable", type(error).__name__)


def _stopped(trouble: Trouble) -> Trouble:
    return Trouble("absent", "no server runs there") if trouble.why == "unreachable" else trouble


async def _look(redis: Redis) -> Server:
    await redis.ping()  # connects: the round trip measured below is one command's
    began, asked = time.monotonic(), time.time()
    seconds, microseconds = map(int, await redis.time())
    spent, answered = time.monotonic() - began, time.time()
    info = await _told(lambda: redis.execute_command("INFO"))  # type: ignore[no-untyped-call]
    return Server(
        milliseconds=round(spent * 1000),
        skew_ms=apart(asked, answered, seconds + microseconds / 1_000_000),
        info=info if isinstance(info, dict) else {},
        appendfsync=await _config(redis, "appendfsync"),
    )


async def _config(redis: Redis, name: str) -> str | None:
    values = await _told(lambda: redis.config_get(name))
    found = values.get(name) if isinstance(values, dict) else None
    return found if isinstance(found, str) else None


async def _told(question: Callable[[], Awaitable[Any]]) -> Any:
    """None where the command is denied or not known: many managed servers have no CONFIG."""
    try:
        return await question()
    except ResponseError:
        return None
