"""Tool groups: a message with calls and all its results, paired by occurrence because ids repeat in real data.

A result answers the newest step that waits for its id, and in that step the first such call; so a call that was given
up never takes the results of later calls that bear its id. Groups whose spans overlap (parallel calls split over
messages, results that arrive interleaved) are one unit: no cut goes through a unit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from offturn_engine.messages import Message, ThinkingPart
from offturn_engine.path import Path
from offturn_engine.turns import answers, steps

Place: TypeAlias = tuple[int, int]
"""(index in the list, index of the part)."""

Waiting: TypeAlias = dict[str, list[tuple[int, deque[Place]]]]
"""Calls without a result, by id: (step, its calls), the newest step last."""

LATE = 8
"""A result that comes this many steps after its call is late: the model went on without it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who answers whom, by index in the list given. `waiting`, `step` and `said` are where a longer list goes on from."""

    result_of: Mapping[Place, Place]  # call -> its result
    call_of: Mapping[Place, Place]  # result -> its call
    open_calls: tuple[Place, ...]  # calls without a result
    orphans: tuple[Place, ...]  # results without a call
    waiting: Waiting = field(repr=False, compare=False)
    length: int = field(repr=False, compare=False)  # messages looked at
    step: int = field(repr=False, compare=False)  # of the last message
    said: bool = field(repr=False, compare=False)  # is that the assistant's?


def pair(messages: Sequence[Message]) -> Pairs:
    """Pair calls and results in order of occurrence."""
    return Path.of(messages).carried(_paired)


def _paired(path: Path, before: Pairs | None) -> Pairs:
    known = before or Pairs({}, {}, (), (), {}, 0, 0, False)
    waiting: Waiting = {key: [(step, deque(calls)) for step, calls in queues] for key, queues in known.waiting.items()}
    result_of, call_of, orphans = dict(known.result_of), dict(known.call_of), [*known.orphans]
    step, said = known.step, known.said
    for i in range(known.length, len(path)):
        message = path[i]
        if message.role == "assistant":
            step += not said
            said = True
        else:
            said = False
        for part, result in message.results:
            queues = waiting.get(result.call_id)
            if queues is None:
                orphans.append((i, part))
                continue
            answer, calls = (i, part), queues[-1][1]
            call = calls.popleft()
            if not calls:
                queues.pop()
                if not queues:
                    del waiting[result.call_id]
            result_of[call] = answer
            call_of[answer] = call
        for part, made in message.calls:
            queues = waiting.setdefault(made.id, [])
            if not queues or queues[-1][0] != step:
                queues.append((step, deque()))
            queues[-1][1].append((i, part))
    open_calls = sorted(place for queues in waiting.values() for _, calls in queues for place in calls)
    return Pairs(result_of, call_of, tuple(open_calls), tuple(orphans), waiting, len(path), step, said)


def pending(messages: Sequence[Message]) -> tuple[Place, ...]:
    """The open calls of the last step: their results may still come."""
    waiting = pair(messages).open_calls
    return tuple(place for place in waiting if place[0] >= _last_step(messages)) if waiting else ()


def _last_step(messages: Sequence[Message]) -> int:
    """Index of the first message of the last step; 0 where there is none."""
    at = len(messages)
    while at and messages[at - 1].role != "assistant":
        at -= 1
    while at and messages[at - 1].role == "assistant":
        at -= 1
    return at


def group_is_open(messages: Sequence[Message]) -> bool:
    """Is a tool group open at the end: calls pending, and nothing but results and other replies after them?"""
    waiting = pending(messages)
    return bool(waiting) and all(m.origin in ("assistant", "tool") for m in messages[waiting[0][0] :])


def spans(messages: Sequence[Message]) -> Sequence[tuple[int, int]]:
    """Indivisible units as half-open index ranges: a lone message is a unit of one; overlapping groups are merged.

    A call still open binds nothing but its own message, except that calls of one message with one answered and one
    open stay with what was answered. A late result binds nothing either: else one that comes after a thousand
    messages would make them one unit. Reasoning that is a message of its own stays with the reply it led to.
    """
    return Path.of(messages).once(_spans)


def _spans(path: Path) -> list[tuple[int, int]]:
    last = list(range(len(path)))
    step, turn = steps(path), list(accumulate(answers(path), initial=0))
    for (call, _), (result, _) in pair(path).result_of.items():
        if result > last[call] and step[result] - step[call] < LATE and turn[result] == turn[call]:
            last[call] = result
    for i, message in enumerate(path):
        if message.role == "assistant" and not message.calls and _only_thought(message):
            last[i] = max(last[i], _reply_end(path, i))
    units: list[tuple[int, int]] = []
    start, reach = 0, -1
    for i, end in enumerate(last):
        if i > reach:
            if i:
                units.append((start, i))
            start = i
        if end > reach:
            reach = end
    if path:
        units.append((start, len(path)))
    return units


def _only_thought(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ThinkingPart) for part in message.parts)


def _reply_end(messages: Sequence[Message], index: int) -> int:
    """The last message of the reply that this one begins or goes on."""
    return next((i for i in range(index, len(messages)) if messages[i].role != "assistant"), len(messages)) - 1
