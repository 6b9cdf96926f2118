"""Pauses: workers begin nothing of a paused tenant, or of any, until somebody resumes or the pause ends.

Nothing of a session changes: it stays due, hosts go on recording, and no attempt is counted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import loads, text_of
from offturn.store.errors import StoreFault, mapped
from offturn.store.scripts import Scripts
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

EVERY_TENANT = "*"
LONGEST_REASON = 200  # characters
LONGEST_SECONDS = 366 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """`tenant` None: of all. `at`, `until`: ms of Redis TIME; `until` None: until somebody resumes. `reason`: the
    operator's words, or "".
    """

    tenant: str | None
    at: int
    until: int | None
    reason: str

    def holds(self, tenant: str) -> bool:
        """Does it keep workers from this tenant's sessions?"""
        return self.tenant in (None, tenant)

    @property
    def told(self) -> str:
        """For people: `all tenants until 2026-11-30T22:00:00+00:00 (provider is down)`."""
        who = "all tenants" if self.tenant is None else f"tenant {self.tenant}"
        end = "somebody resumes"
        if self.until is not None:
            end = datetime.fromtimestamp(self.until / 1000, UTC).isoformat(timespec="seconds")
        return f"{who} until {end}" + (f" ({self.reason})" if self.reason else "")


class Pauses:
    """The pauses of one store. Every method may raise StoreUnavailable, StoreFull and StoreFault."""

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        self._scripts = Scripts(redis, {"pause": _script()})
        # One by one: a host's commands have its call's deadline, a pipeline has not.
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._key = keys.paused(shard)

    async def begin(self, tenant: str | None, *, seconds: float | None = None, reason: str = "") -> Pause:
        """Pause a tenant (None: all); a pause of the same is replaced. seconds: None: until `end`. Raises InvalidSetting."""
        field, ms = _field(tenant), _ms(seconds)
        if len(reason) > LONGEST_REASON:
            raise InvalidSetting(f"reason of {len(reason)} characters: use at most {LONGEST_REASON}")
        return _pause(field, await self._scripts.run("pause", [self._key], [field, reason, str(ms)]))

    async def end(self, tenant: str | None) -> bool:
        """Resume; False: it was not paused. A pause of all tenants is not ended by that of one, nor the other way round."""
        return bool(await self._scripts.run("pause", [self._key], [_field(tenant)]))

    async def every(self) -> list[Pause]:
        """Those that hold now, that of all tenants first. Nothing is written, and where nothing is paused one command asked."""
        with mapped():
            found = await self._execute("HGETALL", self._key)
            seconds, microseconds = await self._execute("TIME") if found else (0, 0)
        now = int(seconds) * 1000 + int(microseconds) // 1000
        pauses = [_pause(text_of(field), value) for field, value in found.items()]
        live = (pause for pause in pauses if pause.until is None or pause.until > now)
        return sorted(live, key=lambda pause: pause.tenant or "")

    async def known(self) -> list[Pause]:
        """The same for a host; nothing where its user of the server may not look."""
        try:
            return await self.every()
        except StoreFault:
            return []


def held(pauses: Iterable[Pause], tenant: str) -> Pause | None:
    """The pause that keeps workers from this tenant's sessions."""
    return next((pause for pause in pauses if pause.holds(tenant)), None)


@cache
def _script() -> str:
    return (files("offturn.store") / "lua" / "pause.lua").read_text(encoding="utf-8")


def _field(tenant: str | None) -> str:
    return EVERY_TENANT if tenant is None else SessionKey(tenant, "x").tenant


def _ms(seconds: float | None) -> int:
    if seconds is None:
        return 0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidSetting(f"a pause of {seconds:g} seconds: use more than 0 and at most a year")
    return max(1, round(seconds * 1000))


def _pause(field: str, value: bytes) -> Pause:
    """What cannot be read is a later release's, and holds."""
    tenant = None if field == EVERY_TENANT else field
    try:
        facts = loads(value)
        until = facts.get("until")
        return Pause(
            tenant=tenant,
            at=int(facts["at"]),
            until=None if until is None else int(until),
            reason=str(facts.get("reason", "")),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return Pause(tenant=tenant, at=0, until=None, reason="")
