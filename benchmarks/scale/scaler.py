"""How many pods KEDA and the autoscaler would want, by the rule of the ScaledObject in `k8s/`. Pure: time is given.

Each trigger wants ceil(value / target) pods, the largest wins, between minReplicaCount and maxReplicaCount. The autoscaler
goes down to the largest number wanted within the stabilisation window only, and adds or takes at most so many pods a period.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MANIFEST = Path(__file__).parents[2] / "k8s/components/keda/scaledobject.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """At most so many `pods` are added or taken in `period` seconds; `window`: seconds of stabilisation."""

    pods: int
    period: float
    window: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`jobs`, `age`: of queued jobs, and seconds of the oldest due session, for which one pod is wanted."""

    jobs: float
    age: float
    least: int
    most: int
    polling: float
    up: Pace
    down: Pace


def shipped() -> Rule:
    """The rule of the ScaledObject that is shipped."""
    spec = yaml.safe_load(MANIFEST.read_text())["spec"]
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    queue, oldest = (trigger["metadata"] for trigger in spec["triggers"])
    return Rule(
        jobs=float(queue["listLength"]),
        age=float(oldest["targetValue"]),
        least=spec["minReplicaCount"],
        most=spec["maxReplicaCount"],
        polling=spec["pollingInterval"],
        up=_pace(behavior["scaleUp"]),
        down=_pace(behavior["scaleDown"]),
    )


def _pace(given: dict[str, Any]) -> Pace:
    [policy] = given["policies"]
    return Pace(pods=policy["value"], period=policy["periodSeconds"], window=given["stabilizationWindowSeconds"])


@dataclass(slots=True)
class Scaler:
    """Remembers what was wanted, and when pods were added and taken away."""

    rule: Rule
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)
    _added: deque[tuple[float, int]] = field(default_factory=deque)
    _taken: deque[tuple[float, int]] = field(default_factory=deque)

    def pods(self, now: float, *, jobs: int, age: float, current: int) -> int:
        """How many pods there shall be, `now` seconds into the run."""
        rule = self.rule
        wanted = min(rule.most, max(rule.least, math.ceil(jobs / rule.jobs), math.ceil(age / rule.age)))
        self._wanted.append((now, wanted))
        _forget(self._wanted, now - rule.down.window)
        if wanted > current:
            return current + _step(self._added, now, rule.up, wanted - current)
        steady = max(number for _, number in self._wanted)
        return current - _step(self._taken, now, rule.down, max(0, current - steady))


def _step(done: deque[tuple[float, int]], now: float, pace: Pace, more: int) -> int:
    _forget(done, now - pace.period)
    allowed = min(more, pace.pods - sum(number for _, number in done))
    if allowed > 0:
        done.append((now, allowed))
    return max(0, allowed)


def _forget(seen: deque[tuple[float, int]], before: float) -> None:
    while seen and seen[0][0] <= before:
        seen.popleft()
