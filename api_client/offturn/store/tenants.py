"""What each tenant's sessions take and may take. The sessions' own scripts count; here it is read, and limits are set.

Bytes are those of the logs, as `session.bytes` counts them. What an expired session had counts until the walk of a worker
comes by; what a release without quotas wrote counts from this release's next write to the session on.
"""

from __future__ import annotations

from dataclasses import dataclass

from offturn.store.entries import text_of
from offturn.store.errors import mapped
from offturn.store.scripted import Scripted
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

PAGE = 500
_NUMBERS = ("bytes", "archived_sessions", "archived_bytes", "quota_sessions", "quota_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantUsage:
    """Sessions in the store and bytes of their logs; sessions in the archive and bytes of their objects. Quotas: None: none."""

    tenant: str
    sessions: int
    bytes: int
    archived_sessions: int
    archived_bytes: int
    quota_sessions: int | None
    quota_bytes: int | None


class Tenants(Scripted):
    """Every method may raise the store's errors, and InvalidSetting for a tenant's name that is none."""

    async def usage(self, tenant: str) -> TenantUsage:
        """Of one tenant, also of one that nobody knows."""
        SessionKey(tenant, "x")  # refuses a name that is none
        found = await self._command("HMGET", keys.usage(tenant, self._shard), *_NUMBERS)
        numbers = {name: int(value) for name, value in zip(_NUMBERS, found, strict=True) if value is not None}
        sessions = await self._command("HLEN", keys.sizes(tenant, self._shard))
        return TenantUsage(
            tenant=tenant,
            sessions=int(sessions),
            bytes=numbers.get("bytes", 0),
            archived_sessions=numbers.get("archived_sessions", 0),
            archived_bytes=numbers.get("archived_bytes", 0),
            quota_sessions=numbers.get("quota_sessions"),
            quota_bytes=numbers.get("quota_bytes"),
        )

    async def names(self) -> list[str]:
        """Every tenant that has had a session or a quota, sorted."""
        return sorted(map(text_of, await self._command("SMEMBERS", keys.tenants(self._shard))))

    async def limit(self, tenant: str, *, bytes: int | None = None, sessions: int | None = None) -> None:  # noqa: A002
        """Set a tenant's quotas; None: none. What is there already stays, whatever it takes."""
        SessionKey(tenant, "x")
        name = keys.usage(tenant, self._shard)
        for field, value in (("quota_bytes", bytes), ("quota_sessions", sessions)):
            if value is None:
                await self._command("HDEL", name, field)
            else:
                await self._command("HSET", name, field, value)
        await self._command("SADD", keys.tenants(self._shard), tenant)

    async def vanished(self, tenant: str, cursor: int) -> tuple[int, list[SessionKey]]:
        """Of a page of the sessions that count for a tenant those that live no more, and where the next begins, 0: nowhere."""
        after, page = await self._command("HSCAN", keys.sizes(tenant, self._shard), cursor, "COUNT", PAGE)
        found = []
        for member in page:
            try:
                found.append(SessionKey.of_member(text_of(member)))
            except (UnicodeDecodeError, InvalidSetting):
                continue
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            for key in found:
                pipe.execute_command("HGET", self._key(key, "meta"), "alive")
            living = await pipe.execute(raise_on_error=False)
        return int(after), [key for key, alive in zip(found, living, strict=True) if alive is None or alive == b"0"]

    async def forget(self, key: SessionKey) -> bool:
        """Where the session is not there any more, let it count no more."""
        names = [self._key(key, "meta"), keys.sizes(key.tenant, self._shard), keys.usage(key.tenant, self._shard)]
        return bool(await self._scripts.run("tenant_forget", names, [key.member]))
