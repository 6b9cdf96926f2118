"""The processes around the demonstration: worker and local model server, each started and stopped for real."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass, field

READY_SECONDS = 20.0


@dataclass(slots=True)
class Processes:
    """Child processes; all end with the demonstration."""

    environment: dict[str, str]
    children: list[asyncio.subprocess.Process] = field(default_factory=list)
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def worker(self, delay: float) -> asyncio.subprocess.Process:
        """One worker process whose commits wait `delay` seconds."""
        child = await self._start("-m", "offturn_worker.demo.slow_worker", str(delay))
        self.workers.append(child)
        return child

    async def fake_model(self, delay: float) -> str:
        """The local model server's URL; each answer starts after `delay` seconds."""
        child = await self._start("-m", "offturn_worker.fake_model", "--port", "0", "--delay", str(delay))
        assert child.stdout is not None
        line = await asyncio.wait_for(child.stdout.readline(), READY_SECONDS)
        url: str = json.loads(line)["url"]
        return url

    async def page(self) -> str:
        """The address of the HTTP service, in a process of its own: it must not make the host wait."""
        child = await self._start("-m", "offturn", "serve", "--port", "0")
        assert child.stdout is not None
        line = await asyncio.wait_for(child.stdout.readline(), READY_SECONDS)
        return line.decode().strip()

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
