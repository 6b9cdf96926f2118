"""The doorbell: tells a worker that a session is due, in arq's job format, without arq.

A ring wakes the workers that listen. It may be lost; the due set is the truth and every worker's sweep rings again. A ring carries names only, never
content. Format: arq 0.28, `connections.ArqRedis.enqueue_job` and `jobs.serialize_job` with a JSON serializer.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson
from redis.asyncio import Redis

from offturn.store.errors import mapped
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
    """
    value: dict[str, Any] = orjson.loads(data)
    match value:
        case {"t": tries, "f": str(), "a": list(), "k": dict(), "et": time} if _is_job(tries, time):
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
        self._script = redis.register_script(files("offturn").joinpath("ring.lua").read_text())

    async def ring(self, key: SessionKey, request_no: int) -> bool:
        """Put the request's job in the queue, due now. False: it waits or runs already.

        Raises StoreUnavailable and other store errors.
        """
        name = job_id(key, request_no)
        args = [key.tenant, key.session, request_no]
        head = dumps({"t": None, "f": FUNCTION, "a": args, "k": {}})[:-1] + b',"et":'
        with mapped():
            added = await self._script(keys=[self._queue, _PAYLOAD_PREFIX + name], args=[name, head, EXPIRES_MS, WAKE])
        return bool(added)
