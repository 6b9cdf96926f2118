"""Turns and steps. A turn starts with a human message. Which request is still waiting for an answer?

A step is a run of assistant messages with nothing between them: one reply of the model, which some hosts record as
several messages. Text before a call in another message of the same step is commentary, not an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from offturn_engine.messages import Message, TextPart
from offturn_engine.path import Path
from offturn_engine.ranges import Ranges, contains


def steps(path: Sequence[Message]) -> Sequence[int]:
    """The number of the step each message belongs to or follows; 0 before the first one."""
    return Path.of(path).once(_steps)


def _steps(path: Path) -> list[int]:
    said = [m.role == "assistant" for m in path]
    starts = (here and not before for before, here in zip([False, *said], said, strict=False))
    return list(accumulate(map(int, starts)))


def humans(path: Sequence[Message]) -> Sequence[int]:
    """Indices of the human messages."""
    return Path.of(path).once(_humans)


def _humans(path: Path) -> list[int]:
    return [i for i, message in enumerate(path) if message.origin == "human"]


def answers(path: Sequence[Message]) -> Sequence[bool]:
    """Does the message end a turn: an assistant's visible text, in a step without calls?"""
    return Path.of(path).once(_answers)


def _answers(path: Path) -> list[bool]:
    step = steps(path)
    calling = {number for number, message in zip(step, path, strict=True) if message.calls}
    return [number not in calling and is_answer(message) for number, message in zip(step, path, strict=True)]


def last_unanswered(path: Sequence[Message]) -> int | None:
    """Index of the last human message, unless an answer follows it."""
    calling = False
    for i in range(len(path) - 1, -1, -1):
        message = path[i]
        calling = message.role == "assistant" and (calling or bool(message.calls))
        if is_answer(message) and not calling:
            return None
        if message.origin == "human":
            return i
    return None


def waiting_in(path: Sequence[Message], covered: Ranges) -> int | None:
    """Seq of the request that waits for its answer, where these ranges cover it: it is shown again after the summary."""
    asked = last_unanswered(path)
    return None if asked is None or not contains(covered, path[asked].seq) else path[asked].seq


def is_answer(message: Message) -> bool:
    """Does this message alone look like the end of a turn: an assistant's visible text without calls?"""
    return message.role == "assistant" and not message.calls and speaks(message)


def speaks(message: Message) -> bool:
    """Has it any visible text?"""
    return any(isinstance(p, TextPart) and p.text != "" and not p.text.isspace() for p in message.parts)
