"""The one arq function: a name comes in, the recipe runs, nothing goes back to arq.

arq never retries on our behalf: what an outcome does to a session is in the store, and the sweep rings again. So the
function does not raise; only a cancelled one does, which hands the job to another worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog

from offturn_config.keys import SessionKey
from offturn_engine.outcome import Failed, Outcome, name, reason
from offturn_worker.lease import lock_kept
from offturn_worker.logs import described
from offturn_worker.tracing import job_span, outcome_facts

Compact = Callable[[SessionKey], Awaitable[Outcome]]
"""Compacts one session if it is due and free: `offturn.recipe.run` with everything but the session given."""

TENANT_BUSY = "tenant_busy"
"""Said of each waiting session every few seconds, as long as its tenant's places are taken: no news."""

PAUSED = "paused"
"""Said of each session of a paused tenant that somebody rings for: no news either."""

QUIET = (TENANT_BUSY, PAUSED)

log = structlog.get_logger(__name__)


async def compact_session(
    ctx: Mapping[str, Any], tenant: str, session: str, request_no: int, *, trace: str = ""
) -> None:
    """`ctx` holds arq's `redis` and `job_id`, and our `compact` and `lease_ms`. trace: the host's traceparent."""
    started = time.monotonic()
    job = log.bind(tenant=tenant, session=session, request=request_no)
    try:
        key = SessionKey(tenant, session)
        with job_span(key, request_no, trace) as told:
            async with lock_kept(ctx["redis"], ctx["job_id"], ctx["lease_ms"]):
                outcome = await ctx["compact"](key)
            told.tell(outcome_facts(outcome))
    except asyncio.CancelledError:
        job.info("job_cancelled", ms=_ms(started))
        raise
    except Exception as error:  # noqa: BLE001 - arq would log its text, which may quote a message
        job.error("job_failed", ms=_ms(started), **described(error))
    else:
        tell = job.warning if _troubled(outcome) else job.debug if reason(outcome) in QUIET else job.info
        tell("job_done", ms=_ms(started), **_facts(outcome))


def _troubled(outcome: Outcome) -> bool:
    """It failed, or the model that was asked did not write the summary: a wrong key must not stay unseen."""
    return isinstance(outcome, Failed) or bool(getattr(outcome, "fallback", ""))


def _facts(outcome: Outcome) -> dict[str, object]:
    names = ("generation", "tokens_before", "tokens_after", "method", "provisional", "fallback", "own_model")
    facts: dict[str, object] = {field: value for field in names if (value := getattr(outcome, field, ""))}
    if why := reason(outcome):
        facts["reason"] = why
    return {"outcome": name(outcome), **facts}


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
