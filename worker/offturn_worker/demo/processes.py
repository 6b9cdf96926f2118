"""The processes around the demonstration: worker and local model server, each started and stopped for real."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass, field

READY_SECONDS = 120.0
"""Until a process has started: a few seconds, and on a machine that does much else as long as it takes."""


@dataclass(slots=True)
class Processes:
    """Child processes; all end with the demonstration."""

    environment: dict[str, str]
    children: list[asyncio.subprocess.Process] = field(default_factory=list)
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def worker(self, delay: float) -> asyncio.subprocess.Process:
        """One worker process whose commits wait `delay` seconds, once it takes jobs."""
        child = await self._start("-m", "offturn_worker.demo.slow_worker", str(delay))
        self.workers.append(child)
        await _told(child)
        return child

    async def fake_model(self, delay: float) -> str:
        """The local model server's URL; each answer starts after `delay` seconds."""
        child = await self._start("-m", "offturn_worker.fake_model", "--port", "0", "--delay", str(delay))
        url: str = json.loads(await _told(child))["url"]
        return url

    async def page(self) -> str:
        """The address of the HTTP service, in a process of its own: it must not make the host wait."""
        child = await self._start("-m", "offturn", "serve", "--port", "0")
        return (await _told(child)).decode().strip()

    async def kill(self, child: asyncio.subprocess.Process) -> None:
        """SIGKILL: nothing is cleaned up."""
        child.send_signal(signal.SIGKILL)
        await child.wait()

    async def stop(self) -> None:
        """SIGTERM to all, SIGKILL to what is left after a moment."""
        for child in self.children:
            if child.returncode is None:
                child.terminate()
        for child in self.children:
            try:
                await asyncio.wait_for(child.wait(), 5)
            except TimeoutError:
                child.kill()
                await child.wait()

    async def _start(self, *arguments: str) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            env={**os.environ, **self.environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.children.append(child)
        return child


async def _told(child: asyncio.subprocess.Process) -> bytes:
    """The first line of its output: it is ready. Raises RuntimeError where it has ended instead."""
    assert child.stdout is not None
    line = await asyncio.wait_for(child.stdout.readline(), READY_SECONDS)
    if not line:
        raise RuntimeError(f"process {child.pid} of the demonstration ended before it was ready")
    return line
