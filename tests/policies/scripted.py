"""A summarizer that answers what a test says, and one compaction with it: the engine and the client's way of asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from offturn.summarise import Unavailable, Written, summarise
from offturn_config.policy import Policy
from offturn_engine.accept import accept
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.errors import SummarizerError
from offturn_engine.messages import Message
from offturn_engine.plan import Summarise, apply, plan
from offturn_engine.summary import SummaryReply, SummaryRequest
from offturn_worker.offline import PaidHere
from tests.policies.histories import format_of, sound

Step = str | Exception | Callable[[SummaryRequest], str]


@dataclass
class Model:
    """Answers step by step, the last step repeats. `asked` are the requests."""

    steps: Sequence[Step]
    window: int = 400_000
    model: str = "scripted"
    asked: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        step = self.steps[min(len(self.asked), len(self.steps) - 1)]
        self.asked.append(request)
        if isinstance(step, Exception):
            raise step
        return SummaryReply(text=step if isinstance(step, str) else step(request), finish="stop", model=self.model)


TOO_LONG = SummarizerError("too_long", "prompt is too long", retryable=False)


def answer(request: SummaryRequest) -> str:
    """A summary under the headings asked for, in words of the request."""
    words = [w for w in dict.fromkeys(request.source.split()) if w.isalpha() and len(w) > 2][:60]
    told = [f"{title} in other words: {' '.join(words[2 * i : 2 * i + 2])}" for i, title in enumerate(request.titles)]
    return record(**dict(zip(request.titles, told, strict=True)), titles=request.titles)


def record(*, titles: Sequence[str], **bodies: str) -> str:
    """A summary with these bodies; the other sections hold nothing."""
    return "\n\n".join(f"## {title}\n- {bodies.get(title, 'none')}" for title in titles)


def wanted(
    path: Sequence[Message], policy: Policy, window: int, base: Compaction = NOTHING, focus: str = ""
) -> Summarise:
    """The plan, which asks for a summary."""
    found = plan(
        path, base, format_of(policy), policy=policy, limits=policy.limits(window), reason="manual", focus=focus
    )
    assert isinstance(found, Summarise), found
    return found


def asked(asks: Summarise, model: Model) -> Written | Unavailable:
    return asyncio.run(summarise(asks, model, PaidHere()))


def compacted(asks: Summarise, model: Model) -> Candidate:
    """The candidate, which may be published."""
    written = asked(asks, model)
    assert isinstance(written, Written), written
    made = apply(asks, written.sections, spent=written.spent, model=written.model, head_trimmed=written.head_trimmed)
    sound(made)
    assert accept(made, minimum_gain=asks.policy.size.minimum_gain) is None
    return made


def generation(made: Candidate, number: int = 1) -> Compaction:
    return made.compaction.model_copy(update={"number": number})
