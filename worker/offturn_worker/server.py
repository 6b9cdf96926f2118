"""What a Redis server must be for offturn, looked at once when a process starts, or when it is there to be looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ssl import SSLCertVerificationError

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from offturn.stopping import stop as stop_tasks
from offturn.store.errors import refused
from offturn_config.errors import InvalidSetting
from offturn_config.urls import redacted
from offturn_worker.outage import is_outage

LARGEST_SKEW_MS = 1000
FIRST_LOOK_SECONDS = 2.0  # somebody may sit before it
LOOK_SECONDS = 1.0  # between two looks at a server that does not answer
REMEDY = "start the server, correct the URL, or use embedded://PATH"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A client of the server that a setting names. holds_queue: arq's keys are there."""

    redis: Redis
    url: str
    setting: str
    holds_queue: bool

    async def outage(self, seconds: float) -> Exception | None:
        """Why it cannot be told within `seconds` whether it will do, something that may pass; None: it will.

        Raises InvalidSetting, with the setting, the URL without secrets and a remedy, for what no waiting helps.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.redis.ping()
                if self.holds_queue:
                    await refuse_cluster(self.redis, self.url, self.setting)
                await warn_of_settings(self.redis)
        except (RedisError, OSError) as error:
            if is_outage(error) and not _is_distrusted(error):
                return error
            raise _unreachable(error, self.url, self.setting) from None
        return None

    def tell(self, error: Exception) -> None:
        """Log what is waited for, for whoever looks at the terminal or the pod."""
        log.warning(
            "server_awaited",
            setting=self.setting,
            url=redacted(self.url),
            error=type(_cause(error)).__name__,
            remedy=REMEDY,
        )


async def outages(servers: Mapping[str, Named], seconds: float) -> dict[str, Exception]:
    """Those that are away, and why. All are looked at at once, so that it lasts `seconds` at most. Raises InvalidSetting."""
    looks = [asyncio.create_task(server.outage(seconds)) for server in servers.values()]
    try:
        found = await asyncio.gather(*looks)
    finally:
        await stop_tasks(*looks)
    return {name: error for name, error in zip(servers, found, strict=True) if error is not None}


async def arrived(servers: Mapping[str, Named], *, seconds: float, looking: Callable[[], None]) -> None:
    """Until each of them has answered. `looking` is called at every look. Raises InvalidSetting as they do."""
    looking()
    while servers := {name: servers[name] for name in await outages(servers, seconds)}:
        await asyncio.sleep(LOOK_SECONDS)
        looking()


async def refuse_cluster(redis: Redis, url: str, setting: str) -> None:
    """arq's keys share no slot, so a ring would fail for ever. Raises InvalidSetting."""
    try:
        facts: dict[str, object] = await redis.info("cluster")
    except ResponseError:  # a managed server's, or an ACL's
        return
    if facts.get("cluster_enabled"):
        raise InvalidSetting(
            f"{setting} = {redacted(url)!r}: a cluster cannot hold the queue; name a server that is none in "
            "OFFTURN_QUEUE_URL, the sessions may stay"
        )


async def warn_of_settings(redis: Redis) -> None:
    """Log what loses data or misleads: eviction, no append-only file, a clock apart from ours."""
    if (policy := await _config(redis, "maxmemory-policy")) not in (None, "noeviction"):
        log.warning("server_evicts", maxmemory_policy=policy, remedy="set maxmemory-policy noeviction")
    if await _config(redis, "appendonly") == "no":
        log.warning("server_forgets", appendonly="no", remedy="set appendonly yes")
    if abs(skew := await _skew_ms(redis)) > LARGEST_SKEW_MS:
        log.warning(
            "clock_skew", ms=skew, remedy="synchronise the clocks: logs and traces tell another time than the store"
        )


async def _skew_ms(redis: Redis) -> int:
    """How far this machine's clock is ahead of the server's; 0 where the server does not tell."""
    asked = time.time()
    try:
        seconds, microseconds = map(int, await redis.time())
    except ResponseError:
        return 0
    return apart(asked, time.time(), seconds + microseconds / 1_000_000)


def apart(asked: float, answered: float, told: float) -> int:
    """Milliseconds for which this machine's clock is ahead of a server's, at least: 0 where it told a time between question
    and answer, however long that took. All are seconds since the epoch.
    """
    return round(1000 * (max(0.0, asked - told) or min(0.0, answered - told)))


async def _config(redis: Redis, name: str) -> str | None:
    """None where a managed server does not tell."""
    try:
        values: dict[str, str] = await redis.config_get(name)
    except ResponseError:
        return None
    return values.get(name)


def _cause(error: BaseException) -> BaseException:
    """What the system said, which tells more than the client's word for it."""
    of_system: BaseException | None = error
    while of_system is not None and not isinstance(of_system, OSError):
        of_system = of_system.__context__
    return of_system or error


def _is_distrusted(error: BaseException) -> bool:
    """Is it a server whose certificate this machine does not trust?"""
    return isinstance(_cause(error), SSLCertVerificationError)


def _unreachable(error: Exception, url: str, setting: str) -> InvalidSetting:
    where = f"{setting} = {redacted(url)!r}"
    if refused(error):
        return InvalidSetting(f"{where}: the server refused the user or password")
    if _is_distrusted(error):
        return InvalidSetting(f"{where}: the server's certificate is not trusted here, or is of another name")
    return InvalidSetting(f"{where}: no answer ({type(error).__name__}); {REMEDY}")
