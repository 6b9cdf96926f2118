"""One compaction of a conversation that lies in a file: the engine and a summarizer, no store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from offturn.asking import calls_wanted
from offturn.auditing import settled
from offturn.config import DEFAULT_WINDOW, reserved_output
from offturn.summarise import Unavailable, Written, summarise
from offturn.summarizer import AnySummarizer, Extractive
from offturn_config.limits import Limits, window_filled
from offturn_config.policy import Policy
from offturn_engine.accept import accept
from offturn_engine.audit import audited
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.errors import SummarizerError
from offturn_engine.files import Conversation
from offturn_engine.formats import get, parse_all
from offturn_engine.formats.base import Format
from offturn_engine.imported import left_out, taken_over
from offturn_engine.messages import Message, RawMessage
from offturn_engine.outcome import NO_GAIN
from offturn_engine.plan import PruneOnly, Skip, Summarise, plan
from offturn_engine.render import render

LEAST_WINDOW = 1_000
NO_ANSWER = "gave no usable answer"
UNUSABLE = {
    "auth": "cannot be asked, the key is refused",
    "quota": "cannot be asked, the budget of the key is spent",
    "not_found": "cannot be asked, the provider has no such model",
}
REMEDIES = {"auth": "set the right key (see `offturn doctor`), or "}


@dataclass(frozen=True, slots=True)
class Read:
    """A conversation as the engine works on it. `limits` in estimate units. generations: that the file tells of, oldest
    first."""

    path: tuple[Message, ...] = ()
    fmt: Format | None = None
    limits: Limits | None = None
    generations: tuple[Compaction, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def base(self) -> Compaction:
        """The newest of the compactions that the file tells of."""
        return self.generations[-1] if self.generations else NOTHING


NOTHING_READ = Read()


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
    read: Read = NOTHING_READ

    @classmethod
    def unchanged(cls, conversation: Conversation, tokens: int, reason: str, read: Read = NOTHING_READ) -> Self:
        """For a conversation that stays as it is, or as the host had compacted it."""
        shown = render(read.path, read.base, read.fmt).messages if read.fmt else list(conversation.messages)
        return cls(
            messages=shown,
            messages_before=len(conversation.messages),
            tokens_before=tokens,
            tokens_after=tokens,
            outcome="skipped",
            reason=reason,
            record=read.base,
            notes=(*conversation.notes, *read.notes),
            read=read,
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
    def lineage(self) -> tuple[Compaction, ...]:
        """Its record, unless nothing was made, and those before, back to the raw transcript."""
        made = () if self.outcome == "skipped" else (self.record,)
        return (*made, *reversed(self.read.generations), NOTHING)

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
            "generations": len(self.read.generations),
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
    known = _sized(path, conversation, fmt, policy, window)
    assert known.limits is not None
    before = render(path, known.base, fmt).tokens
    planned = plan(path, known.base, fmt, policy=policy, limits=known.limits, reason="manual")
    if isinstance(planned, Skip):
        return Result.unchanged(conversation, before, planned.reason, known)
    calls = 0
    if isinstance(planned, PruneOnly):
        candidate = planned.candidate
    else:
        candidate = await _summarised(planned, summarizer)
        made = candidate.compaction.spent.calls
        calls = calls_wanted(planned, DEFAULT_WINDOW) if isinstance(summarizer, Extractive) else made
    candidate = audited(candidate)
    if rejected := accept(candidate, minimum_gain=policy.size.minimum_gain):
        why = NO_GAIN if rejected.reason == "covers_less" else rejected.reason
        return Result.unchanged(conversation, before, why, known)
    return _result(candidate, conversation, known, calls)


def _sized(path: list[Message], conversation: Conversation, fmt: Format, policy: Policy, window: int | None) -> Read:
    """With the limits of the window, and the file's own compactions as generations within these."""
    free = partial(reserved_output, max_output=None)

    def filled(tokens: int) -> int:
        return window or max(window_filled(policy, tokens, output=free), LEAST_WINDOW)

    def within(size: int) -> Read:
        limits = policy.limits(size, free(size))
        made, refused = taken_over(path, conversation.earlier, fmt, policy=policy, limits=limits)
        based = (f"{len(made)} earlier compactions of its host taken over",) if made else ()
        return Read(tuple(path), fmt, limits, tuple(made), (*based, *left_out(refused)))

    raw = within(filled(render(path, NOTHING, fmt).tokens))
    return within(filled(render(path, raw.base, fmt).tokens)) if raw.generations and window is None else raw


async def _summarised(planned: Summarise, summarizer: AnySummarizer) -> Candidate:
    paid = PaidHere()
    written = await summarise(planned, summarizer, paid)
    made = await settled(planned, written, summarizer, paid) if isinstance(written, Written) else written
    if isinstance(made, Unavailable):
        raise SummarizerError(
            made.kind,
            f"summarizer {model_name(summarizer)} {UNUSABLE.get(made.kind, NO_ANSWER)} ({made.kind}): "
            f"{REMEDIES.get(made.kind, '')}name another with --summarizer",
            retryable=made.try_again,
        )
    return made[0]


def _result(candidate: Candidate, conversation: Conversation, read: Read, model_calls: int) -> Result:
    record = candidate.compaction.model_copy(update={"number": read.base.number + 1, "replaces": read.base.number})
    return Result(
        messages=candidate.rendering.messages,
        messages_before=len(conversation.messages),
        tokens_before=record.tokens_before,
        tokens_after=record.tokens_after,
        outcome="pruned" if record.method == "prune" else "compacted",
        record=record,
        model_calls=model_calls,
        notes=(*conversation.notes, *read.notes),
        read=read,
    )


def model_name(summarizer: AnySummarizer) -> str:
    """For messages: `anthropic:...`, or `extractive`."""
    return "extractive" if isinstance(summarizer, Extractive) else summarizer.model
