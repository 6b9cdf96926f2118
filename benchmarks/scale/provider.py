"""A provider as slow as a real one, and the account of what it was asked: every answered call is a paid call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import mean
from typing import Any

import orjson

from offturn_worker.fake_model.server import Call, FakeModel

FIRST_TOKEN_SECONDS = 2.0
TOKENS_PER_SECOND = 25.0
"""Of a small hosted model: a summary of some 300 tokens takes 14 s."""


def slow_provider(first_token: float = FIRST_TOKEN_SECONDS, pace: float = TOKENS_PER_SECOND) -> FakeModel:
    """The project's model server with the latency of a real one."""
    return FakeModel(delay=first_token, tokens_per_second=pace, keep_bodies=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Answered calls, those of them whose prompt had been answered before, those the client cut off; seconds of each answer
    in the order of asking.
    """

    twice: int
    cut: int
    answers: list[float]

    @property
    def paid(self) -> int:
        return len(self.answers)

    @property
    def latency(self) -> float:
        """Seconds of an answer in the mean; 0 where there was none."""
        return mean(self.answers or [0.0])


@dataclass(slots=True)
class Billing:
    """What one part of the run is billed."""

    calls: list[Call] = field(default_factory=list)

    def total(self) -> Bill:
        paid = [call for call in self.calls if not call.disconnected.is_set()]
        prompts = Counter(_digest(call.body) for call in paid)
        return Bill(
            twice=sum(count - 1 for count in prompts.values()),
            cut=len(self.calls) - len(paid),
            answers=[call.seconds for call in paid],
        )


@contextmanager
def billed(provider: FakeModel) -> Iterator[Billing]:
    """Collects the calls of the block. Ask for the total when no call is under way."""
    provider.calls.clear()
    yield Billing(provider.calls)


def _digest(body: Any) -> bytes:
    return sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).digest()
