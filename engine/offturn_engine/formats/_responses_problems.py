"""What the Responses API refuses in a list of items: it looks for an output of each call, and for what reasoning led to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.errors import InvalidMessage
from offturn_engine.formats._responses_parts import Places, role_of
from offturn_engine.formats.base import Problem
from offturn_engine.messages import RawMessage, ThinkingPart, ToolCallPart, ToolResultPart


def problems(messages: Sequence[RawMessage], read: Callable[[RawMessage, int], Places]) -> list[Problem]:
    """Rules: empty, message, orphan-result, unanswered-call, pending (open calls of the last reply), lone-reasoning."""
    if not messages:
        return [Problem(0, "empty", "the list has no items")]
    found: list[Problem] = []
    open_calls: list[tuple[int, str]] = []
    ended = 0  # behind the last item that is neither the reply's nor an answer to it
    thought: int | None = None
    for i, raw in enumerate(messages):
        try:
            part = read(raw, i)[0][1]
        except InvalidMessage as error:
            found.append(Problem(i, "message", f"field {error.field!r}: {error.problem}"))
            continue
        role = role_of(raw)
        if thought is not None and role != "assistant":
            found.append(_alone(thought))
        thought = None if role != "assistant" else i if isinstance(part, ThinkingPart) else None
        if isinstance(part, ToolCallPart):
            open_calls.append((i, part.id))
        elif isinstance(part, ToolResultPart):
            found += _answer(i, part, open_calls)
        elif role in ("user", "system"):
            ended = i
    if thought is not None:
        found.append(_alone(thought))
    return found + [_open(at, "pending" if at >= ended else "unanswered-call") for at, _ in open_calls]


def _alone(index: int) -> Problem:
    return Problem(index, "lone-reasoning", "a reasoning item is not followed by what it led to")


def _open(index: int, rule: str) -> Problem:
    return Problem(index, rule, "a call has no output")


def _answer(index: int, result: ToolResultPart, open_calls: list[tuple[int, str]]) -> list[Problem]:
    for place in open_calls:
        if place[1] == result.call_id:
            open_calls.remove(place)
            return []
    return [Problem(index, "orphan-result", "an output has no call before it")]
