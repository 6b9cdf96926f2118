"""A host process of the kit: a client of offturn with a few sessions, its wall clock where the driver wants it.

`python -m tests.faults.kit.host NAME FOLDER`. The first line tells it what to open.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from offturn import CompactionClient
from offturn.errors import OffturnError
from tests.faults.kit.channel import commands, say
from tests.faults.kit.operations import conclude, operate
from tests.faults.kit.sendlog import SendLog
from tests.faults.kit.variants import TAMPERED, install
from tests.faults.kit.writer import GaveUp, Spec, Writer

UNBLOCKING = 8  # turns between two looks whether the session was given up


class Clock:
    """The process's wall clock, `skew` seconds off."""

    def __init__(self) -> None:
        self.skew = 0.0
        right = time.time
        time.time = lambda: right() + self.skew


class Host:
    """The sessions of one process."""

    def __init__(self, name: str, folder: Path) -> None:
        self.clock = Clock()
        self.writers: dict[str, Writer] = {}
        self.over = asyncio.Event()
        self._name = name
        self._folder = folder
        self._loops: list[asyncio.Task[None]] = []
        self._client: CompactionClient | None = None

    async def open(self, wanted: dict[str, Any]) -> None:
        """`sessions`: specs; `run`: they talk by themselves."""
        variant = wanted.get("variant", "")
        install(variant)
        self.clock.skew = wanted.get("skew", 0.0)
        self._client = CompactionClient.from_url(wanted["url"], timeout=wanted["timeout"])
        for given in wanted["sessions"]:
            spec = Spec(**given)
            path = self._folder / f"send-{self._name}-{spec.session}.jsonl"
            log = SendLog(path, spec.session, spec.writer, shared=spec.shared, format=spec.format)
            tamper = variant if variant in TAMPERED else ""
            self.writers[spec.session] = Writer(spec, self._client, log, wanted["seed"], tamper)
            if wanted.get("run"):
                self._loops.append(asyncio.create_task(self._talk(self.writers[spec.session], wanted["seed"])))

    async def _talk(self, writer: Writer, seed: int) -> None:
        pause = writer.spec.pace * random.Random(f"{seed} {writer.spec.session}").uniform(0.6, 1.4)
        await asyncio.sleep(pause)
        for number in count(1):
            if self.over.is_set():
                return
            try:
                await writer.turn()
                if number % UNBLOCKING == 0:
                    await operate(writer, "unblock")
            except GaveUp:
                continue
            except OffturnError as error:
                writer.log.write("unexpected", k=0, error=type(error).__name__, text=str(error)[:300])
            await asyncio.sleep(pause)

    async def stop(self) -> None:
        """Let the turns that run come to their end."""
        self.over.set()
        for outcome in await asyncio.gather(*self._loops, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def conclude(self) -> None:
        """Write down how everything ended."""
        for writer in self.writers.values():
            try:
                await conclude(writer)
            except (GaveUp, OffturnError) as error:
                writer.log.write("unexpected", k=0, error=type(error).__name__, text=str(error)[:300])


async def answer(host: Host, command: dict[str, Any]) -> None:
    """One command of the driver."""
    result = "ok"
    try:
        if "open" in command:
            await host.open(command["open"])
        elif "skew" in command:
            host.clock.skew = command["skew"]
        elif command.get("stop"):
            await host.stop()
        elif command.get("conclude"):
            await host.conclude()
        elif "do" in command:
            result = await operate(host.writers[command["session"]], command["do"])
    except Exception as error:  # noqa: BLE001 - the driver is told, and the run fails
        result = f"bug: {type(error).__name__}: {error}"
    say(id=command["id"], result=result)


async def main(name: str, folder: Path) -> None:
    host = Host(name, folder)
    say(ready=True)
    running: set[asyncio.Task[None]] = set()
    async for command in commands():
        task = asyncio.create_task(answer(host, command))
        running.add(task)
        task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
