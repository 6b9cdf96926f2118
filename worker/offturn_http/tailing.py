"""What happens to sessions, as it happens: one blocking read of the store for all streams that clients follow.

A follower that is slower than its session reads what it missed from the store again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import RedisError

from offturn import Session
from offturn.inspecting import Event
from offturn.links import Connector
from offturn.stopping import stop
from offturn.store.entries import text_of
from offturn.store.sessions import event_of
from offturn_config.errors import OffturnError

BLOCK_MS = 100  # a new stream waits so long until it is read with the others; shorter than `timely.AWAY_SECONDS`
PAUSE_SECONDS = 0.05  # between two reads, so that what comes at once is read at once
AGAIN_SECONDS = 1.0  # after a read that failed
PAGE = 1_000
WAITING = 256  # events that a follower may leave unread


@dataclass(slots=True, eq=False)
class _Follower:
    events: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(WAITING))
    missed: bool = False

    def tell(self, event: Event) -> None:
        try:
            self.events.put_nowait(event)
        except asyncio.QueueFull:
            self.missed = True


@dataclass(slots=True)
class _Stream:
    position: str
    followers: set[_Follower] = field(default_factory=set)


@dataclass(slots=True)
class Tail:
    """Of one process."""

    connector: Connector
    _streams: dict[str, _Stream] = field(default_factory=dict)
    _reading: asyncio.Task[None] | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open(self) -> int:
        """Streams that are followed now."""
        return sum(len(stream.followers) for stream in self._streams.values())

    @property
    def closing(self) -> bool:
        """The process goes: streams end."""
        return self._closing.is_set()

    async def follow(self, session: Session, after: str | None, seconds: float) -> AsyncGenerator[Event | None]:
        """Events after this id, oldest first, for as long as the process serves; None after so many seconds without one.

        Raises what `Session.events` raises.
        """
        name, follower = session.key.key("events"), _Follower()
        await self._join(name, follower)
        try:
            while not self._closing.is_set():
                follower.missed = False
                self._start()
                while page := await session.events(after, limit=PAGE):
                    for event in page:
                        yield event
                    after = page[-1].id
                while not follower.missed and not self._closing.is_set():
                    found = await self._next(follower, seconds)
                    if found is None:
                        yield None
                        break  # a look now and then finds what a read that failed for good has missed
                    if _number(found.id) > _number(after):
                        yield found
                        after = found.id
        finally:
            self._leave(name, follower)

    async def close(self) -> None:
        """End all streams: their clients come back to another process, with the id of the last event."""
        self._closing.set()
        if self._reading is not None:
            await stop(self._reading)

    async def _next(self, follower: _Follower, seconds: float) -> Event | None:
        getting = asyncio.ensure_future(follower.events.get())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((getting, closing), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() else None
        finally:
            getting.cancel()
            closing.cancel()

    async def _join(self, name: str, follower: _Follower) -> None:
        """From here on nothing is missed: what was before is read by the follower itself."""
        if name not in self._streams:
            execute: Callable[..., Awaitable[Any]] = (await self.connector.links()).redis.execute_command
            newest = await execute("XREVRANGE", name, "+", "-", "COUNT", 1)
            self._streams.setdefault(name, _Stream(text_of(newest[0][0]) if newest else "0-0"))
        self._streams[name].followers.add(follower)

    def _start(self) -> None:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())

    def _leave(self, name: str, follower: _Follower) -> None:
        stream = self._streams.get(name)
        if stream is not None:
            stream.followers.discard(follower)
            if not stream.followers:
                del self._streams[name]

    async def _read(self) -> None:
        while self._streams and not self._closing.is_set():
            try:
                await self._read_once()
                await asyncio.sleep(PAUSE_SECONDS)
            except (OffturnError, RedisError, OSError, TimeoutError):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _read_once(self) -> None:
        execute: Callable[..., Awaitable[Any]] = (await self.connector.links()).redis.execute_command
        names = list(self._streams)
        places = [self._streams[name].position for name in names]
        block = min(BLOCK_MS, max(1, int(500 * self.connector.timeout)))  # else it would pass for an outage
        found: Any = await execute("XREAD", "COUNT", PAGE, "BLOCK", block, "STREAMS", *names, *places)
        for raw_name, entries in found or ():
            stream = self._streams.get(text_of(raw_name))
            if stream is None:
                continue
            for number, fields in entries:
                stream.position = text_of(number)
                if (event := event_of(stream.position, fields)) is not None:
                    for follower in stream.followers:
                        follower.tell(event)


def _number(id: str | None) -> tuple[int, int]:  # noqa: A002 -- as events call it
    if id is None:
        return (0, 0)
    at, _, n = id.partition("-")
    return int(at), int(n or 0)
