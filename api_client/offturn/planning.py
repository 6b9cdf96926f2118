"""What a job sets out to do: the plan over what is current, or over what an emergency has covered without a summary."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from offturn.loading import Job
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE, AnySummarizer
from offturn_config.keys import SessionKey
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.outcome import NO_GAIN, NOTHING_TO_COVER
from offturn_engine.plan import Plan, Skip, Summarise, plan


async def decide(
    key: SessionKey, store: SessionStore, claim: Claim, job: Job, summarizer: AnySummarizer
) -> tuple[Job, Plan]:
    """The plan, and the job with the base it is made over.

    Where nothing is left to do because a provisional generation has covered it without a model, the summary that was
    never written is planned: over the generation before, and of all that the provisional one covers.
    """
    planning = partial(
        plan,
        job.path,
        fmt=job.fmt,
        policy=job.policy,
        limits=job.limits,
        reason=job.reason,
        focus=claim.focus,
        note=_notes(claim),
        phases=claim.phases,
        failures=claim.attempts + claim.failures - 1,
    )
    first = await asyncio.to_thread(planning, job.base)
    done = isinstance(first, Skip) and first.reason in (NOTHING_TO_COVER, NO_GAIN)
    if not done or not unsummarised(job.base) or summarizer is EXTRACTIVE:
        return job, first
    before = await _before(key, store, job.base)
    if before is None:
        return job, first
    second = await asyncio.to_thread(planning, before, least=job.base.covered)
    return (replace(job, base=before, instead=job.base), second) if isinstance(second, Summarise) else (job, first)


def _notes(claim: Claim) -> str:
    """What the host said of its request, after the first lines of what it said of phases before that no generation tells
    of."""
    before = claim.phases[:-1] if claim.reason == "phase" else claim.phases
    return "\n".join(note for note in (*(phase.note for phase in before), claim.note) if note)


def unsummarised(record: Compaction) -> bool:
    """Made in an emergency, or because no model could be had."""
    return record.provisional and record.method == "extractive"


async def _before(key: SessionKey, store: SessionStore, record: Compaction) -> Compaction | None:
    """The first generation below that is not provisional; None where one of them is gone."""
    found: Compaction | None = record
    while found is not None and found.provisional:
        found = await store.generation(key, found.base) if found.base else NOTHING
    return found
