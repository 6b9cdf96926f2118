"""The doorbell: tells a worker that a session is due, in arq's job format, without arq.

A ring wakes the workers that listen. It may be lost; the due set is the truth and every worker's sweep rings again. A ring carries names only, never
content. Format: arq 0.28, `connections.ArqRedis.enqueue_job` and `jobs.serialize_job` with a JSON serializer; beside
arq's fields `trace`, the W3C traceparent of the ring, where the host traces. arq passes over fields it does not know, so
workers of releases that know no traces do too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any

import orjson
from redis.asyncio import Redis

from offturn.store.errors import mapped
from offturn.store.scripts import Scripts
from offturn.tracing import TRACEPARENT, sent, span, traceparent
from offturn_config.keys import JOB_PREFIX, QUEUE, WAKE, SessionKey

FUNCTION = "compact_session"
"""The name of the worker's function."""

EXPIRES_MS = 7 * 24 * 3600 * 1000
"""How long a payload waits for a worker before the sweep must ring again."""

_PAYLOAD_PREFIX = "arq:job:"
_END_MS = 2**43  # in the year 2248; arq makes a date of a job's time


def dumps(value: dict[str, Any]) -> bytes:
    """A job as JSON: arq's `job_serializer`."""
    return orjson.dumps(value)


def loads(data: bytes) -> dict[str, Any]:
    """A job from JSON: arq's `job_deserializer`. Raises ValueError, also for what arq would stumble over later; arq drops
    such a job. Never runs what it reads.

    A traceparent becomes an argument of the worker's function; what is none is dropped.
    """
    value: dict[str, Any] = orjson.loads(data)
    match value:
        case {"t": tries, "f": str(), "a": list(), "k": dict(), "et": time} if _is_job(tries, time):
            trace = value.pop("trace", None)
            if isinstance(trace, str) and TRACEPARENT.match(trace):
                value["k"] = {**value["k"], "trace": trace}
            return value
    raise ValueError("no job")


def _is_job(tries: object, time: object) -> bool:
    return (tries is None or type(tries) is int) and type(time) is int and 0 <= time < _END_MS


def job_id(key: SessionKey, request_no: int) -> str:
    """`offturn:<tenant>:<percent-encoded session>:<request_no>`: one request, one id, however often it is rung."""
    return f"{JOB_PREFIX}{key.member}:{request_no}"


class Doorbell:
    """Rings on one queue. `redis` is the queue's, which may not be a cluster: arq's keys share no slot."""

    def __init__(self, redis: Redis, queue: str = QUEUE) -> None:
        self._queue = queue
        self._redis = redis
        self._scripts = Scripts(redis, {"ring": files("offturn").joinpath("ring.lua").read_text()})

    async def ring(self, key: SessionKey, request_no: int) -> bool:
        """Put the request's job in the queue, due now. False: it waits or runs already.

        Raises StoreUnavailable and other store errors.
        """
        if not traceparent():
            return await self._ring(key, request_no, "")
        with span("offturn.ring", sent(key, request_no, self._queue, "send"), kind="PRODUCER") as told:
            added = await self._ring(key, request_no, traceparent())
            told.tell({"offturn.added": added})
            return added

    async def waiting(self, requests: Sequence[tuple[SessionKey, int]]) -> list[bool]:
        """Has each of these requests a job in the queue, waiting or running? All are asked for at once."""
        if not requests:
            return []
        with mapped():
            ask: Callable[..., Awaitable[Any]] = self._redis.execute_command
            scores = await ask("ZMSCORE", self._queue, *(job_id(key, number) for key, number in requests))
        return [score is not None for score in scores]

    async def _ring(self, key: SessionKey, request_no: int, trace: str) -> bool:
        name = job_id(key, request_no)
        job: dict[str, Any] = {"t": None, "f": FUNCTION, "a": [key.tenant, key.session, request_no], "k": {}}
        head = dumps({**job, "trace": trace} if trace else job)[:-1] + b',"et":'
        keys = [self._queue, _PAYLOAD_PREFIX + name]
        return bool(await self._scripts.run("ring", keys, [name, head, str(EXPIRES_MS), WAKE]))
