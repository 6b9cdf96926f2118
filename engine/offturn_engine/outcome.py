"""What a job ended with, and what that does to `due`: the table of the commit protocol.

Outcomes are values; only a bug or a lost store raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Finish = Literal[
    "compacted", "pruned", "skipped", "no-gain", "resting", "superseded", "failed", "unavailable", "deferred"
]
"""The outcome's name in the store's finish script."""


Cause = Literal["job", "provider", "limit", "store"]

_FAILED: dict[Cause, Finish] = {
    "job": "failed",
    "provider": "unavailable",
    "limit": "deferred",
    "store": "deferred",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A summary took the place of covered messages. Tokens are estimates of the view before and after.

    fallback: why the model that was asked did not write it (a kind of trouble); "" where it did, or none was asked.
    masked: secrets taken out of the transcript before the summarizer got it.
    head_trimmed: messages that left the view without being summarised, or that the summarizer had no room for.
    own_model: "used" where the session's own model wrote it, behind the conversation as its provider's cache holds it; where
    the policy wants that and another wrote it, why; else "".
    """

    generation: int
    tokens_before: int
    tokens_after: int
    method: str
    over_target: bool = False
    provisional: bool = False
    fallback: str = ""
    masked: int = 0
    head_trimmed: int = 0
    own_model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Pruning alone reached the target; no model was asked."""

    generation: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Nothing was done, and that is right: not due, nothing to cover, no gain, another worker has it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """The session moved on (epoch, base, chain, claim); the next job starts from what is there now."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The job could not finish. It stays due and is tried again after `retry_after` seconds.

    cause: `job` counts towards parking the session; trouble of a `provider`, a `limit` of ours, and a `store` that is full
    or holds a record of another release do not.
    """

    kind: str
    retry_after: float = 0.0
    cause: Cause = "job"


Outcome: TypeAlias = Compacted | Pruned | Skipped | Superseded | Failed

LIMITED = "limited"
"""The kind of a failure that is a limit of ours: the provider was not asked."""

TOO_DENSE: Final = "too_dense"
"""The kind of a failure that is the conversation's: what may not be left out is above the ceiling by itself."""

NO_GAIN = "no_gain"
NOTHING_TO_COVER = "nothing_to_cover"
RESTING = "resting"
"""Enough was done already, or too little has come since: nothing is wrong, and growth will tell."""

BELOW_TRIGGER = "below_trigger"
"""The view as it is rendered is smaller than the store's totals say, which another ruler may have measured."""

_RESTING = frozenset({RESTING, BELOW_TRIGGER})

_HOLDING = frozenset({NO_GAIN, NOTHING_TO_COVER, TOO_DENSE})
"""Reasons that hold until the session has grown: without that, a view that cannot shrink would be due at once again."""


def finish(outcome: Outcome) -> Finish:
    """What the finish script is told: it releases the claim and recomputes due from the session's state."""
    match outcome:
        case Compacted():
            return "compacted"
        case Pruned():
            return "pruned"
        case Skipped(reason=reason):
            return "resting" if reason in _RESTING else "no-gain" if reason in _HOLDING else "skipped"
        case Superseded():
            return "superseded"
        case Failed(kind=kind) if kind == TOO_DENSE:  # held, and a strike: trying again would end the same way
            return "no-gain"
        case Failed(cause=cause):
            return _FAILED[cause]


def name(outcome: Outcome) -> str:
    """For logs, events and people: `compacted`, `skipped`, ..."""
    return type(outcome).__name__.lower()


def reason(outcome: Outcome) -> str:
    """The reason or kind, empty where the outcome has none."""
    match outcome:
        case Skipped(reason=text) | Superseded(reason=text):
            return text
        case Failed(kind=text):
            return text
        case _:
            return ""
