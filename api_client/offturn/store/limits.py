"""What all workers share so as not to ask too much: the breakers and rates of providers, the running jobs of tenants.

Each script has keys of its own, all in the shard's slot; none touches a session but for when it is due. Every method may
raise the store's errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import dumps, loads, text_of
from offturn.store.errors import mapped
from offturn.store.scripts import Scripts
from offturn_config import keys
from offturn_config.keys import SessionKey

NAMES = ("route_enter", "route_leave", "tenant_enter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Ask; tell `route_leave` what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shut:
    """The entry's breaker is open for so long, because of trouble of this kind; `permanent`: until somebody repairs it."""

    wait_ms: int
    reason: str
    permanent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OverRate:
    """The account's requests or tokens of this minute are used up."""

    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """`opened` or `closed`: the breaker, by this call; `wait_ms`: how long the entry is not asked."""

    opened: bool
    closed: bool
    wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTrouble:
    """An entry of a route that failed lately. `open`: not asked before `until`; times are ms of Redis TIME.

    `entry`: `<provider>:<model>#<which address and key>`; `reason`: a kind of `provider_errors`; `since`: when it opened;
    `permanent`: a wrong key or name, a spent budget: it stays so until somebody repairs it.
    """

    entry: str
    open: bool
    reason: str
    permanent: bool
    failures: int
    since: int
    until: int


@cache
def _texts() -> Mapping[str, str]:
    folder = files("offturn.store") / "lua"
    return {name: (folder / f"{name}.lua").read_text(encoding="utf-8") for name in NAMES}


class SharedLimits:
    """`redis` must return bytes; the caller closes it."""

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._shard = shard
        self._scripts = Scripts(redis, _texts())

    async def route_enter(
        self,
        entry: str,
        *,
        account: str,
        token: str,
        tokens: int = 0,
        requests_a_minute: int = 0,
        tokens_a_minute: int = 0,
        probe_ms: int,
    ) -> Entered | Shut | OverRate:
        """May this entry be asked? Requests and tokens are counted by `account`. `token`: random, new for every call; `probe_ms`: the longest a probe may take."""
        args = {
            "entry": entry,
            "account": account,
            "token": token,
            "tokens": tokens,
            "requests_a_minute": requests_a_minute,
            "tokens_a_minute": tokens_a_minute,
            "probe_ms": probe_ms,
        }
        both = [keys.routes(self._shard), keys.rates(self._shard)]
        reply = loads(await self._scripts.run("route_enter", both, [dumps(args)]))
        match reply.pop("kind"):
            case "shut":
                return Shut(**reply)
            case "limited":
                return OverRate(**reply)
        return Entered()

    async def route_leave(
        self,
        entry: str,
        *,
        token: str,
        trouble: str | None,
        permanent: bool = False,
        failures: int,
        pause_ms: int,
        longest_ms: int,
        retry_after_ms: int = 0,
    ) -> Left:
        """Tell what came of a call: `trouble` is its kind, None for any answer.

        After so many `failures` in a row, at once where they are permanent or the provider said when to come back, the
        entry is not asked for `pause_ms`, or what the provider said; each probe that fails doubles the pause.
        """
        args = {
            "entry": entry,
            "token": token,
            "permanent": permanent,
            "failures": failures,
            "pause_ms": pause_ms,
            "longest_ms": longest_ms,
            "retry_after_ms": retry_after_ms,
            **({} if trouble is None else {"trouble": trouble}),
        }
        reply = loads(await self._scripts.run("route_leave", [keys.routes(self._shard)], [dumps(args)]))
        kind = reply["kind"]
        return Left(opened=kind == "opened", closed=kind == "closed", wait_ms=reply.get("wait_ms", 0))

    async def routes(self) -> list[RouteTrouble]:
        """Entries that failed lately, sorted by name; those that answered last are not kept, what is none is passed."""
        with mapped():
            found = await self._execute("HGETALL", keys.routes(self._shard))
        return [one for entry, value in sorted(found.items()) if (one := _trouble(entry, value))]

    async def tenant_enter(self, key: SessionKey, *, token: str, places: int, lease_ms: int, delay_ms: int) -> bool:
        """Take one of the tenant's places, or keep it; False: all are taken, and the session is due later."""
        both = [keys.inflight(key.tenant, self._shard), keys.due(self._shard)]
        args = [token, key.member, str(places), str(lease_ms), str(delay_ms)]
        return bool(await self._scripts.run("tenant_enter", both, args))

    async def tenant_leave(self, key: SessionKey, *, token: str) -> None:
        """Give the place back."""
        with mapped():
            await self._execute("ZREM", keys.inflight(key.tenant, self._shard), token)


def _trouble(entry: bytes, value: bytes) -> RouteTrouble | None:
    try:
        fields = loads(value)
        return RouteTrouble(
            entry=text_of(entry),
            open=fields["open"],
            reason=fields.get("reason", ""),
            permanent=fields.get("permanent", False),
            failures=fields["failures"],
            since=fields["since"],
            until=fields["until"],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
