"""What the chat completions API refuses in a list of messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.errors import InvalidMessage
from offturn_engine.formats._openai_parts import ROLES, Places
from offturn_engine.formats.base import Problem
from offturn_engine.messages import RawMessage, ToolCallPart, ToolResultPart


def problems(messages: Sequence[RawMessage], read: Callable[[RawMessage, int], Places]) -> list[Problem]:
    """Results must directly follow the message with their calls, and every call must be answered there.

    Rules: empty, message, orphan-result, unanswered-call, pending (open calls that end the list).
    """
    if not messages:
        return [Problem(0, "empty", "the list has no messages")]
    found: list[Problem] = []
    open_calls: list[tuple[int, str]] = []
    for i, raw in enumerate(messages):
        try:
            parts = [part for _, part in read(raw, i)]
        except InvalidMessage as error:
            found.append(Problem(i, "message", f"field {error.field!r}: {error.problem}"))
            continue
        if ROLES[raw["role"]] == "tool":
            found += [p for part in parts if isinstance(part, ToolResultPart) for p in _answer(i, part, open_calls)]
            continue
        found += [
            Problem(at, "unanswered-call", "a call has no result before the next message") for at, _ in open_calls
        ]
        open_calls = [(i, part.id) for part in parts if isinstance(part, ToolCallPart)]
    return found + [Problem(at, "pending", "a call at the end has no result yet") for at, _ in open_calls]


def _answer(index: int, result: ToolResultPart, open_calls: list[tuple[int, str]]) -> list[Problem]:
    for place in open_calls:
        if place[1] == result.call_id:
            open_calls.remove(place)
            return []
    return [Problem(index, "orphan-result", "a result does not follow the message with its call")]
