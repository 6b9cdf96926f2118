"""arq's worker, with the traps of arq 0.28 closed; see docs/adr for why it is the executor and never the truth.

What differs from arq's own: it outlives Redis, takes jobs in one step (`take.lua`) and not in five a job, its lock on a
job lasts one lease and not one job timeout, it keeps no results, takes no signals, starts no job it already runs, and
drops the entries it cannot read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.resources import files
from itertools import count

import structlog
from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix
from arq.worker import Worker, func
from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn.doorbell import EXPIRES_MS, FUNCTION, dumps, loads
from offturn.stopping import stop
from offturn_config.keys import QUEUE, polling
from offturn_config.settings import WorkerSettings
from offturn_worker.jobs import Compact, compact_session
from offturn_worker.logs import described
from offturn_worker.outage import Watch, is_outage
from offturn_worker.process import COMPUTING
from offturn_worker.slots import Place
from offturn_worker.wake import Wake

READ_MARGIN = 100
"""Ids read at a look beyond all that may run: running jobs stay in front of the queue, and hide what is behind them."""

FINISHING = COMPUTING
"""Jobs beyond those that have a slot: more of them would wait for a thread, each with its session in memory."""

MAX_TRIES = 1_000_000
"""arq counts every start, restarts by a deployment included, and drops the job after the last; attempts are the
store's to count."""

NO_DEADLINE = 365 * 24 * 3600
"""Seconds. The recipe ends a job that does not get on; arq's one clock over all of a job would cut a long one."""

EMPTY_SECONDS = 5.0
"""Between two looks at an empty queue while rings are heard: only a lost ring is found by them, and by the sweep sooner."""

HEALTH_SECONDS = 10.0
LOOK_SECONDS = 30
"""A look at the queue that takes longer is given up: a silent Redis must not look like a dead worker."""

RELEASE_SECONDS = 5
"""For cancelled jobs to release their claims."""

log = structlog.get_logger(__name__)


class Poller(Worker):
    """Looks at the queue, when woken and every now and then, and runs what is due while `watch` is ready.

    `beat` is called after every look, also a failed one. `stopping`: was this worker told to stop? Then it takes nothing more,
    also in the moment until `main` is cancelled.
    """

    def __init__(
        self,
        redis: Redis,
        compact: Compact,
        settings: WorkerSettings,
        *,
        watch: Watch,
        wake: Wake,
        beat: Callable[[], None],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(
            [func(compact_session, name=FUNCTION, max_tries=MAX_TRIES, keep_result=0)],
            queue_name=QUEUE,
            redis_pool=ArqRedis(redis.connection_pool, job_serializer=dumps, job_deserializer=loads),
            ctx={"redis": redis, "compact": compact, "lease_ms": settings.lease_ms},
            handle_signals=False,
            max_jobs=settings.max_jobs,
            max_tries=MAX_TRIES,
            job_timeout=NO_DEADLINE,
            keep_result=0,  # of the worker too: jobs that fail before their start use this one
            poll_delay=settings.poll_seconds,
            queue_read_limit=settings.max_workers * (settings.max_jobs + FINISHING) + READ_MARGIN,
            health_check_key=polling(settings.worker_id),  # arq's is shared, and deleted by the first to stop
            allow_abort_jobs=False,
            job_serializer=dumps,
            job_deserializer=loads,
            expires_extra_ms=EXPIRES_MS,
            log_results=False,
        )
        # arq locks a job for its whole timeout, so that a killed worker's jobs wait that long; ours is renewed instead.
        self.in_progress_timeout_s = settings.lease_ms / 1000
        self._watch = watch
        self._wake = wake
        self._beat = beat
        self._stopping = stopping
        self._take = redis.register_script(files("offturn_worker").joinpath("take.lua").read_text(encoding="utf-8"))
        self._slots, self._numbers = asyncio.Semaphore(settings.max_jobs), count(1)
        self._queued = 1  # ids seen at the last look
        self._told = -HEALTH_SECONDS
        self.looked = asyncio.Event()
        """Set after the first look."""
        self._failing = False

    async def main(self) -> None:
        """Until cancelled. Unlike arq's it asks nothing of Redis first, so it may start during an outage."""
        while True:
            await self._poll_iteration()
            await self._wake.wait(self._rest)

    @property
    def _rest(self) -> float:
        """Seconds to the next look. An empty queue gets no job without a ring; in any other a lock may run out."""
        heard = self._wake.hears and not self._queued
        return max(self.poll_delay_s, EMPTY_SECONDS) if heard else self.poll_delay_s

    async def run_job(self, job_id: str, score: int) -> None:
        """A job that arq itself stumbles over is dropped: its error would end the worker, and the next one. The sweep
        rings again where a session is due.
        """
        try:
            await super().run_job(job_id, score)
        except Exception as error:
            if is_outage(error):
                raise
            log.error("job_dropped", job=job_id, **described(error))
            await asyncio.shield(self.finish_failed_job(job_id, None))

    async def drain(self, seconds: float) -> int:
        """Let running jobs finish, cancel those that do not; call it when `main` has ended. Returns the cancelled."""
        running = set(self.tasks.values())
        if not running:
            return 0
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=RELEASE_SECONDS)
            # arq waits for a task of its own in that of each job: cancelled again, it would leave that one behind.
            await stop(
                *self.job_tasks.values(), *late
            )  # a second cancellation ends what missed the first, or hangs in its release
        for task in running:
            if not task.cancelled() and (error := task.exception()):
                log.warning("job_not_recorded", error=type(error).__name__)
        return len(late)

    async def _poll_iteration(self) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._look()
        except (RedisError, OSError) as error:
            await self._failed(error)
        else:
            self._failing = False
        self.looked.set()
        self._beat()

    async def _look(self) -> None:
        for name, task in list(self.tasks.items()):
            if task.done():
                del self.tasks[name]
                task.result()  # raises what arq's books met
        if not self._watch.ready:
            self._queued = 1  # for all that is known: what is rung for now has to wait
        while self._may_start and len(self.tasks) < self.max_jobs + FINISHING and not self._slots.locked():
            await self._slots.acquire()  # at once
            if not await self._take_job() or self._queued <= len(self.tasks):
                break
        await self._tell()

    @property
    def _may_start(self) -> bool:
        return self._watch.ready and not self._stopping()

    async def _tell(self) -> None:
        """Say now and then that this worker looks; arq's own word is forgotten before a quiet worker looks again."""
        if time.monotonic() - self._told >= HEALTH_SECONDS:
            lasts = HEALTH_SECONDS + 2 * max(self.poll_delay_s, EMPTY_SECONDS)
            await self.pool.set(self.health_check_key, "", px=round(1000 * lasts))
            self._told = time.monotonic()

    async def _take_job(self) -> bool:
        """Take one that waits into the slot that was acquired, and start it. A job whose lock this process lost is not started
        a second time beside itself. An id that is no text, which no ring leaves and arq cannot read, goes.
        """
        lock_ms = int(self.in_progress_timeout_s * 1000)
        given: list[str | int] = [in_progress_key_prefix, lock_ms, self.queue_read_limit, *self.tasks]
        with ExitStack() as unused:
            unused.callback(self._slots.release)
            self._queued, *taken = await self._take(keys=[self.queue_name], args=given)
            if not taken:
                return False
            name, score = taken
            try:
                job_id = name.decode()
            except UnicodeDecodeError:
                log.warning("job_dropped", error="its id is no text")
                await self.pool.zrem(self.queue_name, name)
                await self.pool.delete(in_progress_key_prefix.encode() + name)
                return True
            unused.pop_all()
        self._start(job_id, int(float(score)))
        return True

    def _start(self, job_id: str, score: int) -> None:
        place = Place(self._slots, next(self._numbers), self._wake.rouse)  # a free slot takes the next job at once

        def ended(_: object) -> None:
            place.leave()
            self._wake.rouse()

        task = self.loop.create_task(self.run_job(job_id, score), context=place.variables)
        task.add_done_callback(ended)
        self.tasks[job_id] = task

    async def _failed(self, error: BaseException) -> None:
        if not self._failing:
            log.warning("look_failed", error=type(error).__name__)
        self._failing, self._queued = True, 1
        self._watch.meet("queue", error)
        await asyncio.sleep(self.poll_delay_s)
