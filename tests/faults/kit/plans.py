"""How much is done in a run, and what it must come to."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.faults.kit import acts
from tests.faults.kit.writer import Spec

LEAST = 1_000  # fault events of a full run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`seconds` of faults, `more` at most to make up what is missing; `tries`: how often each act is attempted.

    `least`: events by kind that must have taken place. `takeovers`: kills whose take-over is measured.
    """

    name: str
    seconds: float
    more: float
    lease_ms: int
    workers: int
    hosts: int
    sessions: int
    pace: float
    takeovers: int
    tries: Mapping[str, int]
    least: Mapping[str, int]
    events: int
    generations: int

    def specs(self) -> dict[str, list[Spec]]:
        """Sessions by host: most have one writer, some two; both formats, with ids and without."""
        names = [f"host{i}" for i in range(self.hosts)]
        found: dict[str, list[Spec]] = {name: [] for name in names}
        for number in range(self.sessions):
            shared = number % 6 == 5
            for i in range(2 if shared else 1):
                spec = Spec(
                    session=f"s{number:02d}",
                    writer="ab"[i],
                    format="anthropic" if number % 2 else "openai-chat",
                    window=12_000 if number % 4 == 2 else 8_000,
                    pace=self.pace,
                    ids=number % 3 != 1,
                    shared=shared,
                )
                found[names[(number + i) % self.hosts]].append(spec)
        return found

    def schedule(self, draw: random.Random) -> Iterator[tuple[float, str]]:
        """When to try what, in order: every act spread evenly, its moments drawn."""
        moments = []
        for name, times in self.tries.items():
            step = self.seconds / times
            moments += [((i + draw.random()) * step, name) for i in range(times)]
        yield from sorted(moments)


def every_act(draw: random.Random) -> dict[str, acts.Act]:
    """By name. What is done during jobs comes in turn, in an order of the seed's."""
    operations = list(acts.DURING)
    draw.shuffle(operations)
    return {
        "kill worker": acts.kill_worker,
        "stop worker": acts.stop_worker,
        "during a job": acts.during(operations),
        "kill server": acts.kill_server,
        "lose last second": acts.lose_last_second,
        "freeze server": acts.freeze_server,
        "fill server": acts.fill_server,
        "lose reply": acts.lose_reply,
        "cut": acts.cut,
        "half open": acts.half_open,
        "slow": acts.slow,
        "black hole": acts.black_hole,
        "fail call": acts.fail_call,
        "stray job": acts.stray_job,
        "skew": acts.skew,
    }


FULL = Plan(
    name="full",
    seconds=400,
    more=220,
    lease_ms=4_000,
    workers=4,
    hosts=3,
    sessions=24,
    pace=4.5,
    takeovers=20,
    tries={
        "kill worker": 62,
        "stop worker": 30,
        "during a job": 80,
        "kill server": 13,
        "lose last second": 3,
        "freeze server": 6,
        "fill server": 6,
        "lose reply": 260,
        "cut": 90,
        "half open": 30,
        "slow": 60,
        "black hole": 12,
        "fail call": 90,
        "stray job": 220,
        "skew": 20,
    },
    least={
        "worker SIGKILL": 60,
        "worker SIGSTOP longer than the lease": 20,
        "server SIGKILL": 12,
        "lost reply": 150,
        "during a job": 50,
        "last second lost": 2,
        "server frozen": 4,
        "server full": 3,
    },
    events=LEAST,
    generations=300,
)

MINUTE = Plan(
    name="minute",
    seconds=26,
    more=120,
    lease_ms=1_000,
    workers=2,
    hosts=2,
    sessions=7,
    pace=1.2,
    takeovers=2,
    tries={
        "kill worker": 5,
        "stop worker": 3,
        "during a job": 9,
        "kill server": 2,
        "lose last second": 1,
        "freeze server": 1,
        "fill server": 1,
        "lose reply": 40,
        "cut": 8,
        "half open": 3,
        "slow": 4,
        "black hole": 2,
        "fail call": 8,
        "stray job": 16,
        "skew": 3,
    },
    least={
        "worker SIGKILL": 4,
        "worker SIGSTOP longer than the lease": 1,
        "server SIGKILL": 1,
        "lost reply": 8,
        "during a job": 3,
    },
    events=50,
    generations=8,
)
PLANS = {plan.name: plan for plan in (FULL, MINUTE)}
