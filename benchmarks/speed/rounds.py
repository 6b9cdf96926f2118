"""Ways to do something, measured side by side: round by round, each way once, so that a busy machine slows all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import TypeVar

Thing = TypeVar("Thing")
Samples = Mapping[str, Sequence[float]]


async def side_by_side(rounds: int, **ways: Callable[[], Awaitable[object]]) -> Samples:
    """Seconds of wall time of each way in each round; the order turns round by round. One round is not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in turned(list(ways), number):
            gc.collect(0)
            began = time.perf_counter()
            await ways[name]()
            if number:
                found[name].append(time.perf_counter() - began)
    return found


def p50(samples: Sequence[float]) -> float:
    return median(samples)


def p99(samples: Sequence[float]) -> float:
    """The largest but one of a hundred; of fewer the largest."""
    ranked = sorted(samples)
    return ranked[max(0, len(ranked) - 1 - len(ranked) // 100)]


def turned(names: list[Thing], number: int) -> list[Thing]:
    """Another one first in each round."""
    at = number % len(names)
    return names[at:] + names[:at]
