"""Which failures open the breaker of a route's entry, and who says whether an entry may be asked.

An entry in trouble is left alone for a pause, then one wanted call probes it; its answer closes the breaker, its failure
doubles the pause. A wrong key or model and a spent budget open it at once and for long: only somebody's repair helps,
and another key or address is another entry. The state is not kept here: a `Gate` shares it between processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from offturn_engine.errors import SummarizerError
from offturn_engine.outcome import LIMITED
from offturn_engine.provider_errors import Kind, ProviderProblem
from offturn_engine.summary import SummaryReply, SummaryRequest

FAILURES = 5
"""Failures in a row after which an entry is left alone."""

PAUSE_MS, LONGEST_MS = 5_000, 300_000
REPAIR_MS, LONGEST_REPAIR_MS = 600_000, 3_600_000
LONGEST_RETRY_AFTER_MS = 3_600_000

UNAVAILABLE = "provider_unavailable"

TROUBLE: frozenset[Kind] = frozenset(
    {"rate_limited", "overloaded", "unavailable", "timeout", "dropped", "garbled", "unknown"}
)
"""Kinds that say something about the provider, not about the request. What else it answers shows that it is there."""

AT_ONCE: frozenset[Kind] = frozenset({"auth", "not_found", "quota"})
"""Permanent whatever is asked; a rejected request may be that one request's fault, so it takes several in a row."""


class Entry(Protocol):
    """What a route needs of a summarizer; `window` in tokens, `timeout` in seconds.

    `id` names model, address and key, so that a corrected key starts anew; rates are counted by `account`:
    provider, address and key.
    """

    @property
    def id(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def window(self) -> int: ...

    @property
    def timeout(self) -> float: ...

    async def summarize(self, request: SummaryRequest) -> SummaryReply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The entry is not asked for `wait` seconds, because of trouble of this kind, or `limited`."""

    reason: str
    wait: float
    permanent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a failure does to an entry's breaker: open it at once, or after several in a row; for how long."""

    kind: Kind
    permanent: bool
    pause_ms: int
    longest_ms: int
    retry_after_ms: int


class Gate(Protocol):
    """Whether entries may be asked. Neither method raises where the state cannot be reached: then everybody may."""

    async def enter(self, entry: Entry, request: SummaryRequest) -> str | Closed:
        """A pass for one call, to be shown at `leave`."""
        ...

    async def leave(self, entry: Entry, shown: str, trouble: Verdict | None) -> None:
        """What came of the call; None: the provider is there."""
        ...


def verdict(problem: ProviderProblem) -> Verdict | None:
    """What this failure says about the provider; None: nothing bad."""
    if problem.kind not in TROUBLE and not problem.permanent_for_route:
        return None
    at_once = problem.kind in AT_ONCE
    asked = min(int((problem.retry_after or 0) * 1000), LONGEST_RETRY_AFTER_MS)
    return Verdict(
        kind=problem.kind,
        permanent=at_once,
        pause_ms=REPAIR_MS if problem.permanent_for_route else PAUSE_MS,
        longest_ms=LONGEST_REPAIR_MS if problem.permanent_for_route else LONGEST_MS,
        retry_after_ms=asked,
    )


def nobody(closed: list[Closed]) -> SummarizerError:
    """The error where no entry may be asked. Nothing was paid.

    It may pass by itself, unless every entry waits for somebody's repair; then its kind is the last one's.
    """
    wait = min(one.wait for one in closed)
    if all(one.permanent for one in closed):
        return SummarizerError(closed[-1].reason, f"no provider is asked: {closed[-1].reason}", retryable=False)
    kind = LIMITED if all(one.reason == LIMITED for one in closed) else UNAVAILABLE
    return SummarizerError(kind, f"no provider is asked for {wait:.0f} s: {kind}", retryable=True, retry_after=wait)
