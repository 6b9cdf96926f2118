"""Which request an Idempotency-Key came with: of all processes of the service, for a day. What it did, the session knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from offturn.links import Connector
from offturn.store.errors import mapped
from offturn_config import keys

SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Once:
    """Keys are those of `Call.key`, prints those of bodies. Raises what the store raises."""

    connector: Connector

    async def said(self, tenant: str, key: str, print_: str) -> str:
        """The print of the request that came with this key first; this one's, where none did."""
        execute: Callable[..., Awaitable[Any]] = (await self.connector.links()).redis.execute_command
        name = keys.once(tenant, key)
        with mapped():
            if await execute("SET", name, print_, "NX", "EX", SECONDS):
                return print_
            found: bytes | None = await execute("GET", name)
        return print_ if found is None else found.decode()
