"""A handle of one session: its turn, what it knows, and writes that take effect once."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from offturn.attachments import Attachments
from offturn.cache import Cache
from offturn.config import SessionConfig
from offturn.deadline import Turns, holding, is_over, one_call
from offturn.entries import OriginRule
from offturn.errors import Archived, StoreUnavailable
from offturn.filling import whole
from offturn.links import Connector, Links
from offturn.operations import operation_id
from offturn.outbox import Batch
from offturn.recording import Unsure
from offturn.shrinking import Shrinking
from offturn.unchanged import Kept
from offturn.view import View
from offturn_config.keys import SessionKey
from offturn_engine.formats.base import Format

T = TypeVar("T")


class Handle(ABC):
    """What every operation of a session needs. Its calls run one after the other.

    reports: its calls tell of what was refused, which is told once; not where nobody listens.
    """

    def __init__(
        self,
        key: SessionKey,
        config: SessionConfig,
        connector: Connector,
        origin: OriginRule,
        window_given: bool,
        attachments: Attachments | None = None,
        *,
        reports: bool = True,
    ) -> None:
        self.key = key
        self._config = config
        self._connector = connector
        self._origin = origin
        self._window_given = window_given
        self._attachments = attachments
        self._reports = reports
        self._lock = Turns()
        self._preparing = asyncio.Lock()  # records are made in the order of their calls
        self._outbox = connector.courier.outbox(key)
        self._cache: Cache | None = None
        self._last: View | None = None
        self._before: Kept | None = None
        self._unsure = Unsure()
        self._shrinking = Shrinking()

    @property
    def _fmt(self) -> Format:
        """How messages are read and measured: as the session has it, where that is known."""
        return self._cache.fmt if self._cache else self._config.fmt

    @property
    def format(self) -> str:
        """Of its messages: what the session has, where that is known, else what this handle was opened with."""
        return self._fmt.name

    def __repr__(self) -> str:
        return f"Session({self.key.member!r})"

    @asynccontextmanager
    async def _open(
        self, *, fresh: bool = False, before: Batch | None = None, report: bool = True, lazy: bool = False
    ) -> AsyncIterator[tuple[Links, Cache]]:
        """This handle's turn, with what it knows of the session; `fresh`: as the store has it now.

        What waits in the outbox is delivered first; of a record, `before`, what was said earlier. `report`: a host calls,
        who is told what was refused. `lazy`: of the log only what is new; the rest where it is needed. The deadline of the call starts here, after an embedded server has.
        """
        links = await self._connector.links()
        timeout = self._connector.timeout
        with one_call(timeout):
            async with holding(self._lock, timeout):
                if self._cache is None or self._cache.store is not links.store:
                    self._cache = Cache(links.store, self.key, self._fmt, self._config)
                cache = self._cache
                cache.lazy = lazy
                if cache.stale:
                    await cache.refresh()
                    fresh = False
                if self._outbox.waiting:
                    async with holding(self._outbox.lock, timeout):
                        fresh = await self._deliver(links, cache, before) or fresh
                if report and self._reports:
                    self._outbox.report()
                if fresh or cache.stale:
                    await cache.refresh()
                if not lazy:
                    await whole(cache)
                yield links, cache

    @abstractmethod
    async def _applied(self, history: Sequence[Any]) -> View:
        """What a ticket's `apply` shows of a host's list."""

    @abstractmethod
    async def _deliver(self, links: Links, cache: Cache, before: Batch | None) -> bool:
        """Record what was kept; was there anything?"""

    async def _once(self, write: Callable[[str], Awaitable[T]], op: str = "") -> T:
        """Send a write under one operation id, and again after a lost reply, within the call's deadline."""
        op = op or operation_id()
        try:
            return await write(op)
        except Archived:  # it has waited as long as it may
            raise
        except StoreUnavailable:
            if is_over():
                raise StoreUnavailable(f"the store did not answer within {self._connector.timeout} s") from None
            return await write(op)
