"""A handle of one session: its turn, what it knows, and writes that take effect once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import TypeVar

from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.entries import OriginRule
from offturn.errors import StoreUnavailable
from offturn.links import Connector, Links
from offturn.recording import Unsure
from offturn.shrinking import Shrinking
from offturn.view import View
from offturn_config.keys import SessionKey

T = TypeVar("T")


class Handle:
    """What every operation of a session needs. Its calls run one after the other."""

    def __init__(
        self, key: SessionKey, config: SessionConfig, connector: Connector, origin: OriginRule, window_given: bool
    ) -> None:
        self.key = key
        self._config = config
        self._connector = connector
        self._origin = origin
        self._window_given = window_given
        self._lock = asyncio.Lock()
        self._cache: Cache | None = None
        self._last: View | None = None
        self._unsure = Unsure()
        self._shrinking = Shrinking()

    def __repr__(self) -> str:
        return f"Session({self.key.member!r})"

    @asynccontextmanager
    async def _open(self, *, fresh: bool = False) -> AsyncIterator[tuple[Links, Cache]]:
        """This handle's turn, with what it knows of the session; `fresh`: as the store has it now."""
        async with self._lock:
            links = await self._connector.links()
            if self._cache is None or self._cache.store is not links.store:
                self._cache = Cache(links.store, self.key, self._config.fmt)
            if fresh or self._cache.stale:
                await self._cache.refresh()
            yield links, self._cache

    async def _once(self, write: Callable[[str], Awaitable[T]], op: str = "") -> T:
        """Send a write under one operation id, and again after a lost reply, within the client's timeout."""
        op = op or token_hex(16)
        try:
            async with asyncio.timeout(self._connector.timeout):
                try:
                    return await write(op)
                except StoreUnavailable:
                    return await write(op)
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {self._connector.timeout} s") from None
