"""The whole job on one screen: claim -> load -> plan -> summarise -> apply -> accept -> commit -> finish.

`run_due` in a host's process and the worker's arq job call the same `run`. Outcomes are values; a lost claim stops the
work at once, because somebody else may be doing it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from secrets import token_hex
from typing import Any, TypeAlias

from offturn.ahead import ahead
from offturn.auditing import settled
from offturn.doorbell import Doorbell
from offturn.loading import Job, load
from offturn.observing import UNOBSERVED, Observer
from offturn.outlasting import OUTAGE_SECONDS, outlasting
from offturn.planning import decide
from offturn.progress import Progress
from offturn.remote import Remote
from offturn.stopping import stop
from offturn.store.errors import Archived, StoreFull, StoreUnavailable, UnknownVersion
from offturn.store.replies import Claim, CommitReply, Committed, Finished, Refused
from offturn.store.sessions import SessionStore
from offturn.summarise import PAID_IN_VAIN, PaidInSession, Unavailable
from offturn.summarizer import AnySummarizer
from offturn.writing import Means, priced, write
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_engine.accept import accept
from offturn_engine.audit import audited
from offturn_engine.compaction import NO_SECTIONS, Compaction
from offturn_engine.draft import Candidate
from offturn_engine.economics import PriceOf, unpriced
from offturn_engine.errors import UnknownFormat
from offturn_engine.fallback import fall_back
from offturn_engine.outcome import (
    LIMITED,
    NO_GAIN,
    NOTHING_TO_COVER,
    RESTING,
    TOO_DENSE,
    Cause,
    Compacted,
    Failed,
    Outcome,
    Pruned,
    Skipped,
    Superseded,
    finish,
    name,
)
from offturn_engine.plan import HEAD_TRIMMED, PruneOnly, Skip, Summarise, apply, widen
from offturn_engine.turns import last_unanswered

Work: TypeAlias = Callable[[Claim, Progress], Coroutine[Any, Any, Outcome]]
"""What is done with a claimed session while the lease is renewed."""

LEASE_MS = 4_000
FIRST_BACKOFF_MS = 2_000
LONGEST_BACKOFF_MS = 300_000
SHORTEST_DELAY_MS = 500
DEFERRED_MS = 30_000
NOT_ITS_FAULT = StoreFull | UnknownVersion | UnknownFormat  # wait for room, or for a release that can read it
LONGEST_RETRY_AFTER = 3_600  # seconds: a provider may say anything


async def run(
    key: SessionKey,
    *,
    store: SessionStore,
    doorbell: Doorbell,
    summarizer: AnySummarizer,
    lease_ms: int = LEASE_MS,
    worker_id: str = "",
    patience: float = math.inf,
    hourly: int | None = None,
    prices: PriceOf = unpriced,
    remote: Remote | None = None,
    observer: Observer = UNOBSERVED,
) -> Outcome:
    """Compact one session if it is due and free.

    A result outlasts an outage of a minute. patience: seconds without progress after which the job ends. hourly: automatic
    compactions a session may have an hour. prices: for the account in the record. remote: endpoints for policies that let
    a provider compact. observer: is told of each step.
    Raises StoreUnavailable, which leaves the claim to its lease, and StoreFull where nothing could be claimed. An
    unexpected error is raised too, after the session was handed back with a delay.
    """
    means = Means(summarizer, prices, remote, observer)
    return await claimed(
        key,
        partial(_compact, key, store, means),
        store=store,
        doorbell=doorbell,
        lease_ms=lease_ms,
        worker_id=worker_id,
        patience=patience,
        hourly=hourly,
        observer=observer,
    )


async def claimed(
    key: SessionKey,
    work: Work,
    *,
    store: SessionStore,
    doorbell: Doorbell,
    lease_ms: int = LEASE_MS,
    worker_id: str = "",
    patience: float = math.inf,
    hourly: int | None = None,
    observer: Observer = UNOBSERVED,
) -> Outcome:
    """Do this work with a session that is due and free, from claim to finish. Raises as `run` does."""
    try:
        with observer.step("claim"):
            claim = await store.claim(key, token=token_hex(16), lease_ms=lease_ms, worker=worker_id, hourly=hourly)
    except (UnknownVersion, Archived) as error:  # it stays due, for a worker that can read it, or bring it back
        return Failed(kind=type(error).__name__, cause="store")
    if not isinstance(claim, Claim):
        return Skipped(reason=type(claim).__name__.lower())
    observer.claimed(claim)
    release = partial(_finish, key, store, doorbell, claim, worker_id, observer)
    try:
        outcome = await _while_held(key, store, claim, work, lease_ms, patience)
    except StoreUnavailable:
        raise
    except OffturnError as error:
        cause: Cause = "store" if isinstance(error, NOT_ITS_FAULT) else "job"
        outcome = Failed(kind=type(error).__name__, cause=cause)
    except asyncio.CancelledError:
        with suppress(OffturnError):  # the lease runs out by itself, and a cancellation must arrive
            outcome = Superseded(reason="cancelled")
            await asyncio.shield(release(outcome, seconds=0))
        raise
    except Exception:
        with suppress(OffturnError):
            await release(Failed(kind="bug"))
        raise
    await release(outcome)
    return outcome


async def _compact(key: SessionKey, store: SessionStore, means: Means, claim: Claim, progress: Progress) -> Outcome:
    step = means.observer.step
    with step("load"):
        job = await load(key, store, claim)
    if not isinstance(job, Job):
        return job
    if not job.wanted:
        return Skipped(reason="not_wanted")
    with step("plan"):
        job, planned = await decide(key, store, claim, job, means.summarizer)
    if isinstance(planned, Skip):
        waiting = job.reason == "threshold" and last_unanswered(job.path) is not None
        return _undone(planned.reason, blameless=waiting)
    if isinstance(planned, PruneOnly):
        least = -math.inf if planned.grows else None
        return await publish(key, store, claim, job, means, planned.candidate, gain=least)
    paid = PaidInSession(store, key, claim.incarnation, claim.redactions, progress)
    async with ahead(partial(apply, planned, NO_SECTIONS)):
        with step("summarise"):
            planned, written = await write(planned, job, means, paid)
    if isinstance(written, Unavailable):
        return await _without(key, store, claim, job, means, planned, written)
    with step("apply"):
        made = await settled(planned, written, means.summarizer, paid)
    if isinstance(made, Unavailable):
        return await _without(key, store, claim, job, means, planned, made)
    candidate, written = made
    outcome = await publish(key, store, claim, job, means, candidate)
    if not isinstance(outcome, Compacted):
        return outcome
    return replace(outcome, masked=written.masked, own_model=written.own_model)


async def _without(
    key: SessionKey,
    store: SessionStore,
    claim: Claim,
    job: Job,
    means: Means,
    planned: Summarise,
    failed: Unavailable,
) -> Outcome:
    """What is done where no summary could be had."""
    if failed.try_again and not job.pressing:
        cause: Cause = "limit" if failed.kind == LIMITED else "provider"
        return Failed(kind=failed.kind, retry_after=failed.retry_after, cause=cause)
    if job.instead:  # which is what a failure would be replaced by
        return _undone(NOTHING_TO_COVER, blameless=failed.kind not in PAID_IN_VAIN)
    candidate = await asyncio.to_thread(fall_back, planned, failed.spent)
    if candidate is None:
        kept: Cause = "provider" if failed.try_again else "job"
        return Failed(kind=failed.kind, retry_after=failed.retry_after, cause=kept)
    return await publish(key, store, claim, job, means, candidate, fallback=failed.kind)


async def publish(
    key: SessionKey,
    store: SessionStore,
    claim: Claim,
    job: Job,
    means: Means,
    candidate: Candidate,
    *,
    fallback: str = "",
    gain: float | None = None,
) -> Outcome:
    """Accept and commit a candidate of this job. gain: the least share of the view it must save; None: the policy's."""
    least = job.policy.size.minimum_gain if gain is None else gain
    with means.observer.step("accept"):
        if not candidate.compaction.audit.kinds:
            candidate = await asyncio.to_thread(audited, candidate)
        rejected = await asyncio.to_thread(accept, candidate, minimum_gain=least)
    if rejected:
        if rejected.broken:
            return Failed(kind=rejected.reason)
        reason = TOO_DENSE if rejected.reason == TOO_DENSE else NO_GAIN
        return _undone(reason, blameless=fallback not in ("", *PAID_IN_VAIN))
    reply = await _commit(key, store, claim, job, means, candidate)
    if reply == Refused(why="fuller"):
        # An emergency covered more while the model was paid: put the summary over all of it.
        now = await outlasting(partial(load, key, store, claim))
        if isinstance(now, Job):
            candidate = await asyncio.to_thread(_widened, candidate, now)
            if rejected := await asyncio.to_thread(accept, candidate, minimum_gain=-math.inf):
                return Failed(kind=rejected.reason)
            reply = await _commit(key, store, claim, replace(now, base=job.base), means, candidate)
    if not isinstance(reply, Committed):
        return Superseded(reason=reply.why if isinstance(reply, Refused) else "gone")
    means.observer.committed(candidate.compaction)
    return _published(reply.number, candidate.compaction, fallback)


def _widened(candidate: Candidate, now: Job) -> Candidate:
    return audited(widen(candidate, now.path, now.base.covered))


def _undone(reason: str, *, blameless: bool = False) -> Outcome:
    """Nothing was published, for a reason that is no bug.

    blameless: it says nothing of the session. Nobody asked, nothing was paid, and the newest human message waits for its
    answer, so that what may not be covered yet may be then; or no summarizer could be had.
    """
    if blameless and reason in (NO_GAIN, NOTHING_TO_COVER):
        return Skipped(reason=RESTING)
    return Failed(kind=TOO_DENSE) if reason == TOO_DENSE else Skipped(reason=reason)


async def _commit(
    key: SessionKey, store: SessionStore, claim: Claim, job: Job, means: Means, candidate: Candidate
) -> CommitReply:
    economics = await asyncio.to_thread(priced, job, means.prices, candidate)
    commit = partial(
        store.commit,
        key,
        incarnation=claim.incarnation,
        epoch=claim.epoch,
        base=job.base.number,
        chain_length=job.length,
        chain=job.chain,
        compaction=candidate.compaction.model_copy(update={"economics": economics}),
        at_tokens=job.path_tokens,
        claim=claim,
        op=token_hex(16),
    )
    with means.observer.step("commit"):
        return await outlasting(commit)


def _published(number: int, record: Compaction, fallback: str) -> Outcome:
    before, after = record.tokens_before, record.tokens_after
    if record.method == "prune":
        return Pruned(generation=number, tokens_before=before, tokens_after=after)
    return Compacted(
        generation=number,
        tokens_before=before,
        tokens_after=after,
        method=record.method,
        over_target=record.over_target,
        provisional=record.provisional,
        fallback=fallback,
        head_trimmed=record.concessions.get(HEAD_TRIMMED, 0),
    )


async def _while_held(
    key: SessionKey, store: SessionStore, claim: Claim, work: Work, lease_ms: int, patience: float
) -> Outcome:
    """Work while the lease is renewed; a lost lease, and no progress, close whatever is open, a model's stream included."""
    progress = Progress()
    job = asyncio.create_task(work(claim, progress), context=progress.variables)
    lease = asyncio.create_task(_renew(key, store, claim, lease_ms))
    stalled = asyncio.create_task(progress.stalled(patience))
    try:
        await asyncio.wait((job, lease, stalled), return_when=asyncio.FIRST_COMPLETED)
        if job.done():
            return job.result()
        if stalled.done():
            return Failed(kind="stalled")
        lease.result()  # raises what ended it, if it was not the claim
        meta = await store.meta(key)
        return Superseded(reason="claim_lost" if meta is None or meta.epoch == claim.epoch else "epoch")
    finally:
        await stop(job, lease, stalled)


async def _renew(key: SessionKey, store: SessionStore, claim: Claim, lease_ms: int) -> None:
    held = True
    while held:
        await asyncio.sleep(lease_ms / 4_000)
        with suppress(StoreUnavailable, StoreFull, TimeoutError):
            # Of a silent server too: the first to be heard again must be this one.
            async with asyncio.timeout(lease_ms / 4_000):
                held = await store.renew(key, claim=claim, lease_ms=lease_ms)


async def _finish(
    key: SessionKey,
    store: SessionStore,
    doorbell: Doorbell,
    claim: Claim,
    worker_id: str,
    observer: Observer,
    outcome: Outcome,
    *,
    seconds: float = OUTAGE_SECONDS,
) -> None:
    release = partial(
        store.finish,
        key,
        claim=claim,
        outcome=finish(outcome),
        backoff_ms=_backoff(outcome, claim),
        detail=_detail(outcome, worker_id),
    )
    with observer.step("finish"):
        finished = await outlasting(release, seconds=seconds)  # a second one is refused: the claim is gone
    if isinstance(finished, Finished) and finished.ring:
        with suppress(OffturnError):  # the session is due: every worker's sweep rings again
            await doorbell.ring(key, finished.request_no)


def _backoff(outcome: Outcome, claim: Claim) -> int:
    if not isinstance(outcome, Failed):
        return 0
    if outcome.cause == "store":
        return DEFERRED_MS
    if outcome.cause == "limit":
        return max(SHORTEST_DELAY_MS, int(outcome.retry_after * 1000))
    tries = claim.attempts + claim.failures - 1
    asked = int(min(outcome.retry_after, LONGEST_RETRY_AFTER) * 1000)
    return max(asked, min(FIRST_BACKOFF_MS << min(tries, 16), LONGEST_BACKOFF_MS))


def _detail(outcome: Outcome, worker_id: str) -> dict[str, str | int | bool]:
    """The outcome as an event carries it: names, numbers and sizes."""
    return {"outcome": name(outcome), "worker": worker_id, **asdict(outcome)}
