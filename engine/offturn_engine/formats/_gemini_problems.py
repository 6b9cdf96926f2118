"""What the Gemini API refuses in a list of contents. `request` joins neighbours of one role, so they count as one here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from offturn_engine.formats._gemini_parts import Places, role_of
from offturn_engine.formats._runs import answers, runs_of
from offturn_engine.formats.base import Problem
from offturn_engine.messages import RawMessage


def problems(messages: Sequence[RawMessage], read: Callable[[RawMessage, int], Places]) -> list[Problem]:
    """Rules: empty, message, first-message, orphan-result, unanswered-call, results-first, pending.

    A turn with function calls is followed at once by one with as many responses.
    """
    if not messages:
        return [Problem(0, "empty", "the list has no contents")]
    runs, found = runs_of(messages, read, role_of)
    if runs and runs[0].role != "user":
        found.append(Problem(runs[0].parts[0][0], "first-message", "the first content must have the user role"))
    return found + answers(runs)
