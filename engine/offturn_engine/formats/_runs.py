"""Neighbours of one role as the one turn that a provider reads, and who answers whom between turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from offturn_engine.errors import InvalidMessage
from offturn_engine.formats.base import Problem
from offturn_engine.messages import Part, RawMessage, ToolCallPart, ToolResultPart


@dataclass(slots=True)
class Run:
    """Neighbours of one role, as (message index, part)."""

    role: str
    parts: list[tuple[int, Part]] = field(default_factory=list)


def runs_of(
    messages: Sequence[RawMessage],
    read: Callable[[RawMessage, int], Sequence[tuple[object, Part]]],
    role: Callable[[RawMessage], str],
) -> tuple[list[Run], list[Problem]]:
    """The turns, and the messages that cannot be read."""
    found: list[Problem] = []
    runs: list[Run] = []
    for i, raw in enumerate(messages):
        try:
            parts = [part for _, part in read(raw, i)]
        except InvalidMessage as error:
            found.append(Problem(i, "message", f"field {error.field!r}: {error.problem}"))
            continue
        if not runs or runs[-1].role != role(raw):
            runs.append(Run(role(raw)))
        runs[-1].parts += [(i, part) for part in parts]
    return runs, found


def answers(runs: Sequence[Run]) -> list[Problem]:
    """Calls must be answered in the next user turn, results before all else. The list's last calls may be pending."""
    found: list[Problem] = []
    for before, run in pairwise([Run("user"), *runs, Run("user")]):
        if run.role == "user":
            found += _between(before, run, is_end=not run.parts or run is runs[-1])
    return found


def _between(before: Run, run: Run, *, is_end: bool) -> list[Problem]:
    found: list[Problem] = []
    waiting = [(i, part.id) for i, part in before.parts if isinstance(part, ToolCallPart)]
    others = False
    for i, part in run.parts:
        if not isinstance(part, ToolResultPart):
            others = True
            continue
        call = next((call for call in waiting if call[1] == part.call_id), None)
        if call is None:
            found.append(Problem(i, "orphan-result", "a result does not follow the message with its call"))
            continue
        waiting.remove(call)
        if others:
            found.append(Problem(i, "results-first", "results must come before anything else a user message says"))
    rule = "pending" if is_end and not others else "unanswered-call"
    return found + [Problem(i, rule, "a call has no result in the next user message") for i, _ in waiting]
