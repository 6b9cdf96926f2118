"""Who writes what stands for the covered messages: the provider's endpoint where the policy wants it, else the summarizer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from offturn.asking import Paid
from offturn.loading import Job
from offturn.observing import Observer
from offturn.own_model import by_own_model
from offturn.remote import Remote, aligned, asks, request
from offturn.summarise import Unavailable, Written, summarise
from offturn.summarizer import AnySummarizer, Extractive
from offturn_config.errors import InvalidSetting
from offturn_engine.compaction import NO_SECTIONS, NOTHING_SPENT, Economics
from offturn_engine.draft import Candidate
from offturn_engine.economics import PriceOf, account
from offturn_engine.errors import SummarizerError
from offturn_engine.plan import Summarise
from offturn_engine.render import render


@dataclass(frozen=True, slots=True)
class Means:
    """What jobs are done with. `remote`: None where no provider is to compact."""

    summarizer: AnySummarizer
    prices: PriceOf
    remote: Remote | None
    observer: Observer


async def write(planned: Summarise, job: Job, means: Means, paid: Paid) -> tuple[Summarise, Written | Unavailable]:
    """What was written, and the plan it was written for: a provider may want another tail.

    Where a provider fails for good, or may no longer be waited for, the summarizer does it.
    """
    if means.remote is None or job.model is None or not asks(job.policy, job.fmt, job.model):
        return planned, await _by_a_model(planned, job, means, paid)
    planned = await asyncio.to_thread(aligned, planned)
    asked = await asyncio.to_thread(request, planned, job.base, job.model)
    try:
        reply = await means.remote.compact(asked)
        return planned, Written(NO_SECTIONS, reply.spent, reply.opaque.model, opaque=reply.opaque)
    except InvalidSetting:  # no key for this provider
        pass
    except SummarizerError as error:
        if error.retryable and not job.pressing:
            return planned, Unavailable(error.kind, True, error.retry_after or 0, NOTHING_SPENT)
    return planned, await summarise(planned, means.summarizer, paid)


async def _by_a_model(planned: Summarise, job: Job, means: Means, paid: Paid) -> Written | Unavailable:
    """By the session's own model where that is cheaper, else by the summarizer."""
    summarizer = means.summarizer
    if isinstance(summarizer, Extractive):
        return await summarise(planned, summarizer, paid)
    own = await by_own_model(planned, job, summarizer, means.prices, means.remote, paid)
    if own.sections is not None:
        return Written(own.sections, own.spent, own.model, own_model=own.why)
    written = await summarise(planned, summarizer, paid)
    spent = own.spent.plus(written.spent)
    return (
        replace(written, spent=spent, own_model=own.why)
        if isinstance(written, Written)
        else replace(written, spent=spent)
    )


def priced(job: Job, prices: PriceOf, candidate: Candidate) -> Economics:
    """The account of a candidate of this job."""
    before, after = render(job.path, job.base, job.fmt).items, candidate.rendering.items
    return account(candidate.compaction, before, after, factor=job.factor, model=job.model, prices=prices)
