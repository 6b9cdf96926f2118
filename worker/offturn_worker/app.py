"""One worker process: connections, the poller, the sweep, health, and the way down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn import recipe
from offturn.connect import open_redis
from offturn.doorbell import Doorbell
from offturn.stopping import stop as stop_tasks
from offturn.store.archiving import ArchiveStore
from offturn.store.limits import SharedLimits
from offturn.store.pausing import Pauses
from offturn.store.sessions import SessionStore
from offturn.store.tenants import Tenants
from offturn.store.unpacked import Unpacked
from offturn.store.workers import Workers
from offturn.summarizer import AnySummarizer
from offturn_config.errors import OffturnError
from offturn_config.settings import WorkerSettings
from offturn_models.prices import price_of
from offturn_models.route import Route
from offturn_worker.archive.keeping import Keeper, with_archive
from offturn_worker.archive.objects import Objects
from offturn_worker.archive.walk import Walk
from offturn_worker.asked import AskedRemote, asked, in_slot, models_of
from offturn_worker.counting import counted
from offturn_worker.fleet import Fleet
from offturn_worker.gate import SharedGate
from offturn_worker.health import Health
from offturn_worker.heartbeat import Heartbeat
from offturn_worker.jobs import Compact
from offturn_worker.logs import described, unhandled_logged
from offturn_worker.metrics import Metrics
from offturn_worker.outage import Watch
from offturn_worker.packer import Packer
from offturn_worker.pausing import KnownPauses, unless_paused
from offturn_worker.poller import Poller
from offturn_worker.process import kept
from offturn_worker.pulse import Pulse
from offturn_worker.server import FIRST_LOOK_SECONDS, Named, arrived, outages
from offturn_worker.shutdown import stop_on_signal
from offturn_worker.summarizers import endpoints, load
from offturn_worker.sweep import Sweep
from offturn_worker.tenants import within_places
from offturn_worker.tracing import Together, Traces, traces_sent
from offturn_worker.wake import Wake

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What `started` is told, once the worker takes jobs. `health_port` is None where health is off."""

    worker_id: str
    health_port: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The clients of store and queue; often one and the same. `away`: by name, which did not answer at first, and why.

    stop: set by the first signal, which may come while they are looked at.
    """

    store: Redis
    queue: Redis
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    away: dict[str, tuple[Named, Exception]] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Redis]:
        """Each server once, by what it is called in logs: the one that serves both is the queue."""
        return {"queue": self.queue} if self.store is self.queue else {"store": self.store, "queue": self.queue}

    @property
    def each(self) -> tuple[Redis, ...]:
        return tuple(self.named.values())


async def run_worker(
    settings: WorkerSettings,
    *,
    summarizer: AnySummarizer,
    started: Callable[[Running], None] | None = None,
    store: Callable[[Redis], SessionStore] = SessionStore,
) -> None:
    """Compact sessions until SIGTERM, SIGINT or cancellation. Raises InvalidSetting if it cannot start.

    store: makes what jobs work on.
    """
    async with traces_sent(settings), open_servers(settings) as servers:
        limits, metrics = SharedLimits(servers.store), Metrics(models_of(summarizer), price_of)
        observer = Together(metrics, Traces())
        asking = asked(summarizer, observer)
        compact: Compact = partial(
            recipe.run,
            store=store(servers.store),
            doorbell=Doorbell(servers.queue),
            summarizer=in_slot(asking.behind(SharedGate(limits, settings)) if isinstance(asking, Route) else asking),
            lease_ms=settings.lease_ms,
            worker_id=settings.worker_id,
            prices=price_of,
            remote=AskedRemote(endpoints(settings), observer),
            patience=settings.job_timeout,
            hourly=settings.compactions_per_hour,
            observer=observer,
        )
        if settings.tenant_jobs:
            compact = within_places(compact, limits, places=settings.tenant_jobs, lease_ms=settings.lease_ms)
        await serve(settings, servers, compact, started, metrics, partial(kept, partial(load, summarizer)))


async def serve(
    settings: WorkerSettings,
    servers: Servers,
    compact: Compact,
    started: Callable[[Running], None] | None = None,
    metrics: Metrics | None = None,
    later: Callable[[], None] = lambda: None,
) -> None:
    """The worker around any `compact`. The first signal drains, the second ends the process.

    later: called in a thread after the first look at the queue, for what a start need not wait for.
    """
    stop, store, metrics = servers.stop, SessionStore(servers.store), metrics or Metrics()
    pulse = Pulse("poll", "sweep")
    watch = Watch(servers.named, lease_ms=settings.lease_ms, met=metrics.met)
    wake = Wake(servers.queue, rung=metrics.heard)
    pauses = KnownPauses(Pauses(servers.store).every)
    archive = ArchiveStore(servers.store)
    keeper = Keeper(archive, Objects(settings.archive_url), metrics.moved) if settings.archive_url else None
    job = counted(with_archive(unless_paused(compact, pauses), archive, keeper), metrics, store)
    sweep = Sweep(
        store,
        Doorbell(servers.queue),
        seconds=settings.sweep_seconds,
        beat=partial(pulse.beat, "sweep"),
        pauses=pauses.now,
        swept=metrics.swept,
        waiting=wake.rouse,
    )
    walk = Walk(archive, Tenants(servers.store), keeper, after=settings.archive_after)
    workers = Workers(servers.store)
    with unhandled_logged():
        beat = partial(pulse.beat, "poll")
        poller = Poller(servers.queue, job, settings, watch=watch, wake=wake, beat=beat, stopping=stop.is_set)
        metrics.limit.set(settings.max_jobs)
        metrics.lag.set_function(lambda: pulse.lag)
        metrics.draining.set_function(stop.is_set)
        fleet = Fleet(servers.store, servers.queue, metrics.models)
        health = Health(pulse, servers.each, stop.is_set, metrics, fleet)
        heartbeat = Heartbeat(workers, settings, stop)
        async with health.served(settings.health_host, settings.health_port) as port:
            if stop.is_set() or (servers.away and not await _arrived(servers, settings, watch, pulse)):
                log.info("stopped", worker=settings.worker_id, cancelled=0)
                return
            with suppress(OffturnError):  # a store that is lost already is waited for all the same
                if any(one.id != settings.worker_id for one in await workers.every()):
                    await watch.begin()
            async with heartbeat.kept(), _drained(poller, settings, stop), _started_without(later, poller):
                if started:
                    started(Running(worker_id=settings.worker_id, health_port=port))
                log.info("started", worker=settings.worker_id, max_jobs=settings.max_jobs, health_port=port)
                loops = [poller.main(), sweep.run(), watch.run(), wake.run(), pulse.watch(), walk.run()]
                if settings.pack_after_seconds >= 0:
                    notes = Unpacked(servers.store)
                    loops.append(Packer(SessionStore(servers.store), notes, after=settings.pack_after_seconds).run())
                await _until(stop, *loops)


@asynccontextmanager
async def open_servers(settings: WorkerSettings) -> AsyncIterator[Servers]:
    """Clients of the servers, closed after the block; those that do not answer are noted. Raises InvalidSetting.

    Signals are handled from here on: a server that is silent keeps the first look for a while.
    """
    async with AsyncExitStack() as stack:
        stop = stack.enter_context(stop_on_signal())

        async def opened(url: str, setting: str, *, holds_queue: bool) -> Named:
            redis = await open_redis(url, timeout=settings.timeout, setting=setting)
            stack.push_async_callback(redis.aclose)
            return Named(redis=redis, url=url, setting=setting, holds_queue=holds_queue)

        apart = settings.queue_url if settings.queue_url != settings.store_url else None
        store = await opened(settings.store_url, "OFFTURN_STORE_URL", holds_queue=not apart)
        queue = await opened(apart, "OFFTURN_QUEUE_URL", holds_queue=True) if apart else store
        servers = Servers(store=store.redis, queue=queue.redis, stop=stop)
        named = {"store": store, "queue": queue} if apart else {"queue": store}

        async def look() -> None:
            for name, error in (await outages(named, min(FIRST_LOOK_SECONDS, settings.timeout))).items():
                named[name].tell(error)
                servers.away[name] = named[name], error

        await _done(look(), stop)
        yield servers


async def _done(work: Coroutine[None, None, None], stop: asyncio.Event) -> bool:
    """Is it done before the worker is asked to stop? Raises what the work raises."""
    working, asked = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, asked), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        await stop_tasks(working, asked)


async def _arrived(servers: Servers, settings: WorkerSettings, watch: Watch, pulse: Pulse) -> bool:
    """Wait for the servers that were away: alive and not ready. False: asked to stop before they came.

    Other workers may have lived through the outage, so that jobs start one lease after it. Raises InvalidSetting.
    """

    def looking() -> None:
        pulse.beat("poll")
        pulse.beat("sweep")

    for name, (_, error) in servers.away.items():
        watch.meet(name, error)
    named = {name: server for name, (server, _) in servers.away.items()}
    return await _done(arrived(named, seconds=settings.timeout, looking=looking), servers.stop)


@asynccontextmanager
async def _drained(poller: Poller, settings: WorkerSettings, stop: asyncio.Event) -> AsyncIterator[None]:
    """Leave with no job running: asked to stop, they get their time; cancelled or broken, they are cancelled."""
    try:
        yield
    finally:
        cancelled = await poller.drain(settings.drain_seconds if stop.is_set() else 0)
        await _forget(poller)
        log.info("stopped", worker=settings.worker_id, cancelled=cancelled)


async def _forget(poller: Poller) -> None:
    try:
        await poller.pool.delete(poller.health_check_key)
    except (RedisError, OSError):
        log.info("health_key_left")  # it expires by itself


@asynccontextmanager
async def _started_without(later: Callable[[], None], poller: Poller) -> AsyncIterator[None]:
    """Inside the block it is done in a thread, after the first look."""

    async def do() -> None:
        await poller.looked.wait()
        await asyncio.to_thread(later)  # in line with what computes, and in front: the first jobs need it to ask

    task = asyncio.create_task(do())
    try:
        yield
    finally:
        await stop_tasks(task)


async def _until(stop: asyncio.Event, *loops: Coroutine[None, None, None]) -> None:
    """Run the loops until asked to stop. A loop that ends by itself is a bug and ends the worker with its error."""
    tasks = [asyncio.create_task(loop) for loop in (_asked(stop), *loops)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await stop_tasks(*tasks)
    for task in done:
        if not task.cancelled() and (error := task.exception()):
            log.error("loop_ended", **described(error))
            raise error


async def _asked(stop: asyncio.Event) -> None:
    await stop.wait()
