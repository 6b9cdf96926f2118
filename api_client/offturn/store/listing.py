"""The due set as an operator sees it: every entry, also what is running or not due yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from offturn.store.entries import text_of
from offturn.store.errors import mapped
from offturn.store.scripted import Scripted
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DueEntry:
    """A session of the due set. `at`: its score, ms of Redis TIME; `due_in_ms`: from the time of reading, below 0: since."""

    key: SessionKey
    at: int
    due_in_ms: int
    leased: bool


class Listing(Scripted):
    """The part of the store that tells what the due set holds."""

    async def listed(self, tenant: str | None = None) -> AsyncIterator[DueEntry]:
        """Sessions of a tenant (None: of all), those due longest first; what moves meanwhile may be told twice or missed."""
        start = 0
        while True:
            args = ("-inf", "+inf", "WITHSCORES", "LIMIT", start, PAGE)
            page = await self._command("ZRANGEBYSCORE", keys.due(self._shard), *args, withscores=True)
            named = [(key, max(0, int(score))) for member, score in page if (key := _named(member, tenant))]
            with mapped():
                pipe = self._redis.pipeline(transaction=False)
                pipe.execute_command("TIME")
                for key, _ in named:
                    pipe.execute_command("HGET", self._key(key, "meta"), "leased_until")
                (seconds, microseconds), *leases = await pipe.execute()
            now = int(seconds) * 1000 + int(microseconds) // 1000
            for (key, at), lease in zip(named, leases, strict=True):
                yield DueEntry(key=key, at=at, due_in_ms=at - now, leased=int(lease or 0) > now)
            start += len(page)
            if len(page) < PAGE:
                return


def _named(member: bytes, tenant: str | None) -> SessionKey | None:
    try:
        key = SessionKey.of_member(text_of(member))
    except (UnicodeDecodeError, InvalidSetting):
        return None
    return key if tenant in (None, key.tenant) else None
