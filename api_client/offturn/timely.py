"""A Redis client under the deadlines of a host's calls, which does not pay for an outage once more with every call."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, AuthorizationError, ReadOnlyError

from offturn.connect import LOST
from offturn.deadline import waiting
from offturn.errors import Closed
from offturn.stopping import stop

CLOSED = "the client of this session is closed: open a new one with CompactionClient.from_url"

AWAY_SECONDS = 0.2
"""What a command may take while the server is known to be away."""

FIRST_SECONDS, LONGEST_SECONDS = 0.25, 5.0  # between two probes


class Timely:
    """The part of a Redis client that the store uses, with one deadline over a command and all its retries.

    Inside a call of a host it is what that call has left. After a command that got no answer each has a short time only,
    and one probe at a time asks in the background, with the whole time: so a server that needs longer is found again too.
    """

    def __init__(self, redis: Redis, timeout: float) -> None:
        self._redis = redis
        self._timeout = timeout
        self._closed = False
        self._away = False
        self._probe: asyncio.Task[None] | None = None

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Raises TimeoutError, which the store maps to StoreUnavailable, and Closed."""
        if self._closed:  # redis-py would connect again, for a ticket say, and nobody would close that
            raise Closed(CLOSED)
        try:
            async with waiting(min(AWAY_SECONDS, self._timeout) if self._away else self._timeout):
                reply = await self._redis.execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except Exception as error:
            if _unanswered(error):
                self._lose()
            raise
        self._away = False
        return reply

    def pipeline(self, **options: Any) -> Any:
        """As Redis.pipeline, for commands that are sent together; each reply has the whole time."""
        if self._closed:
            raise Closed(CLOSED)
        return _Pipe(self._redis.pipeline(**options), self._timeout)

    async def close(self) -> None:
        """Refuse what comes from now on."""
        self._closed = True
        if self._probe is not None:
            await stop(self._probe)

    def _lose(self) -> None:
        self._away = True
        if not self._closed and (self._probe is None or self._probe.done()):
            # In a context of its own: the call that starts it may have a deadline that is over.
            self._probe = asyncio.create_task(self._ask(), context=Context())

    async def _ask(self) -> None:
        delay = FIRST_SECONDS
        while self._away:
            try:
                async with asyncio.timeout(self._timeout):
                    await self._redis.execute_command("PING")  # type: ignore[no-untyped-call]
                self._away = False
            except Exception as error:  # noqa: BLE001 - it answers, if with a refusal; who calls hears of that
                self._away = _unanswered(error)
            if self._away:
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_SECONDS)


class _Pipe:
    def __init__(self, pipe: Any, timeout: float) -> None:
        self._pipe = pipe
        self._timeout = timeout

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return self._pipe.execute_command(*args, **options)

    async def execute(self, **options: Any) -> list[Any]:
        async with waiting(self._timeout * max(1, len(self._pipe))):
            return cast("list[Any]", await self._pipe.execute(**options))


def _unanswered(error: Exception) -> bool:
    return isinstance(error, LOST) and not isinstance(error, AuthenticationError | AuthorizationError | ReadOnlyError)
