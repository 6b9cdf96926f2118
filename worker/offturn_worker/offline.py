"""One compaction of a conversation that lies in a file: the engine and a summarizer, no store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from offturn.asking import calls_wanted
from offturn.config import DEFAULT_WINDOW, reserved_output
from offturn.summarise import Unavailable, summarise
from offturn.summarizer import AnySummarizer, Extractive
from offturn_config.limits import window_filled
from offturn_config.policy import Policy
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.errors import SummarizerError
from offturn_engine.files import Conversation
from offturn_engine.formats import get, parse_all
from offturn_engine.messages import RawMessage
from offturn_engine.outcome import NO_GAIN
from offturn_engine.plan import PruneOnly, Skip, Summarise, apply, plan
from offturn_engine.render import render

LEAST_WINDOW = 1_000
NO_ANSWER = "gave no usable answer"
UNUSABLE = {
    "auth": "cannot be asked, the key is refused",
    "quota": "cannot be asked, the budget of the key is spent",
    "not_found": "cannot be asked, the provider has no such model",
}
REMEDIES = {"auth": "set the right key (see `offturn doctor`), or "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one conversation. Tokens are estimates; `messages` is what to send next.

    model_calls: that were made, or, with `extractive`, that the policy asks for.
    """

    messages: list[RawMessage]
    messages_before: int
    tokens_before: int
    tokens_after: int
    outcome: str
    reason: str = ""
    record: Compaction = NOTHING
    notes: tuple[str, ...] = ()
    model_calls: int = 0

    @classmethod
    def unchanged(cls, conversation: Conversation, tokens: int, reason: str) -> Self:
        """For a conversation that stays as it is."""
        return cls(
            messages=list(conversation.messages),
            messages_before=len(conversation.messages),
            tokens_before=tokens,
            tokens_after=tokens,
            outcome="skipped",
            reason=reason,
            notes=conversation.notes,
        )

    @classmethod
    def nothing(cls) -> Self:
        """For a file without a conversation."""
        return cls(
            messages=[], messages_before=0, tokens_before=0, tokens_after=0, outcome="skipped", reason="no_conversation"
        )

    @property
    def method(self) -> str:
        """How it was made; `none` where nothing was."""
        return self.record.method if self.outcome != "skipped" else "none"

    @property
    def edits(self) -> dict[str, int]:
        """Parts changed in messages that stayed, by rule."""
        return dict(Counter(edit.rule for edit in self.record.edits))

    def facts(self) -> dict[str, Any]:
        """For `--json`: counts and sizes. `messages` counts what is left."""
        return {
            "messages": len(self.messages),
            "messages_before": self.messages_before,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "method": self.method,
            "ranges": [list(pair) for pair in self.record.covered],
            "edits": self.edits,
            "model_calls": self.model_calls,
            "audit": self.record.audit.model_dump(),
            "outcome": self.outcome,
            "reason": self.reason,
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class PaidHere:
    """Results that were paid for, for the length of one run."""

    kept: dict[str, str] = field(default_factory=dict)

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def put(self, key: str, value: str) -> None:
        self.kept[key] = value


async def compact_conversation(
    conversation: Conversation, policy: Policy, window: int | None, summarizer: AnySummarizer
) -> Result:
    """A manual request. Without a window: the one for which the conversation has just reached the soft level.

    Raises InvalidPolicy for a window the policy cannot work with, SummarizerError when the model cannot be asked.
    """
    fmt = get(conversation.format, policy.trigger.estimator)
    path = parse_all(fmt, conversation.messages, conversation.origins)
    before = render(path, NOTHING, fmt).tokens
    free = partial(reserved_output, max_output=None)
    size = window or max(window_filled(policy, before, output=free), LEAST_WINDOW)

    planned = plan(path, NOTHING, fmt, policy=policy, limits=policy.limits(size, free(size)), reason="manual")
    if isinstance(planned, Skip):
        return Result.unchanged(conversation, before, planned.reason)
    calls = 0
    if isinstance(planned, PruneOnly):
        candidate = planned.candidate
    else:
        candidate = await _summarised(planned, summarizer)
        made = candidate.compaction.spent.calls
        calls = calls_wanted(planned, DEFAULT_WINDOW) if isinstance(summarizer, Extractive) else made
    if rejected := accept(candidate, minimum_gain=policy.size.minimum_gain):
        return Result.unchanged(conversation, before, NO_GAIN if rejected.reason == "covers_less" else rejected.reason)
    return _result(candidate, conversation, calls)


async def _summarised(planned: Summarise, summarizer: AnySummarizer) -> Candidate:
    written = await summarise(planned, summarizer, PaidHere())
    if isinstance(written, Unavailable):
        raise SummarizerError(
            written.kind,
            f"summarizer {model_name(summarizer)} {UNUSABLE.get(written.kind, NO_ANSWER)} ({written.kind}): "
            f"{REMEDIES.get(written.kind, '')}name another with --summarizer",
            retryable=written.try_again,
        )
    return apply(
        planned,
        written.sections,
        spent=written.spent,
        model=written.model,
        head_trimmed=written.head_trimmed,
    )


def _result(candidate: Candidate, conversation: Conversation, model_calls: int) -> Result:
    record = candidate.compaction
    return Result(
        messages=candidate.rendering.messages,
        messages_before=len(conversation.messages),
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        outcome="pruned" if record.method == "prune" else "compacted",
        record=record,
        model_calls=model_calls,
        notes=conversation.notes,
    )


def model_name(summarizer: AnySummarizer) -> str:
    """For messages: `anthropic:...`, or `extractive`."""
    return "extractive" if isinstance(summarizer, Extractive) else summarizer.model
