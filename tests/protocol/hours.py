"""Time that passes for the limit of automatic compactions an hour."""

from __future__ import annotations

from typing import Any

from offturn_config import keys
from offturn_config.keys import SessionKey
from tests.protocol.facts import State

HOURLY = 4


class Hours:
    """The part of a stage that moves the clock."""

    redis: Any
    key: SessionKey
    state: State

    async def became(self, new: State, answer: str) -> str:
        raise NotImplementedError

    async def look_again(self) -> None:
        """A limited session is due in the future; here somebody looks before that."""
        await self.redis.zadd(keys.due(), {self.key.member: 2}, xx=True)  # no end of a silence

    async def on_hour(self) -> str:
        """The compactions of the hour before are over an hour old."""
        if self.state.alive:
            await self.redis.hset(self.key.key("meta"), "starts", "")
        return await self.became(self.state._replace(starts=0), "passed")
