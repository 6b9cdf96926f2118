"""What watches jobs, where somebody does: the one seam of a worker's metrics and traces.

It is told names, numbers and sizes, and what it keeps of them is its own affair; content never reaches it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, TypeAlias

from offturn.store.replies import Claim
from offturn_engine.compaction import NOTHING_SPENT, Compaction, Spent

Step: TypeAlias = Literal["claim", "load", "plan", "summarise", "apply", "accept", "commit", "finish"]
"""The steps of a job in their order. `apply` may ask a model once more, for facts that its summary lost."""


@dataclass(slots=True)
class Call:
    """One request to a model, `provider:name`. Who makes it fills in the rest when the answer is there.

    `finish` as in `SummaryReply`, "" until then; `spent`: tokens as the provider reported them.
    """

    model: str
    finish: str = ""
    spent: Spent = NOTHING_SPENT


class Observer:
    """Told of nothing. What watches overrides what it wants to know; nothing it does may raise or wait.

    The context managers are left in the task that entered them, with the error where there was one, cancellation included.
    """

    def step(self, _: Step) -> AbstractContextManager[object]:
        """Around each step of a job; none contains another."""
        return nullcontext()

    def claimed(self, claim: Claim) -> None:
        """A session was taken."""

    def committed(self, record: Compaction) -> None:
        """A generation was published; its number, nonce and time are not in the record."""

    def call(self, model: str) -> AbstractContextManager[Call]:
        """Around each request to a model, within a step. A route's entries are asked one by one."""
        return nullcontext(Call(model))


UNOBSERVED = Observer()
