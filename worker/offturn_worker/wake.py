"""The wake-up: a subscription to what the doorbell publishes, so that a job starts at once and not at the next look.

A message may be lost, and the subscription too: then a job waits for the next look, nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn_config.keys import WAKE

SILENCE_SECONDS = 10.0
"""After so long without a message the server is asked whether it still hears us: a dead connection says nothing."""

AGAIN_SECONDS = 1.0

log = structlog.get_logger(__name__)


class Wake:
    """Sets an event for every ring. `redis` is the queue's; `rung` is called for each that is heard."""

    def __init__(
        self, redis: Redis, silence: float = SILENCE_SECONDS, *, rung: Callable[[], None] = lambda: None
    ) -> None:
        self._redis = redis
        self._silence = silence
        self._rung = rung
        self._event = asyncio.Event()
        self._lost = False
        self.hears = False
        """Is there a subscription, as far as is known?"""

    def rouse(self) -> None:
        """Look now, not later."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Until somebody rang since the last wait, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()

    async def run(self) -> None:
        """Listen until cancelled; a lost subscription is made anew, without haste."""
        while True:
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                self.hears = False
                if not self._lost:
                    log.warning("wake_lost", error=type(error).__name__)
                self._lost = True
            await asyncio.sleep(AGAIN_SECONDS)

    async def _listen(self) -> None:
        """Until the subscription breaks, or the server does not answer."""
        async with self._redis.pubsub() as channel:
            hear: Callable[..., Awaitable[dict[str, Any] | None]] = channel.get_message
            ask: Callable[[], Awaitable[None]] = channel.ping
            await channel.subscribe(WAKE)
            asked = False
            while True:
                heard = await hear(timeout=self._silence)
                if heard is None:
                    if asked:
                        raise ConnectionError("silence")
                    await ask()
                asked = heard is None
                if heard and heard["type"] in ("subscribe", "message"):  # what was rung before the subscription, too
                    self._lost, self.hears = False, True
                    self.rouse()
                    if heard["type"] == "message":
                        self._rung()
