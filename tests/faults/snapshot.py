"""A store that can go back to what it was."""

from __future__ import annotations

from redis.asyncio import Redis


class Snapshot:
    """The store as it was: what a failover goes back to."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._values: dict[bytes, bytes] = {}

    async def take(self) -> Snapshot:
        names: list[bytes] = []
        while True:
            async with self._redis.pipeline() as together:
                together.keys()
                for name in names:
                    together.dump(name)
                found, *values = await together.execute()
            if sorted(found) == names:
                self._values = dict(zip(names, values, strict=True))
                return self
            names = sorted(found)

    async def restore(self) -> None:
        async with self._redis.pipeline() as together:
            together.flushall()
            for name, value in self._values.items():
                together.restore(name, 0, value)
            await together.execute()
