"""Workers as pods on one machine, in front of a provider as slow as a real one: throughput, restarts, kills, scaling.

    python -m benchmarks.scale [--waves N] [--json FILE]

Every worker is a process of its own (`offturn worker`), the store is the embedded Valkey, the provider the project's model
server with a latency of its own. Jobs queue up before the first worker starts. Ends with `n of m reached`; exit 1 where a
bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scale.fleet import Fleet
from benchmarks.scale.load import Backlog, lossless, steady, whole
from benchmarks.scale.meter import Reading, cpu_seconds, resident
from benchmarks.scale.provider import Bill, billed, slow_provider
from benchmarks.scale.scaler import Scaler, shipped
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn.embedded import open_server
from offturn.health import health
from offturn_config.keys import QUEUE, due
from offturn_config.settings import WorkerSettings
from offturn_worker.fake_model.server import FakeModel

WORKERS, WAVES, DISTURBED = 4, 10, 4
"""So many jobs for each slot: what both ends of a run leave unused is a part of it that shrinks with its length."""

MAX_JOBS: int = WorkerSettings.model_fields["max_jobs"].default
IDLE_SECONDS = 20.0
HOST_SECONDS = 0.2
"""Between two records of the hosts that go on writing."""

FASTER = 20.0
"""By how much the scaler's times are shortened: the shipped ones fit jobs of minutes and nodes that start slowly."""

LONGEST = 600.0


@dataclass(slots=True)
class Run:
    """What all parts share: where things are, and what was found."""

    redis: Redis
    url: str
    client: CompactionClient
    provider: FakeModel
    waves: int
    found: dict[str, Any] = field(default_factory=dict)
    reached: list[bool] = field(default_factory=list)

    def fleet(self) -> Fleet:
        return Fleet(self.url, self.provider.url, MAX_JOBS)

    async def backlog(self, seed: int, number: int) -> Backlog:
        backlog = Backlog(self.client, seed)
        await backlog.add(number)
        return backlog

    async def emptied(self) -> None:
        """Until nothing is due, asked once a second. Raises TimeoutError."""
        async with asyncio.timeout(LONGEST):
            while await self.redis.zcard(due()):  # noqa: ASYNC110 - other processes empty it
                await asyncio.sleep(1)

    def bar(self, held: bool, text: str) -> None:
        self.reached.append(held)
        _say(f"  {'reached' if held else 'MISSED '}  {text}")

    def note(self, name: str, value: float, text: str) -> None:
        self.found[name] = value
        _say(f"  {text}")


def main(arguments: list[str]) -> int:
    """Run all, print all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--waves", type=int, default=WAVES, metavar="N", help="jobs for each slot (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args(arguments)
    run = asyncio.run(_all(given.waves))
    if given.json:
        given.json.write_text(json.dumps(run.found, indent=2) + "\n")
    _say(f"{sum(run.reached)} of {len(run.reached)} reached")
    return 0 if all(run.reached) else 1


async def _all(waves: int) -> Run:
    async with _opened(waves) as run:
        for part in (idle, throughput, rolling_restart, kills, scaling):
            await part(run)
    return run


@asynccontextmanager
async def _opened(waves: int) -> AsyncIterator[Run]:
    with tempfile.TemporaryDirectory(prefix="offturn-scale-") as folder:
        server = await asyncio.to_thread(open_server, Path(folder))
        try:
            url = f"redis://127.0.0.1:{server.port}/0"
            async with (
                Redis.from_url(url) as redis,
                CompactionClient.from_url(url, timeout=30) as client,
                slow_provider() as provider,
            ):
                yield Run(redis, url, client, provider, waves)
        finally:
            await asyncio.to_thread(server.close)


async def idle(run: Run) -> None:
    """What workers ask the server while nothing is due."""
    _say(f"idle: {WORKERS} workers, {IDLE_SECONDS:g} s")
    async with run.fleet() as fleet:
        await fleet.scale(WORKERS)
        await asyncio.sleep(2)
        before, cpu = await Reading.taken(run.redis), cpu_seconds(fleet.pids)
        await asyncio.sleep(IDLE_SECONDS)
        after, burnt = await Reading.taken(run.redis), cpu_seconds(fleet.pids) - cpu
        rate = before.rate(after) / WORKERS
        run.note(
            "idle_commands", rate, f"Redis commands a second per worker: {rate:.1f}, those inside scripts included"
        )
        share = burnt / IDLE_SECONDS / WORKERS
        run.note("idle_cpu", share, f"CPU per worker: {share:.2%}")
        run.note(
            "resident", resident(fleet.pids), f"resident memory of a worker: {resident(fleet.pids) / 2**20:.0f} MiB"
        )


async def throughput(run: Run) -> None:
    """Jobs done in the time in which so many slots could do them if nothing but the provider took time."""
    slots, jobs = WORKERS * MAX_JOBS, WORKERS * MAX_JOBS * run.waves
    _say(f"throughput: {WORKERS} workers x {MAX_JOBS} jobs, {jobs} sessions, each one model call")
    bare = await Reading.taken(run.redis)
    backlog = await run.backlog(1, jobs)
    full = await Reading.taken(run.redis)
    size = (full.memory - bare.memory) / jobs
    run.note("session_bytes", size, f"a session of {backlog.size / jobs / 1000:.0f} kB takes {size / 1000:.0f} kB")
    async with run.fleet() as fleet:
        with billed(run.provider) as billing:
            await fleet.scale(WORKERS)
            before, cpu = await Reading.taken(run.redis), cpu_seconds(fleet.pids)
            await run.emptied()
            after, burnt = await Reading.taken(run.redis), cpu_seconds(fleet.pids) - cpu
        bill = billing.total()
        size = (after.memory - full.memory) / jobs
        run.note(
            "generation_bytes", size, f"a generation, with what is kept of its summary, takes {size / 1000:.0f} kB more"
        )
        spans, ideal = await backlog.spans(), slots / bill.latency
        done = whole(spans)
        run.note("latency", bill.latency, f"an answer takes {bill.latency:.1f} s")
        run.note("job_cpu", burnt / jobs, f"worker CPU a job: {burnt / jobs * 1000:.0f} ms")
        run.note("job_commands", (after.commands - before.commands) / jobs, _commands(before, after, jobs))
        run.note("busy_resident", resident(fleet.pids), f"resident memory: {resident(fleet.pids) / 2**20:.0f} MiB")
        rate = steady(spans) / ideal
        run.note(
            "steady",
            rate,
            f"while jobs waited, {rate:.1%} of workers x max_jobs / latency; the bar counts all of the run",
        )
        most = jobs / lossless(bill.answers, slots) / ideal
        run.note(
            "lossless", most, f"slots that lose no time reach {most:.1%}: the last answers end one after the other"
        )
        run.found["throughput"] = done / ideal
        run.bar(
            done / ideal >= 0.9,
            f"throughput {done:.2f} jobs/s, {done / ideal:.1%} of workers x max_jobs / latency ({ideal:.2f})",
        )
        run.bar(bill.twice == 0, f"{bill.paid} model calls answered, {bill.twice} paid twice")


def _commands(before: Reading, after: Reading, jobs: int) -> str:
    rate = before.rate(after) / WORKERS
    return f"Redis commands a second per worker, busy: {rate:.1f}; a job takes {(after.commands - before.commands) / jobs:.0f}"


async def rolling_restart(run: Run) -> None:
    """Every pod is replaced while jobs run and hosts write: nothing is lost, nothing is paid for again."""
    bill, lost, open_ = await _disturbed(run, 2, "rolling restart: every pod replaced, one after the other", _rolled)
    run.bar(lost == 0 and open_ == 0, f"messages lost or altered: {lost}; sessions without a generation: {open_}")
    run.bar(
        bill.twice == 0 and bill.cut == 0, f"{bill.paid} calls answered, {bill.twice} paid twice, {bill.cut} cut off"
    )


async def kills(run: Run) -> None:
    """Pods die in the middle of their jobs: what was under way is asked again, nothing else."""
    bill, lost, open_ = await _disturbed(run, 3, f"kills: {WORKERS} pods, one after the other", _killed)
    run.bar(lost == 0 and open_ == 0, f"messages lost or altered: {lost}; sessions without a generation: {open_}")
    most = WORKERS * MAX_JOBS
    run.bar(
        bill.twice + bill.cut <= most,
        f"{bill.twice + bill.cut} calls in vain, of at most {most} that ran in killed pods",
    )


async def _rolled(fleet: Fleet) -> None:
    await asyncio.sleep(3)
    await fleet.roll()


async def _killed(fleet: Fleet) -> None:
    for _ in range(WORKERS):
        await asyncio.sleep(5)
        await fleet.lose()


async def _disturbed(run: Run, seed: int, title: str, disturb: Callable[[Fleet], Any]) -> tuple[Bill, int, int]:
    jobs = WORKERS * MAX_JOBS * min(run.waves, DISTURBED)
    _say(f"{title}; {jobs} sessions, hosts write five times a second")
    backlog = await run.backlog(seed, jobs)
    async with run.fleet() as fleet:
        with billed(run.provider) as billing:
            await fleet.scale(WORKERS)
            ended = asyncio.Event()
            writing = asyncio.create_task(backlog.go_on(HOST_SECONDS, ended))
            await disturb(fleet)
            ended.set()
            await writing
            await run.emptied()
        return billing.total(), await backlog.lost(), await backlog.without()


async def scaling(run: Run) -> None:
    """A burst, and the pods that the shipped ScaledObject asks for, its times shortened."""
    rule, jobs = shipped(), 32
    _say(
        f"scaling: a burst of {jobs} sessions; a pod for {rule.jobs:g} jobs or {rule.age:g} s of waiting, {rule.least} to "
        f"{rule.most} pods of {MAX_JOBS} jobs, times {FASTER:g} x shorter"
    )
    scaler, line, most = Scaler(rule), list[str](), 0
    async with Fleet(run.url, run.provider.url, MAX_JOBS) as fleet:
        await fleet.scale(rule.least)
        backlog = await run.backlog(4, jobs)
        began = asyncio.get_running_loop().time()
        with billed(run.provider) as billing:
            async with asyncio.timeout(LONGEST):
                while True:
                    now = asyncio.get_running_loop().time() - began
                    queued, age = await run.redis.zcard(QUEUE), (await health(run.redis)).oldest_due_s
                    current = len(fleet.pods)
                    wanted = scaler.pods(now * FASTER, jobs=queued, age=age * FASTER, current=current)
                    if wanted != current:
                        line.append(f"{now:.0f} s: {wanted}")
                    most = max(most, wanted)
                    await fleet.scale(wanted)
                    if wanted == rule.least and not await run.redis.zcard(due()):
                        break
                    await asyncio.sleep(rule.polling / FASTER)
        bill, lost, open_ = billing.total(), await backlog.lost(), await backlog.without()
    _say(f"  pods: {', '.join(line)}")
    run.found["most_pods"] = most
    run.bar(
        most > rule.least and lost == 0 and open_ == 0 and bill.twice == 0 and bill.cut == 0,
        f"up to {most} pods and back to {rule.least}; lost {lost}, without a generation {open_}, paid twice {bill.twice}, "
        f"cut off {bill.cut}",
    )


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
