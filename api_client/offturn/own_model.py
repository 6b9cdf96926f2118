"""Whether the session's own model writes a summary, as `summary.same_model` says: by price, and only where the provider's
cache can serve it. It gets the host's own request again, as far as the tail, and the instructions behind it.

What we cannot know is the host's other arguments: a request that thinks, or forces a tool, has a cache of its own at some
providers. So the answer's usage counts: where less than half was read from the cache, the next summary is not asked so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from offturn.asking import Asking, BadAnswer, Paid, inputs_wanted
from offturn.loading import Job
from offturn.remote import Remote
from offturn.summarizer import Summarizer
from offturn_config.errors import InvalidSetting
from offturn_engine.compaction import NOTHING_SPENT, Sections, Spent
from offturn_engine.economics import Price, PriceOf
from offturn_engine.errors import SummarizerError
from offturn_engine.frame import Frame, prefix
from offturn_engine.plan import Summarise
from offturn_engine.prompt import budget_of
from offturn_engine.summary import SummaryRequest
from offturn_engine.tokens import estimate_text, prior

FRAME = "frame"
"""The key under which a session's system prompt and tools are kept, beside its paid answers: all of them are content."""

FORMATS = {"anthropic": "anthropic", "openai": "openai-chat"}
"""The message format of each provider that can be asked."""

Why = Literal[
    "",  # the policy does not want it, or there is no model to compare with
    "used",
    "no_endpoint",  # no key for the session's provider, or another format than its own
    "other_view",  # the host is shown another generation, or what its provider makes of the messages
    "cold",  # after a silence the provider has forgotten
    "no_frame",  # system prompt and tools are not known: no view was made with them
    "not_cached",  # the summary before was asked for so, and less than half of it came from the cache
    "no_price",  # of one of the two
    "dearer",
    "failed",  # asked, without a usable answer
]


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of it: sections where it was used. `spent` also where it failed."""

    why: Why
    sections: Sections | None = None
    model: str = ""
    spent: Spent = NOTHING_SPENT


async def by_own_model(
    planned: Summarise, job: Job, summarizer: Summarizer, prices: PriceOf, remote: Remote | None, paid: Paid
) -> Tried:
    """Ask it where that is wanted, possible and cheaper."""
    if planned.policy.summary.same_model == "never":
        return Tried("")
    own = _model(job, remote)
    if own is None:
        return Tried("no_endpoint")
    if (why := _spoilt(job)) is not None:
        return Tried(why)
    frame = await _frame(paid)
    if frame is None:
        return Tried("no_frame")
    split = planned.draft.split
    assert split is not None
    begun = await asyncio.to_thread(prefix, job.path, job.base, job.fmt, frame, split.tail)
    asking = Asking(planned, own, paid)
    first, second = prices(own.model), prices(summarizer.model)
    if first is None or second is None:
        return Tried("no_price")
    request = await asyncio.to_thread(asking.whole, begun)
    others = await asyncio.to_thread(inputs_wanted, planned, summarizer.window)
    if _cached(first, request, job.factor) >= _plain(second, others, request, prior(summarizer.model)):
        return Tried("dearer")
    try:
        sections, model = await asking.once(begun)
    except (BadAnswer, SummarizerError):
        return Tried("failed", spent=asking.spent)
    return Tried("used", sections, model, asking.spent)


def _model(job: Job, remote: Remote | None) -> Summarizer | None:
    if remote is None or job.model is None or FORMATS.get(job.model.partition(":")[0]) != job.fmt.name:
        return None
    try:
        return remote.summarizer(job.model)
    except InvalidSetting:  # no key
        return None


async def _frame(paid: Paid) -> Frame | None:
    """What a view has told; None also for what this release cannot read."""
    found = await paid.get(FRAME)
    try:
        return None if found is None else Frame.from_json(found)
    except (ValueError, TypeError, KeyError):
        return None


def _spoilt(job: Job) -> Why | None:
    """Why the cache would not hold the view of the base."""
    base, remote = job.base, job.policy.remote
    if not job.in_force or job.instead or base.opaque or remote.provider_edits or remote.mode != "none":
        return "other_view"
    if job.reason == "idle":
        return "cold"
    asked = base.spent
    return "not_cached" if 2 * asked.cached_tokens < asked.prefix_tokens else None


def _cached(price: Price, request: SummaryRequest, factor: float) -> float:
    """What the call costs whose prefix comes from the cache."""
    assert request.prefix is not None
    held = int(request.prefix.tokens * factor)
    told = int(estimate_text(request.content) * factor)
    return price(input_tokens=held + told, cached=held, output_tokens=budget_of(request.max_output_tokens))


def _plain(price: Price, inputs: Sequence[int], request: SummaryRequest, factor: float) -> float:
    """What calls of these sizes cost, each with a whole answer."""
    written = budget_of(request.max_output_tokens)
    return sum(price(input_tokens=int(size * factor), output_tokens=written) for size in inputs)
