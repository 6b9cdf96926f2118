"""Who may be asked now, as all workers know it: `offturn_models.breaker`'s gate over the store's shared limits."""

from __future__ import annotations

import asyncio
from secrets import token_hex

import structlog

from offturn.store.limits import Entered, OverRate, SharedLimits, Shut
from offturn_config.errors import OffturnError
from offturn_config.settings import WorkerSettings
from offturn_engine.outcome import LIMITED
from offturn_engine.summary import SummaryRequest
from offturn_engine.tokens import estimate_text
from offturn_models.breaker import FAILURES, Closed, Entry, Verdict

SHORT_MS = 1_000
"""A wait up to this is slept in the job's slot, a longer one hands the session back."""

TRIES = 5  # others may be faster after a wait
MARGIN_MS = 5_000  # by which a probe may outlast its call's deadline before another one is let through

log = structlog.get_logger(__name__)


class SharedGate:
    """Asks the store. A store that does not answer lets everybody through: the job will notice it soon enough."""

    def __init__(self, limits: SharedLimits, settings: WorkerSettings) -> None:
        self._limits = limits
        self._requests = settings.requests_per_minute or 0
        self._tokens = settings.tokens_per_minute or 0

    async def enter(self, entry: Entry, request: SummaryRequest) -> str | Closed:
        """A pass, or for how long the entry is not asked."""
        token = token_hex(8)
        tokens = await asyncio.to_thread(_tokens, request) if self._tokens else 0
        for left in reversed(range(TRIES)):
            try:
                answer = await self._limits.route_enter(
                    entry.id,
                    account=entry.account,
                    token=token,
                    tokens=tokens,
                    requests_a_minute=self._requests,
                    tokens_a_minute=self._tokens,
                    probe_ms=int(entry.timeout * 1000) + MARGIN_MS,
                )
            except OffturnError as error:
                log.warning("gate_unreachable", error=type(error).__name__)
                return token
            if not (isinstance(answer, OverRate) and left and answer.wait_ms <= SHORT_MS):
                return token if isinstance(answer, Entered) else _closed(answer)
            await asyncio.sleep(answer.wait_ms / 1000)
        raise AssertionError("the last try returns")

    async def leave(self, entry: Entry, shown: str, trouble: Verdict | None) -> None:
        """Tell what came of the call, and log a breaker that opens or closes."""
        try:
            left = await self._limits.route_leave(
                entry.id,
                token=shown,
                trouble=trouble.kind if trouble else None,
                permanent=bool(trouble and trouble.permanent),
                failures=FAILURES,
                pause_ms=trouble.pause_ms if trouble else 0,
                longest_ms=trouble.longest_ms if trouble else 0,
                retry_after_ms=trouble.retry_after_ms if trouble else 0,
            )
        except OffturnError as error:
            log.warning("gate_unreachable", error=type(error).__name__)
            return
        if left.opened and trouble:
            log.warning(
                "route_opened", entry=entry.id, reason=trouble.kind, permanent=trouble.permanent, ms=left.wait_ms
            )
        elif left.closed:
            log.info("route_closed", entry=entry.id)


def _closed(answer: Shut | OverRate) -> Closed:
    wait = answer.wait_ms / 1000
    if isinstance(answer, OverRate):
        return Closed(reason=LIMITED, wait=wait)
    return Closed(reason=answer.reason, wait=wait, permanent=answer.permanent)


def _tokens(request: SummaryRequest) -> int:
    return estimate_text(request.system) + estimate_text(request.content) + request.max_output_tokens
