"""Tool groups: a message with calls and all its results, paired by occurrence because ids repeat in real data.

A result answers the newest step that waits for its id, and in that step the first such call; so a call that was given
up never takes the results of later calls that bear its id. Groups whose spans overlap (parallel calls split over
messages, results that arrive interleaved) are one unit: no cut goes through a unit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from offturn_engine.messages import Message, ThinkingPart
from offturn_engine.turns import answers, steps

Place: TypeAlias = tuple[int, int]
"""(index in the list, index of the part)."""

LATE = 8
"""A result that comes this many steps after its call is late: the model went on without it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who answers whom, by index in the list given."""

    result_of: dict[Place, Place]  # call -> its result
    call_of: dict[Place, Place]  # result -> its call
    open_calls: tuple[Place, ...]  # calls without a result
    orphans: tuple[Place, ...]  # results without a call


def pair(messages: Sequence[Message]) -> Pairs:
    """Pair calls and results in order of occurrence."""
    waiting: dict[str, list[tuple[int, deque[Place]]]] = defaultdict(list)  # by id: (step, its calls), newest last
    result_of: dict[Place, Place] = {}
    call_of: dict[Place, Place] = {}
    orphans: list[Place] = []
    for i, (message, step) in enumerate(zip(messages, steps(messages), strict=True)):
        for part, result in message.results:
            queues = waiting[result.call_id]
            if not queues:
                orphans.append((i, part))
                continue
            call = queues[-1][1].popleft()
            if not queues[-1][1]:
                queues.pop()
            result_of[call] = (i, part)
            call_of[i, part] = call
        for part, call_part in message.calls:
            queues = waiting[call_part.id]
            if not queues or queues[-1][0] != step:
                queues.append((step, deque()))
            queues[-1][1].append((i, part))
    open_calls = sorted(place for queues in waiting.values() for _, calls in queues for place in calls)
    return Pairs(result_of, call_of, tuple(open_calls), tuple(orphans))


def pending(messages: Sequence[Message], pairs: Pairs) -> tuple[Place, ...]:
    """The open calls of the last step: their results may still come."""
    step = steps(messages)
    return tuple(place for place in pairs.open_calls if step[place[0]] == step[-1])


def group_is_open(messages: Sequence[Message]) -> bool:
    """Is a tool group open at the end: calls pending, and nothing but results and other replies after them?"""
    waiting = pending(messages, pair(messages))
    return bool(waiting) and all(m.origin in ("assistant", "tool") for m in messages[waiting[0][0] :])


def spans(messages: Sequence[Message], pairs: Pairs | None = None) -> list[tuple[int, int]]:
    """Indivisible units as half-open index ranges: a lone message is a unit of one; overlapping groups are merged.

    A call still open binds nothing but its own message, except that calls of one message with one answered and one
    open stay with what was answered. A late result binds nothing either: else one that comes after a thousand
    messages would make them one unit. Reasoning that is a message of its own stays with the reply it led to.
    """
    pairs = pairs or pair(messages)
    last = list(range(len(messages)))
    step, turn = steps(messages), list(accumulate(answers(messages), initial=0))
    for (call, _), (result, _) in pairs.result_of.items():
        if step[result] - step[call] < LATE and turn[result] == turn[call]:
            last[call] = max(last[call], result)
    for i, message in enumerate(messages):
        if _only_thought(message):
            last[i] = max(last[i], _reply_end(messages, i))
    units: list[tuple[int, int]] = []
    start, reach = 0, -1
    for i in range(len(messages)):
        if i > reach:
            if i:
                units.append((start, i))
            start = i
        reach = max(reach, last[i])
    if messages:
        units.append((start, len(messages)))
    return units


def _only_thought(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ThinkingPart) for part in message.parts)


def _reply_end(messages: Sequence[Message], index: int) -> int:
    """The last message of the reply that this one begins or goes on."""
    return next((i for i in range(index, len(messages)) if messages[i].role != "assistant"), len(messages)) - 1
