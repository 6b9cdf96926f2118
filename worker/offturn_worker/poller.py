"""arq's worker, with the traps of arq 0.28 closed; see docs/adr for why it is the executor and never the truth.

What differs from arq's own: it outlives Redis, its lock on a job lasts one lease and not one job timeout, it keeps no
results, takes no signals, starts no job it already runs, and drops the entries it cannot read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from arq.connections import ArqRedis
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
from offturn_worker.wake import Wake

READ_MARGIN = 100
"""Ids read at a look beyond all that may run: running jobs stay in front of the queue, and hide what is behind them."""

MAX_TRIES = 1_000_000
"""arq counts every start, restarts by a deployment included, and drops the job after the last; attempts are the
store's to count."""

NO_DEADLINE = 365 * 24 * 3600
"""Seconds. The recipe ends a job that does not get on; arq's one clock over all of a job would cut a long one."""

HEALTH_SECONDS = 10
LOOK_SECONDS = 30
"""A look at the queue that takes longer is given up: a silent Redis must not look like a dead worker."""

RELEASE_SECONDS = 5
"""For cancelled jobs to release their claims."""

log = structlog.get_logger(__name__)


class Poller(Worker):
    """Looks at the queue, when woken and every now and then, and runs what is due while `watch` is ready.

    `beat` is called after every look, also a failed one.
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
            queue_read_limit=settings.max_workers * settings.max_jobs + READ_MARGIN,
            health_check_interval=HEALTH_SECONDS,
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
        self._failing = False

    async def main(self) -> None:
        """Until cancelled. Unlike arq's it asks nothing of Redis first, so it may start during an outage."""
        while True:
            await self._poll_iteration()
            await self._wake.wait(self.poll_delay_s)

    async def start_jobs(self, job_ids: list[bytes]) -> None:
        """A job whose lock this process lost is not started a second time beside itself.

        What no ring leaves, and arq cannot read or never runs, goes: ids that are no text, and times up to zero.
        """
        if job_ids:
            await self.pool.zremrangebyscore(self.queue_name, "-inf", 0)
        if strange := [name for name in job_ids if not _is_text(name)]:
            log.warning("jobs_dropped", count=len(strange))
            await self.pool.zrem(self.queue_name, *strange)
        await super().start_jobs([name for name in job_ids if _is_text(name) and name.decode() not in self.tasks])

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
            await stop(*late)  # a second cancellation ends what missed the first, or hangs in its release
        for task in running:
            if not task.cancelled() and (error := task.exception()):
                log.warning("job_not_recorded", error=type(error).__name__)
        return len(late)

    async def _poll_iteration(self) -> None:
        self.allow_pick_jobs = self._watch.ready
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await super()._poll_iteration()
        except (RedisError, OSError) as error:
            await self._failed(error)
        else:
            self._failing = False
        self._beat()

    async def _failed(self, error: BaseException) -> None:
        if not self._failing:
            log.warning("look_failed", error=type(error).__name__)
        self._failing = True
        if is_outage(error):
            self._watch.lose("queue", error)
        await asyncio.sleep(self.poll_delay_s)
        self._return_slots()

    def _release_sem_dec_counter_on_complete(self) -> None:
        """A free slot takes the next job at once."""
        super()._release_sem_dec_counter_on_complete()
        self._wake.rouse()

    def _return_slots(self) -> None:
        """arq leaks the slot of a job whose lock it was taking when the connection broke."""
        running = sum(not task.done() for task in self.tasks.values())
        while self.job_counter > running:
            self._release_sem_dec_counter_on_complete()


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
