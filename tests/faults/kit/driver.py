"""One run: measure take-overs, do harm by the seed's schedule, let everything come to rest, and call the judge."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offturn import CompactionClient
from offturn.errors import OffturnError
from tests.faults.kit.keyspace import write_down
from tests.faults.kit.plans import Plan, every_act
from tests.faults.kit.stage import Stage
from tests.faults.kit.writer import Spec

SETTLE = 60.0  # seconds after the last fault until which something may be due: a full store is tried again after 30
MEDIAN, LONGEST = 5.0, 8.0  # seconds until another worker starts a killed one's job
RULES = ("lost", "altered", "double", "invariant", "double commit", "due", "paid", "redacted", "told", "hang")
PROVIDER = "provider failure"
MORE = ("lose reply", "cut", "slow", "stray job", "fail call", "skew")
ACT_OF = {
    "worker SIGKILL": "kill worker",
    "worker SIGSTOP longer than the lease": "stop worker",
    "server SIGKILL": "kill server",
    "lost reply": "lose reply",
    "during a job": "during a job",
    "last second lost": "lose last second",
    "server frozen": "freeze server",
    "server full": "fill server",
}


@dataclass(slots=True)
class Report:
    """What came of a run."""

    plan: Plan
    seed: int
    events: Counter[str] = field(default_factory=Counter)
    takeovers: list[float] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def missed(self) -> list[str]:
        """What does not come up to the plan, and what was found."""
        found = [*self.trouble]
        counts, least = self.verdict.get("counts", {}), self.plan.least
        found += [f"{kind}: {self.events[kind]} of {n}" for kind, n in least.items() if self.events[kind] < n]
        if self.events.total() < self.plan.events:
            found.append(f"fault events: {self.events.total()} of {self.plan.events}")
        if (made := counts.get("generations", 0)) < self.plan.generations:
            found.append(f"generations: {made} of {self.plan.generations}")
        if len(self.takeovers) < self.plan.takeovers:
            found.append(f"take-overs: {len(self.takeovers)} of {self.plan.takeovers}")
        rules: dict[str, int] = self.verdict.get("rules", {"no verdict": 1})
        return found + [f"the judge found {rule}: {n}" for rule, n in rules.items()]

    @property
    def late(self) -> list[str]:
        """Take-overs that lasted too long, on a machine that does nothing else."""
        if not self.takeovers or (statistics.median(self.takeovers) <= MEDIAN and max(self.takeovers) <= LONGEST):
            return []
        return [f"take-overs: a median of {MEDIAN} s and {LONGEST} s at most are asked for"]

    def table(self) -> str:
        """For people."""
        counts = self.verdict.get("counts", {})
        rows: list[tuple[str, object, object]] = [
            (kind, n, self.plan.least.get(kind, "")) for kind, n in sorted(self.events.items(), key=lambda e: -e[1])
        ]
        rows.append(("all fault events", self.events.total(), self.plan.events))
        rows.append(("generations committed by workers", counts.get("generations", 0), self.plan.generations))
        names = (
            "emergencies",
            "overflows",
            "sessions",
            "messages",
            "views",
            "paid calls",
            "distinct chunks",
            "kills",
            "lease losses",
        )
        rows += [(name, counts.get(name, 0), "") for name in (*names, "scripted failures")]
        lines = [f"{'':42}{'this run':>10}{'at least':>10}"]
        lines += [f"{name:42}{n!s:>10}{least!s:>10}" for name, n, least in rows]
        if self.takeovers:
            median, longest = statistics.median(self.takeovers), max(self.takeovers)
            lines.append(
                f"{'take-over after SIGKILL, s':42}median {median:.2f} (<= {MEDIAN}), max {longest:.2f} (<= {LONGEST}), "
                f"{len(self.takeovers)} kills, lease {self.plan.lease_ms} ms"
            )
        rules = self.verdict.get("rules", {})
        lines += [f"{'judge: ' + rule:42}{rules.get(rule, 0):>10}{'0':>10}" for rule in RULES]
        lines += [f"{f['rule']}: {f['session']}: {f['text']}" for f in self.verdict.get("findings", ())]
        return "\n".join(lines)


async def run(plan: Plan, seed: int, folder: Path, say: Callable[[str], None]) -> Report:
    """One run in this folder."""
    started = time.monotonic()
    report = Report(plan, seed)
    wire = random.Random(seed).choice(("openai", "anthropic"))
    async with Stage(folder, seed=seed, lease_ms=plan.lease_ms, provider=wire) as stage:
        report.takeovers = await measure_takeovers(stage, plan, say)
        await _harm(stage, plan, random.Random(seed), say)
        say("the faults have stopped: everything comes to rest")
        await stage.heal()
        report.trouble += await rest(stage, SETTLE)
        report.events = stage.tally.counts
    report.verdict = await call_judge(folder)
    report.events[PROVIDER] = report.verdict["counts"].get("scripted failures", 0)
    report.seconds = time.monotonic() - started
    return report


async def measure_takeovers(stage: Stage, plan: Plan, say: Callable[[str], None]) -> list[float]:
    """Kill a worker with a job in its hands, two running; seconds until the other starts that job."""
    specs = [Spec(session=f"t{i}", writer="a") for i in range(4)]
    await asyncio.gather(stage.start_host("probe", specs, run=False), stage.start_worker(), stage.start_worker())
    found: list[float] = []
    for session in stage.owners:
        await stage.operate(session, "turns")
    for number in range(2 * plan.takeovers):
        if len(found) == plan.takeovers:
            break
        session = f"t{number % 4}"
        await stage.operate(session, "turns")
        await stage.operate(session, "request")
        async with stage.held("asked", session=session, patience=20) as held:
            if held is None:
                continue
            waiting = asyncio.create_task(stage.seen("claim", session, 30))
            await asyncio.sleep(0)
            killed = await stage.kill_worker(held.worker, step="asked", session=session)
        starting = asyncio.create_task(stage.start_worker())
        if claim := await waiting:
            found.append(claim["t"] - killed)
        await starting
        say(f"take-over {len(found)} of {plan.takeovers}: {found[-1] if found else 0:.2f} s")
    return found


async def _harm(stage: Stage, plan: Plan, draw: random.Random, say: Callable[[str], None]) -> None:
    hosts = [
        stage.start_host(name, specs, run=True, skew=draw.uniform(-400, 400)) for name, specs in plan.specs().items()
    ]
    while len(stage.workers) < plan.workers:
        await stage.start_worker()
    await asyncio.gather(*hosts)
    acts, running, started = every_act(draw), set[asyncio.Task[None]](), time.monotonic()

    def begin(name: str) -> None:
        task = asyncio.create_task(acts[name](stage, random.Random(draw.random())), name=name)
        running.add(task)

    told = 0.0
    for moment, name in plan.schedule(draw):
        await asyncio.sleep(max(0.0, started + moment - time.monotonic()))
        begin(name)
        if moment - told > plan.seconds / 10:
            told = moment
            say(
                f"{moment:.0f} s: {stage.tally.total} fault events, {stage.steps['after commit committed']} generations"
            )
    await _reap(running)
    while (missing := _missing(stage, plan)) and time.monotonic() < started + plan.seconds + plan.more:
        for name in missing:
            begin(draw.choice(MORE) if name == "anything" else name)
        await asyncio.sleep(1.0)
        await _reap(running)


def _missing(stage: Stage, plan: Plan) -> list[str]:
    """Acts whose events have not taken place often enough; `anything` where only generations are missing."""
    counts = stage.tally.counts
    names = [ACT_OF[kind] for kind, least in plan.least.items() if counts[kind] < least]
    names += ["stray job", "cut"] if stage.tally.total < plan.events else []
    return names + (["anything"] if stage.steps["after commit committed"] < plan.generations * 1.05 else [])


async def _reap(running: set[asyncio.Task[None]]) -> None:
    for outcome in await asyncio.gather(*running, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, KeyError | IndexError):  # it was killed meanwhile
            raise outcome
    running.clear()


async def rest(stage: Stage, seconds: float) -> list[str]:
    """Hosts end their turns, nothing is due any more, and everybody says how it ended; what went wrong."""
    said = await stage.ask_hosts(90, stop=True)
    trouble = [f"{name} did not stop: {answer}" for name, answer in said.items() if answer != "ok"]
    await _settle(stage, seconds)
    said = await stage.ask_hosts(120, conclude=True)
    await write_down(stage.server.url, stage.folder / "keyspace.txt")
    return trouble + [f"{name} did not conclude: {answer}" for name, answer in said.items() if answer != "ok"]


async def _settle(stage: Stage, seconds: float) -> None:
    """Until nothing is due; the judge sees what is due after that."""
    until = time.monotonic() + seconds
    async with CompactionClient.from_url(stage.server.url, timeout=10.0) as client:
        for session, fmt in stage.formats.items():
            handle = client.session(session, format=fmt)
            while time.monotonic() < until:
                try:
                    status = await handle.status()
                except OffturnError:
                    break
                if not status.due and not status.running:
                    break
                await asyncio.sleep(0.25)


async def call_judge(folder: Path) -> dict[str, Any]:
    """In a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.kit.judge", str(folder), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    verdict: dict[str, Any] = json.loads(output)
    return verdict
