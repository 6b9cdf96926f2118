"""How fast a session grows and how long its summaries take, from what a handle has read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from offturn.config import SessionConfig
from offturn.filling import whole
from offturn_engine.messages import Message

if TYPE_CHECKING:
    from offturn.cache import Cache

NEWEST = 200  # messages that growth is measured over


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """milliseconds: of the slowest summary kept. growth: estimated tokens a millisecond. largest: result, in tokens."""

    milliseconds: int
    growth: float
    largest: int


async def seen_in(cache: Cache, config: SessionConfig) -> Seen | None:
    """None where the policy does not learn, or where no summary and no time has been seen yet."""
    if not config.policy.trigger.learn_start:
        return None
    await whole(cache)
    milliseconds = max((record.spent.milliseconds for record in cache.generations.values()), default=0)
    newest = list(islice((m for m in reversed(cache.log) if m.at), NEWEST))
    time = newest[0].at - newest[-1].at if newest else 0
    if milliseconds <= 0 or time <= 0:
        return None
    largest = max((m.tokens for m in cache.log if m.results), default=0)
    least = config.policy.trigger.largest_result
    return Seen(milliseconds=milliseconds, growth=_tokens(newest[:-1]) / time, largest=max(largest, least))


def _tokens(messages: list[Message]) -> int:
    return sum(message.tokens for message in messages)
