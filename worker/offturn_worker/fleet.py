"""What is true of all workers together, read from the store when Prometheus asks: any worker says the same.

A server that is away, or slow, costs a scrape a second and its own numbers, never the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn.health import Health, health
from offturn.store.limits import RouteTrouble, SharedLimits
from offturn.store.sessions import SessionStore
from offturn.store.workers import WorkerSeen
from offturn_config.errors import OffturnError
from offturn_config.keys import QUEUE
from offturn_worker.sweep import LeftAlone

SECONDS = 1.0

Breaker = Literal["closed", "half_open", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """None: that server did not answer. `oldest`: seconds that a session has waited which no pause keeps workers from; None:
    it was not found in time among those of paused tenants. `now_ms` is the store's clock.
    """

    store: Health | None = None
    oldest: float | None = None
    routes: Sequence[RouteTrouble] = ()
    now_ms: int = 0
    queued: int | None = None


class Fleet(Collector):
    """`models`: those that this worker is set to ask, whose breakers are closed where nothing else is known."""

    def __init__(self, store: Redis, queue: Redis, models: Sequence[str] = ()) -> None:
        self._store = store
        self._queue = queue
        self._limits = SharedLimits(store)
        self._models = models
        self._sample = Sample()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    async def text(self) -> bytes:
        """The numbers of now, as Prometheus reads them. Never raises."""
        store, queued = await asyncio.gather(self._of_store(), self._of_queue())
        self._sample = replace(store, queued=queued)
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The sample as metrics; a number that is not known is absent."""
        known, queued = self._sample.store, self._sample.queued
        yield _gauge("offturn_up_store", "1 where the store has answered this scrape", known is not None)
        yield _gauge("offturn_up_queue", "1 where the queue's server has answered this scrape", queued is not None)
        yield _gauge("offturn_queue_length", "Jobs that wait in the queue or run", queued)
        yield _gauge("offturn_due_sessions", "Sessions that wait for a worker", known.due if known else None)
        yield _gauge(
            "offturn_oldest_due_seconds",
            "How long the first of them has waited that no pause holds back",
            self._sample.oldest,
        )
        yield _gauge("offturn_pauses", "Pauses that hold", len(known.pauses) if known else None)
        yield _gauge(
            "offturn_parked_sessions", "Sessions that job after job failed on", known.parked if known else None
        )
        workers = _counted(known.workers) if known else {}
        yield _gauges("offturn_workers", "Workers that beat lately", "state", workers)
        yield self._breakers()

    def _breakers(self) -> Metric:
        family = GaugeMetricFamily(
            "offturn_breaker", "1 for the state a model's breaker is in", labels=("model", "state")
        )
        if self._sample.store is None:
            return family
        states: dict[str, Breaker] = dict.fromkeys(self._models, "closed")
        rank = get_args(Breaker)
        for trouble in self._sample.routes:
            model, state = trouble.entry.partition("#")[0], _state(trouble, self._sample.now_ms)
            states[model] = max(states.get(model, "closed"), state, key=rank.index)
        for model, state in sorted(states.items()):
            for one in rank:
                family.add_metric((model, one), one == state)
        return family

    async def _of_store(self) -> Sample:
        ends = asyncio.get_running_loop().time() + SECONDS
        try:
            async with asyncio.timeout_at(ends):
                found, routes = await health(self._store), await self._limits.routes()
                seconds, microseconds = await self._store.time()
        except (OffturnError, RedisError, OSError):
            return Sample()
        if not found.reachable:
            return Sample()
        now = seconds * 1000 + microseconds // 1000
        return Sample(store=found, oldest=await self._oldest(found, now, ends), routes=routes, now_ms=now)

    async def _oldest(self, found: Health, now: int, ends: float) -> float | None:
        """More workers are of no use to what is paused: who scales by this must not see it."""
        if not found.pauses:
            return found.oldest_due_s
        if any(pause.tenant is None for pause in found.pauses):
            return 0.0
        try:
            async with asyncio.timeout_at(ends):
                first = await SessionStore(self._store).due(1, but=LeftAlone((), found.pauses))
        except (OffturnError, RedisError, OSError):
            return None
        return max(0, now - first[0][1]) / 1000 if first else 0.0

    async def _of_queue(self) -> int | None:
        try:
            async with asyncio.timeout(SECONDS):
                return int(await self._queue.zcard(QUEUE))
        except (OffturnError, RedisError, OSError):
            return None


def _state(trouble: RouteTrouble, now_ms: int) -> Breaker:
    """Half open: the next call is let through to see."""
    if not trouble.open:
        return "closed"
    return "open" if trouble.until > now_ms else "half_open"


def _counted(workers: Sequence[WorkerSeen]) -> Mapping[str, int]:
    states = {"ready": 0, "draining": 0, "in_process": 0}
    for worker in workers:
        if worker.here:
            ready = "draining" if worker.about.draining else "ready"
            states["in_process" if worker.about.kind == "in-process" else ready] += 1
    return states


def _gauge(name: str, about: str, value: float | None) -> Metric:
    family = GaugeMetricFamily(name, about)
    if value is not None:
        family.add_metric((), value)
    return family


def _gauges(name: str, about: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=(label,))
    for value, count in values.items():
        family.add_metric((value,), count)
    return family
