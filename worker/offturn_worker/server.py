"""What a Redis server must be for offturn, looked at once when the worker starts."""

from __future__ import annotations

import time

import structlog
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, AuthorizationError, RedisError

from offturn.connect import open_redis
from offturn_config.errors import InvalidSetting
from offturn_config.urls import redacted

LARGEST_SKEW_MS = 1000

log = structlog.get_logger(__name__)


async def connect(url: str, *, seconds: float, setting: str) -> Redis:
    """A client of a server that answers. Raises InvalidSetting naming the setting, the URL without secrets, a remedy."""
    client = await open_redis(url, timeout=seconds, setting=setting)
    try:
        await client.ping()
    except BaseException as error:
        await client.aclose()
        if isinstance(error, (RedisError, OSError)):
            raise _unreachable(error, url, setting) from None
        raise
    return client


async def refuse_cluster(redis: Redis, url: str, setting: str) -> None:
    """arq's keys share no slot, so a ring would fail for ever. Raises InvalidSetting."""
    try:
        facts: dict[str, object] = await redis.info("cluster")
    except RedisError:  # a managed server's, or an ACL's
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
    try:
        seconds, microseconds = map(int, await redis.time())
    except RedisError:
        return 0
    return round((time.time() - seconds) * 1000 - microseconds / 1000)


async def _config(redis: Redis, name: str) -> str | None:
    """None where a managed server does not tell."""
    try:
        values: dict[str, str] = await redis.config_get(name)
    except RedisError:
        return None
    return values.get(name)


def _unreachable(error: Exception, url: str, setting: str) -> InvalidSetting:
    if isinstance(error, (AuthenticationError, AuthorizationError)):
        return InvalidSetting(f"{setting} = {redacted(url)!r}: the server refused the user or password")
    return InvalidSetting(
        f"{setting} = {redacted(url)!r}: no answer ({type(error).__name__}); start the server, correct the URL, "
        "or use embedded://PATH"
    )
