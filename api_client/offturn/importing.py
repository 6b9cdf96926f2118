"""Compactions that another host made become generations of a session that is being recorded from its file."""

from __future__ import annotations

import asyncio
from functools import partial
from secrets import token_hex

from offturn.links import Links
from offturn.loading import Job, load
from offturn.observing import UNOBSERVED
from offturn.progress import Progress
from offturn.recipe import claimed, publish
from offturn.store.replies import Claim
from offturn.store.sessions import SessionStore
from offturn.summarizer import EXTRACTIVE
from offturn.writing import Means
from offturn_config.keys import SessionKey
from offturn_engine.economics import unpriced
from offturn_engine.imported import ANY_GAIN, NotTaken, imported
from offturn_engine.outcome import Outcome, Skipped, Superseded


async def take_over(links: Links, key: SessionKey, *, covered: int, summary: str) -> Outcome:
    """A generation of the path's first `covered` messages with this summary, by request, claim, commit and finish.

    No bell is rung: the job is this process's. Raises StoreUnavailable and other store errors.
    """
    meta = await links.store.meta(key)
    if meta is None:
        return Superseded(reason="gone")
    asked = {"reason": "manual", "focus": "", "note": ""}
    await links.store.request(key, op=token_hex(16), incarnation=meta.incarnation, **asked)
    work = partial(_taken, key, links.store, covered, summary)
    return await claimed(key, work, store=links.store, doorbell=links.doorbell)


async def _taken(
    key: SessionKey, store: SessionStore, covered: int, summary: str, claim: Claim, _: Progress
) -> Outcome:
    job = await load(key, store, claim)
    if not isinstance(job, Job):
        return job
    told = partial(imported, policy=job.policy, limits=job.limits, covered=covered, summary=summary)
    made = await asyncio.to_thread(told, job.path, job.base, job.fmt)
    if isinstance(made, NotTaken):
        return Skipped(reason=made.why)
    return await publish(key, store, claim, job, Means(EXTRACTIVE, unpriced, None, UNOBSERVED), made, gain=ANY_GAIN)
