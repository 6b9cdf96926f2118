"""The two connections of a client, opened at the first await: the store and the queue behind the doorbell."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Literal, cast

from redis.asyncio import Redis
from redis.exceptions import TimeoutError as TimedOut

from offturn.beating import about_in_process, process_name
from offturn.bringing import Bringing
from offturn.connect import open_redis
from offturn.courier import Courier
from offturn.deadline import QUEUE_SHARE, waiting
from offturn.doorbell import Doorbell
from offturn.errors import Closed
from offturn.store.errors import StoreFault, StoreFull, StoreUnavailable
from offturn.store.sessions import SessionStore
from offturn.store.stubs import Stubs
from offturn.store.workers import Workers
from offturn.timely import CLOSED, Timely
from offturn_config.keys import SessionKey

OnOutage = Literal["degrade", "raise"]


@dataclass(frozen=True, slots=True)
class Links:
    """What every call works with; `redis` is the store's. `timeout`: seconds, for one command with its retries."""

    redis: Redis = field(repr=False)
    store: SessionStore
    doorbell: Doorbell
    timeout: float
    closing: AsyncExitStack = field(repr=False)

    async def ring(self, key: SessionKey, request_no: int) -> None:
        """Ring, if that is possible now: the session is due in the store, and every worker's sweep rings again."""
        try:
            async with waiting(self.timeout / QUEUE_SHARE):
                await self.doorbell.ring(key, request_no)
        except (TimeoutError, StoreUnavailable, StoreFull, StoreFault, Closed):
            return

    async def beat(self) -> None:
        """Say that this process compacts. Raises StoreUnavailable and other store errors."""
        await Workers(self.redis).beat(process_name(), about_in_process())

    async def close(self) -> None:
        """Close the connections; an embedded server that nobody else uses stops."""
        await self.closing.aclose()


@dataclass(slots=True)
class Connector:
    """Opens the links once. `queue` None: the store's server serves the queue too. on_outage: see `from_url`."""

    store_url: str = field(repr=False)
    queue_url: str | None = field(repr=False)
    timeout: float
    on_outage: OnOutage = "degrade"
    closed: bool = False
    courier: Courier = field(init=False)
    _links: Links | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.courier = Courier(self.timeout)

    async def links(self) -> Links:
        """Raises InvalidSetting for a URL that cannot work, and Closed; a server that is away shows at the first command."""
        if self._links is not None and not self.closed:
            return self._links
        async with self._opening:
            if self.closed:
                raise Closed(CLOSED)
            if self._links is None:
                self._links = await self._open()
            return self._links

    async def close(self) -> None:
        """Deliver what was kept, as far as one more try does it, and close what is open, for good."""
        if not self.closed:
            await self.courier.close()
        async with self._opening:
            self.closed = True
            links, self._links = self._links, None
            if links is not None:
                with suppress(TimedOut):  # of a connection whose other end reads nothing; it is dropped all the same
                    await links.close()

    async def _open(self) -> Links:
        async with AsyncExitStack() as opened:  # a queue that cannot be opened must not leave the store open
            redis = queue = await open_redis(self.store_url, timeout=self.timeout, bounded=True)
            opened.push_async_callback(redis.aclose)
            if self.queue_url:
                queue = await open_redis(self.queue_url, timeout=self.timeout)
                opened.push_async_callback(queue.aclose)
            timely = Timely(redis, self.timeout)
            opened.push_async_callback(timely.close)
            bounded = cast("Redis", timely)
            doorbell = Doorbell(bounded if queue is redis else queue)
            bring = Bringing(Stubs(bounded), doorbell.ring, self.timeout)
            return Links(bounded, SessionStore(bounded, bring=bring), doorbell, self.timeout, opened.pop_all())
