"""Worker processes as pods: started, asked to end as a rollout asks, or killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Self

READY_SECONDS = 60.0
GRACE_SECONDS = 45.0
"""`terminationGracePeriodSeconds` of k8s/base."""


@dataclass(slots=True)
class Pod:
    """One `offturn worker`."""

    name: str
    process: asyncio.subprocess.Process

    async def ready(self) -> None:
        """It takes jobs: its log says so. Raises RuntimeError with the log of a worker that ended instead."""
        assert self.process.stdout is not None
        said: list[bytes] = []
        async with asyncio.timeout(READY_SECONDS):
            while line := await self.process.stdout.readline():
                said.append(line)
                if b'"started"' in line:
                    return
        raise RuntimeError(f"{self.name} ended: {b''.join(said).decode()}")

    async def terminated(self) -> None:
        """As a rollout ends it: SIGTERM, the grace period, SIGKILL."""
        self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.communicate(), GRACE_SECONDS)
        except TimeoutError:
            await self.killed()

    async def killed(self) -> None:
        """SIGKILL: a node that is gone."""
        self.process.kill()
        await self.process.wait()


@dataclass(slots=True)
class Fleet:
    """All pods of one part of the run; none is left after `async with`. `variables`: more of their environment."""

    store_url: str
    provider_url: str
    max_jobs: int
    variables: Mapping[str, str] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    _names: count[int] = field(default_factory=lambda: count(1))

    @property
    def pids(self) -> list[int]:
        return [pod.process.pid for pod in self.pods]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.scale(0)

    async def scale(self, wanted: int) -> None:
        """So many pods, the newest going first, as a Deployment has them."""
        fresh = [await self._start() for _ in range(wanted - len(self.pods))]
        await asyncio.gather(*(pod.ready() for pod in fresh))
        self.pods += fresh
        surplus, self.pods = self.pods[wanted:], self.pods[:wanted]
        await asyncio.gather(*(pod.terminated() for pod in surplus))

    async def roll(self) -> None:
        """A rolling restart with maxSurge 1 and maxUnavailable 0."""
        for old in list(self.pods):
            await self.scale(len(self.pods) + 1)
            self.pods.remove(old)
            await old.terminated()

    async def lose(self) -> None:
        """Kill the oldest pod and put a new one in its place."""
        await self.pods.pop(0).killed()
        await self.scale(len(self.pods) + 1)

    async def _start(self) -> Pod:
        name = f"pod-{next(self._names)}"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "offturn",
            "worker",
            env={**os.environ, **self.environment(name)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            limit=2**22,
        )
        return Pod(name, process)

    def environment(self, name: str) -> dict[str, str]:
        """The settings of a worker of that name."""
        return {
            "OFFTURN_STORE_URL": self.store_url,
            "OFFTURN_SUMMARIZER": "anthropic:fake",
            "OFFTURN_ANTHROPIC_API_KEY": "of-no-account",
            "OFFTURN_ANTHROPIC_BASE_URL": self.provider_url,
            "OFFTURN_MAX_JOBS": str(self.max_jobs),
            "OFFTURN_HEALTH_PORT": "-1",
            "OFFTURN_WORKER_ID": name,
            **self.variables,
        }
