"""A job counted, and after it what only its session knows: when hosts were shown the generation before, and what they had
to make themselves.
"""

from __future__ import annotations

import asyncio
import time

from redis.exceptions import RedisError

from offturn.config import SessionConfig
from offturn.store.sessions import SessionStore
from offturn.store.state import GenInfo, Meta
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_engine.outcome import NO_GAIN, NOTHING_TO_COVER, TOO_DENSE, Compacted, Outcome, Pruned, name, reason
from offturn_worker.jobs import Compact
from offturn_worker.metrics import Metrics

EVENTS = 100
"""Events read after a commit; a session that had more before its generation was adopted is not counted."""

SECONDS = 1.0

STRIKING = (NO_GAIN, NOTHING_TO_COVER, TOO_DENSE)
BLOCKED = "blocked"


def counted(compact: Compact, metrics: Metrics, store: SessionStore) -> Compact:
    """The same, with its jobs counted."""

    async def compacted(key: SessionKey) -> Outcome:
        started = time.monotonic()
        how, why, seconds = "cancelled", "", None
        metrics.in_flight.inc()
        try:
            outcome = await compact(key)
            how, why, seconds = name(outcome), reason(outcome), time.monotonic() - started
            await _look_back(key, outcome, metrics, store)
        except Exception as error:
            how, why = "raised", type(error).__name__
            raise
        finally:
            metrics.in_flight.dec()
            metrics.ended(how, why, time.monotonic() - started if seconds is None else seconds)
        return outcome

    return compacted


async def _look_back(key: SessionKey, outcome: Outcome, metrics: Metrics, store: SessionStore) -> None:
    why = reason(outcome)
    if why == BLOCKED:  # by the claim, which lets none through after it
        metrics.too_dense.inc()
    if not isinstance(outcome, Compacted | Pruned) and why not in STRIKING:
        return
    try:
        async with asyncio.timeout(SECONDS):
            meta = await store.meta(key)
            if meta is None:
                return
            if isinstance(outcome, Compacted | Pruned):
                await _generations(key, meta, outcome.generation, metrics, store)
            else:
                metrics.too_dense.inc(bool(meta.blocked))
    except (OffturnError, RedisError, OSError):
        return  # numbers only, and Redis errors are counted elsewhere


async def _generations(key: SessionKey, meta: Meta, number: int, metrics: Metrics, store: SessionStore) -> None:
    before = _before(meta, number)
    while before is not None and _emergency(before):
        metrics.emergencies.inc()
        before = _before(meta, before.number)
    if before is None or SessionConfig.from_json(meta.config).adopt == "never":
        return
    events = await store.events(key, after=f"{before.at}-0", limit=EVENTS)
    for event in events:
        if event.kind == "adopted" and event.fields.get("generation") == before.number:
            metrics.adoption.observe((event.at - before.at) / 1000)
            return
    if len(events) < EVENTS:
        metrics.unadopted.inc()


def _before(meta: Meta, number: int) -> GenInfo | None:
    made = meta.generations.get(number)
    return meta.generations.get(made.replaces) if made else None


def _emergency(made: GenInfo) -> bool:
    """Made by a host, so that its request fits."""
    return made.provisional and made.reason == "overflow"
