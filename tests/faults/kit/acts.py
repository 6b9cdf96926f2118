"""The faults: each act does one thing to a stage and counts it only where it took place."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from offturn.doorbell import Doorbell
from offturn.errors import OffturnError
from offturn_config.keys import SessionKey
from tests.faults.kit.operations import MOVING
from tests.faults.kit.provider import FAILURES
from tests.faults.kit.stage import Held, Stage

KILL_STEPS = ("claim", "plan", "asked", "answered", "chunk", "before commit", "after commit")
DURING_STEPS = ("plan", "asked", "chunk", "before commit")
DURING = ("rollback", "rewind", "purge", "redact", "emergency", "configure", "amend", "cancel", "request")
LONGER = 1.3  # leases that a stop lasts
FEWEST_WORKERS = 2

Act = Callable[[Stage, random.Random], Coroutine[Any, Any, None]]


async def kill_worker(stage: Stage, draw: random.Random) -> None:
    """SIGKILL at a named step, and another worker in its place."""
    step = draw.choice(KILL_STEPS)
    nth = draw.choice((1, 1, 2)) if step == "chunk" else 1
    async with stage.held(step, nth=nth) as held:
        if held is None or held.worker not in stage.workers or len(stage.workers) < FEWEST_WORKERS:
            return
        await stage.kill_worker(held.worker, step=step, session=held.session)
    await stage.start_worker()


async def stop_worker(stage: Stage, draw: random.Random) -> None:
    """SIGSTOP at a named step for longer than the lease."""
    step = draw.choice(KILL_STEPS)
    async with stage.held(step) as held:
        if held is not None and held.worker in stage.workers and not stage.workers[held.worker].frozen:
            await stage.stop_worker(held.worker, stage.lease * LONGER, step=step, session=held.session)


def during(operations: list[str]) -> Act:
    """The next of the operations is done by a host between the claim and the commit of a job that stands still."""

    async def act(stage: Stage, draw: random.Random) -> None:
        async with stage.held(draw.choice(DURING_STEPS)) as held:
            if held is None:
                return
            name = operations.pop(0)
            operations.append(name)
            if name in MOVING and len(stage.owners[held.session]) > 1:
                name = draw.choice(("rollback", "emergency", "configure", "cancel", "request"))
            if name in MOVING:
                async with stage.moving:
                    await _operate(stage, held, name)
            else:
                await _operate(stage, held, name)

    return act


async def _operate(stage: Stage, held: Held, name: str) -> None:
    said = await stage.operate(held.session, name)
    worker = stage.workers.get(held.worker)
    if said == "ok" and worker is not None and worker.alive:
        stage.tally.add("during a job", operation=name, session=held.session, step=held.facts["step"])
    else:
        stage.tally.note("not during a job", operation=name, session=held.session, said=said)


async def kill_server(stage: Stage, draw: random.Random) -> None:
    """SIGKILL, and back on the same data."""
    async with stage.disturbing:
        await stage.server.kill_and_restart(draw.uniform(0.2, 1.5))
        stage.tally.add("server SIGKILL")


async def lose_last_second(stage: Stage, draw: random.Random) -> None:
    """SIGKILL, and back on the data of a second before."""
    async with stage.moving, stage.disturbing:
        await asyncio.sleep(0.5)
        lost = await stage.server.lose_last_second()
        stage.tally.add("last second lost", size=lost)


async def freeze_server(stage: Stage, draw: random.Random) -> None:
    """SIGSTOP for longer than a host's deadline."""
    async with stage.disturbing:
        await stage.server.freeze(draw.uniform(1.0, 3.0))
        stage.tally.add("server frozen")


async def fill_server(stage: Stage, draw: random.Random) -> None:
    """No room for a while."""
    async with stage.disturbing:
        if await stage.server.fill(draw.uniform(0.8, 2.0)):
            stage.tally.add("server full")


async def lose_reply(stage: Stage, draw: random.Random) -> None:
    """The next reply of a script is lost after its execution, a host's more often than a worker's."""
    stage.proxies[draw.choice(sorted(stage.hosts if draw.random() < 0.6 else stage.workers))].lose_reply()


async def cut(stage: Stage, draw: random.Random) -> None:
    """Connections of one process end."""
    proxy = stage.proxies[draw.choice(sorted(stage.proxies))]
    for _ in range(proxy.cut()):
        stage.tally.add("connection cut", who=proxy.name)


async def half_open(stage: Stage, draw: random.Random) -> None:
    """One direction of the connections of one process is dead."""
    proxy, direction = stage.proxies[draw.choice(sorted(stage.proxies))], draw.choice(("up", "down"))
    for _ in range(proxy.half_open(direction)):  # type: ignore[arg-type]
        stage.tally.add("connection half open", who=proxy.name, direction=direction)


async def slow(stage: Stage, draw: random.Random) -> None:
    """One process's connections are slow for a while."""
    proxy = stage.proxies[draw.choice(sorted(stage.proxies))]
    await proxy.slow(draw.uniform(0.02, 0.3), draw.uniform(0.5, 2.0))
    stage.tally.add("connections delayed", who=proxy.name)


async def black_hole(stage: Stage, draw: random.Random) -> None:
    """One process, or all of them, hear nothing for a while."""
    every = list(stage.proxies.values()) if draw.random() < 0.3 else [stage.proxies[draw.choice(sorted(stage.proxies))]]
    seconds = draw.uniform(0.5, 2.5)
    await asyncio.gather(*(proxy.black_hole(seconds) for proxy in every))
    stage.tally.add("black hole", who=",".join(proxy.name for proxy in every))


async def fail_call(stage: Stage, draw: random.Random) -> None:
    """The next call of a model goes wrong."""
    stage.provider.tell(script=[draw.choice(FAILURES)])


async def stray_job(stage: Stage, draw: random.Random) -> None:
    """A job in the queue that nobody asked for: an old one, or a second one for the same session."""
    session = draw.choice(sorted(stage.owners))
    stale = draw.random() < 0.5
    number = draw.randrange(1, 4) if stale else draw.randrange(10**6, 10**9)
    redis = Redis.from_url(stage.server.url, socket_timeout=1.0, socket_connect_timeout=1.0)
    try:
        if await Doorbell(redis).ring(SessionKey("default", session), number):
            stage.tally.add("stale job" if stale else "duplicate job", session=session)
    except (OffturnError, RedisError, OSError):
        return
    finally:
        await redis.aclose()


async def skew(stage: Stage, draw: random.Random) -> None:
    """A host's wall clock jumps."""
    host, seconds = draw.choice(sorted(stage.hosts)), draw.uniform(-400, 400)
    if await stage.hosts[host].ask(5, skew=seconds) is not None:
        stage.tally.add("clock skew", who=host, seconds=seconds)
