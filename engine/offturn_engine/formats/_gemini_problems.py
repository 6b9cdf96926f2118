"""What the Gemini API refuses in a list of contents. `request` joins neighbours of one role, so they count as one here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.errors import InvalidMessage
from offturn_engine.formats._gemini_parts import Places, role_of
from offturn_engine.formats._runs import Run, answers
from offturn_engine.formats.base import Problem
from offturn_engine.messages import RawMessage


def problems(messages: Sequence[RawMessage], read: Callable[[RawMessage, int], Places]) -> list[Problem]:
    """Rules: empty, message, first-message, orphan-result, unanswered-call, results-first, pending.

    A turn with function calls is followed at once by one with as many responses.
    """
    if not messages:
        return [Problem(0, "empty", "the list has no contents")]
    found: list[Problem] = []
    runs: list[Run] = []
    for i, raw in enumerate(messages):
        try:
            parts = [part for _, part in read(raw, i)]
        except InvalidMessage as error:
            found.append(Problem(i, "message", f"field {error.field!r}: {error.problem}"))
            continue
        if not runs or runs[-1].role != role_of(raw):
            runs.append(Run(role_of(raw)))
        runs[-1].parts += [(i, part) for part in parts]
    if runs and runs[0].role != "user":
        found.append(Problem(runs[0].parts[0][0], "first-message", "the first content must have the user role"))
    return found + answers(runs)
