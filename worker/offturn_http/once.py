"""Which request an Idempotency-Key came with: of all processes of the service, for a day, of an API key's newest. What it
did, the session knows: one that is forgotten here is not done a second time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from offturn.links import Connector
from offturn.store.errors import mapped
from offturn.store.scripts import Scripts
from offturn_config import keys

SECONDS = 24 * 3600
MOST = 100_000
"""Of one API key: those of the last 16 minutes at the most requests that a key may make as it comes, 30 MB of the store."""

TEXT = files("offturn_http").joinpath("once.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Once:
    """Keys are those of `Call.key`, prints those of bodies. Raises what the store raises."""

    connector: Connector
    most: int = MOST

    async def said(self, tenant: str, api_key: str, key: str, print_: str) -> str:
        """The print of the request that came with this key first; this one's, where none did. api_key: whose it counts as."""
        redis = (await self.connector.links()).redis
        names = [keys.once(tenant, key), keys.once_order(tenant, api_key)]
        args = [print_, str(SECONDS), str(self.most), key]
        said, *oldest = await Scripts(redis, {"once": TEXT}).run("once", names, args)
        execute: Callable[..., Awaitable[Any]] = redis.execute_command
        with mapped():
            for name in oldest:
                await execute("UNLINK", keys.once(tenant, name.decode()))
        return str(said.decode())
