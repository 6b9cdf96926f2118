"""One worker process: connections, the poller, the sweep, health, and the way down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn import recipe
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
from offturn_worker.pausing import Known, unless_paused
from offturn_worker.poller import Poller
from offturn_worker.process import kept
from offturn_worker.pulse import Pulse
from offturn_worker.server import connect, refuse_cluster, warn_of_settings
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
    """The clients of store and queue; often one and the same."""

    store: Redis
    queue: Redis

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
    pulse, store, metrics = Pulse("poll", "sweep"), SessionStore(servers.store), metrics or Metrics()
    watch = Watch(servers.named, lease_ms=settings.lease_ms, met=metrics.met)
    wake = Wake(servers.queue, rung=metrics.heard)
    pauses = Known(Pauses(servers.store).every)
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
    with unhandled_logged(), stop_on_signal() as stop:
        beat = partial(pulse.beat, "poll")
        poller = Poller(servers.queue, job, settings, watch=watch, wake=wake, beat=beat, stopping=stop.is_set)
        metrics.limit.set(settings.max_jobs)
        metrics.lag.set_function(lambda: pulse.lag)
        metrics.draining.set_function(stop.is_set)
        fleet = Fleet(servers.store, servers.queue, metrics.models)
        health = Health(pulse, servers.each, stop.is_set, metrics, fleet)
        heartbeat = Heartbeat(Workers(servers.store), settings, stop)
        async with (
            health.served(settings.health_host, settings.health_port) as port,
            heartbeat.kept(),
            _drained(poller, settings, stop),
            _started_without(later, poller),
        ):
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
    """Clients of servers that answer, closed after the block. Raises InvalidSetting."""
    async with AsyncExitStack() as stack:
        store = await connect(settings.store_url, seconds=settings.timeout, setting="OFFTURN_STORE_URL")
        stack.push_async_callback(store.aclose)
        queue = store
        if settings.queue_url and settings.queue_url != settings.store_url:
            queue = await connect(settings.queue_url, seconds=settings.timeout, setting="OFFTURN_QUEUE_URL")
            stack.push_async_callback(queue.aclose)
        url, setting = (settings.store_url, "OFFTURN_STORE_URL")
        if queue is not store and settings.queue_url:
            url, setting = settings.queue_url, "OFFTURN_QUEUE_URL"
        await refuse_cluster(queue, url, setting)
        servers = Servers(store=store, queue=queue)
        for redis in servers.each:
            await warn_of_settings(redis)
        yield servers


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
        await asyncio.get_running_loop().run_in_executor(None, later)  # a job's turn comes first

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
