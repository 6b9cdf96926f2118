"""All checks, side by side: none waits for another's server, and none waits long."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from redis.asyncio import Redis

from offturn import WorkerSeen
from offturn.beating import policy_hashes
from offturn_config.errors import OffturnError
from offturn_config.keys import QUEUE, polling
from offturn_config.settings import WorkerSettings, unknown_variables
from offturn_worker.doctor import attendance, storage
from offturn_worker.doctor.breakers import breakers
from offturn_worker.doctor.findings import Finding, finding, in_order
from offturn_worker.doctor.routes import routes
from offturn_worker.doctor.server import Server, Trouble, asked, look, opened
from offturn_worker.doctor.sessions import Sessions, archived, own_models, read, sessions
from offturn_worker.doctor.target import Target

LONG_QUEUE = 1_000  # jobs
SAME = "the store's server"
LOOK_AGAIN_SECONDS = 1.5
"""arq's note that a worker has looked may lapse a second before it is renewed."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of the store's server; `sessions` None where it could not be asked."""

    server: Server | Trouble
    sessions: Sessions | Trouble | None = None


async def examine(settings: WorkerSettings | None, store: Target, queue: Target | None) -> list[Finding]:
    """Every finding, in the order they are told. `queue` None: the store's server has it; `settings` None: not valid."""
    about_settings = list(_variables())
    kept, carried, routed = await asyncio.gather(_store(store), _queue(queue or store), _routes(settings, store))
    findings = [*about_settings, *_of_store(store, kept), *routed]
    findings += _of_queue(queue or store, carried, kept, store.option, own=queue is not None)
    if settings is not None and isinstance(kept.sessions, Sessions):
        findings += own_models(kept.sessions, settings)
    if isinstance(kept.sessions, Sessions):
        findings += archived(kept.sessions, store, settings)
    seen = kept.sessions.health.workers if isinstance(kept.sessions, Sessions) else ()
    if isinstance(carried.server, Server) and seen:
        target = queue or store
        findings += attendance.queue_servers(await _not_looking(target, attendance.listening(seen)), target)
    return in_order(findings)


async def _routes(settings: WorkerSettings | None, store: Target) -> list[Finding]:
    return [] if settings is None else await routes(settings, store.option)


def _variables() -> Iterator[Finding]:
    if unknown := unknown_variables():
        facts = f"nothing reads {', '.join(unknown)}: see docs/settings.md"
        yield finding("settings-unknown", facts, variables=" ".join(unknown))
    else:
        yield finding("settings", "every OFFTURN_ variable is known")


async def _store(target: Target) -> Found:
    async with opened(target) as redis:
        if isinstance(redis, Trouble):
            return Found(redis)
        server = await look(redis, target)
        if isinstance(server, Trouble):
            return Found(server)
        return Found(server, await _asked_sessions(redis))


async def _asked_sessions(redis: Redis) -> Sessions | Trouble:
    try:
        found: Sessions | Trouble = await asked(lambda: read(redis))
    except OffturnError as error:
        return Trouble("unready" if error.retryable else "refused", str(error))
    if isinstance(found, Sessions) and not found.health.reachable:
        return Trouble("unready", "it does not serve sessions now")
    return found


def _of_store(target: Target, found: Found) -> Iterator[Finding]:
    if isinstance(found.server, Trouble):
        yield storage.trouble(target, found.server)
        return
    yield from storage.store(target, found.server)
    if isinstance(found.sessions, Trouble):
        yield storage.trouble(target, found.sessions)
    elif found.sessions is not None:
        health = found.sessions.health
        yield from attendance.workers(health, target)
        yield from attendance.releases(health.workers)
        yield from attendance.policies(health.workers, policy_hashes())
        yield from attendance.queue_names(health.workers)
        yield from sessions(found.sessions, target)
        yield from breakers(found.sessions.routes, found.sessions.now_ms, target)


@dataclass(frozen=True, slots=True)
class Carried:
    """What is known of the queue's server, and how many jobs are in the queue, running ones included."""

    server: Server | Trouble
    jobs: int | None = None


async def _queue(target: Target) -> Carried:
    async with opened(target) as redis:
        if isinstance(redis, Trouble):
            return Carried(redis)
        server = await look(redis, target)
        if isinstance(server, Trouble):
            return Carried(server)
        jobs = await asked(lambda: redis.zcard(QUEUE))
        return Carried(server, jobs if isinstance(jobs, int) else None)


def _of_queue(target: Target, found: Carried, store: Found, store_option: str, *, own: bool) -> Iterator[Finding]:
    server = found.server
    if isinstance(server, Trouble):
        if own:  # else the store's finding says it
            yield storage.trouble(target, server)
        return
    process = store.server.process if isinstance(store.server, Server) else ""
    shared = not own or (server.process == process and process != "")
    problems = list(storage.queue(target, server, shared=shared))
    yield from problems
    if found.jobs is None or any(problem.level == "fail" for problem in problems):
        return
    facts = f"{found.jobs} jobs on {SAME if shared else target.shown}"
    kind = "queue-long" if found.jobs > LONG_QUEUE else "queue"
    yield finding(kind, facts, store=store_option)


async def _not_looking(target: Target, expected: Collection[WorkerSeen]) -> list[WorkerSeen]:
    """Those of the workers that did not look at the queue lately. A server that does not say so has none."""

    async def missing(redis: Redis) -> list[WorkerSeen]:
        looked = await redis.mget([polling(one.id) for one in expected])
        return [one for one, note in zip(expected, looked, strict=True) if note is None]

    if not expected:
        return []
    async with opened(target) as redis:
        if isinstance(redis, Trouble):
            return []
        found: list[WorkerSeen] | Trouble = await asked(lambda: missing(redis))
        if found and not isinstance(found, Trouble):
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            found = await asked(lambda: missing(redis))
        return [] if isinstance(found, Trouble) else found
