"""What the messages API refuses in a list of messages. It merges neighbours of one role before it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.formats._anthropic_parts import Places
from offturn_engine.formats._runs import Run, answers, runs_of
from offturn_engine.formats.base import Problem
from offturn_engine.messages import OpaquePart, RawMessage, TextPart


def problems(messages: Sequence[RawMessage], read: Callable[[RawMessage, int], Places]) -> list[Problem]:
    """Rules: empty, message, first-message, orphan-result, unanswered-call, results-first, trailing-whitespace, pending.

    `pending` is a call that ends the list, alone or before results of its neighbours.
    """
    if not messages:
        return [Problem(0, "empty", "the list has no messages")]
    end = len(messages) - 1
    runs, found = runs_of(messages[:end] if _empty_end(messages[end]) else messages, read, lambda raw: str(raw["role"]))
    return found + _first(runs) + answers(runs) + _last(runs)


def _empty_end(raw: RawMessage) -> bool:
    """An empty assistant message is accepted at the end."""
    return isinstance(raw, dict) and raw.get("role") == "assistant" and raw.get("content") in ("", [])


def _first(runs: list[Run]) -> list[Problem]:
    if not runs or runs[0].role == "user":
        return []
    index, part = runs[0].parts[0]
    if isinstance(part, OpaquePart) and part.kind == "compaction":
        return []
    return [Problem(index, "first-message", "the first message must have the user role")]


def _last(runs: list[Run]) -> list[Problem]:
    if not runs or runs[-1].role != "assistant":
        return []
    index, part = runs[-1].parts[-1]
    if isinstance(part, TextPart) and part.text != part.text.rstrip():
        return [Problem(index, "trailing-whitespace", "the last assistant message must not end in whitespace")]
    return []
