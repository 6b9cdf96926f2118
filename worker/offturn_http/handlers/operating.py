"""What concerns more than one session: policies, the queue, and how the service is."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from functools import partial

from pydantic import Field
from starlette.responses import Response

from offturn import __version__
from offturn.config import DEFAULT_WINDOW, reserved_output
from offturn.errors import NothingRecorded
from offturn.links import Links
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_config.presets import load, names
from offturn_http.call import Call
from offturn_http.models import JsonObject, Window
from offturn_http.operations import Operation
from offturn_http.wire import Answer, Given
from offturn_worker.cli.queue_rows import State, read
from offturn_worker.metrics import CONTENT_TYPE
from offturn_worker.steering import again, dropped


class PoliciesAnswer(Answer):
    """policies: name and what it is about."""

    policies: list[JsonObject]


class PolicyQuery(Given):
    """A policy, and the window it is to be worked out for."""

    name: str = Field(default="balanced", max_length=64)
    window: Window = DEFAULT_WINDOW


class PolicyAnswer(Answer):
    """policy: every parameter; limits: what they come to for the window, in tokens."""

    policy: JsonObject
    limits: JsonObject


class QueueQuery(Given):
    """state: only these; limit: sessions listed, totals count all."""

    state: State | None = None
    limit: int = Field(default=100, ge=1, le=10_000)


class QueueAnswer(Answer):
    """The tenant's sessions that wait for a worker, are with one, or are parked."""

    totals: dict[str, int]
    sessions: list[JsonObject]
    paused: bool = Field(description="an operator keeps workers from this tenant's sessions")


class SteeredAnswer(Answer):
    """What became of it, in words."""

    now: str


class HealthAnswer(Answer):
    """reachable: the store answers; attended: a worker is there and takes jobs. Of the tenant's sessions the queue tells."""

    reachable: bool
    attended: bool
    server: str | None
    workers: int
    version: str


async def policies(_call: Call) -> PoliciesAnswer:
    """Every policy and what it does."""
    return PoliciesAnswer(policies=[{"name": name, "about": load(name).about} for name in names()])


async def policy(call: Call) -> PolicyAnswer:
    """Every parameter of one, and what it comes to."""
    query = call.query(PolicyQuery)
    found = load(query.name)
    limits = found.limits(query.window, reserved_output(query.window, None))
    return PolicyAnswer(policy=found.model_dump(mode="json"), limits=asdict(limits))


async def queue(call: Call) -> QueueAnswer:
    """What is due, running, waiting and parked."""
    query, tenant = call.query(QueueQuery), call.caller.tenant
    found = await read(await _looking(call), tenant, query.state, query.limit)
    paused = any(pause.tenant in (None, tenant) for pause in found.pauses)
    return QueueAnswer(totals={**found.totals}, sessions=[asdict(row) for row in found.rows], paused=paused)


async def replay(call: Call) -> SteeredAnswer:
    """Try a session again now."""
    return SteeredAnswer(now=await again(await _looking(call), await _known(call)))


async def drop(call: Call) -> SteeredAnswer:
    """Take a session off due."""
    return SteeredAnswer(now=await dropped(await _looking(call), await _known(call)))


async def health(call: Call) -> HealthAnswer:
    """How store and workers are, as far as it concerns every tenant."""
    found = await call.client.health()
    return HealthAnswer(
        reachable=found.reachable,
        attended=found.attended,
        server=found.server,
        workers=sum(worker.here for worker in found.workers),
        version=__version__,
    )


async def metrics(call: Call) -> Response:
    """What was counted since the process started, and how the fleet is."""
    fleet = call.service.fleet
    known = b"" if fleet is None else await fleet.text()
    return Response(call.service.metrics.text() + known, media_type=CONTENT_TYPE)


async def _looking(call: Call) -> Links:
    """Who looks wants no session back from the archive."""
    links = await call.service.links()
    return dataclasses.replace(links, store=SessionStore(links.redis))


async def _known(call: Call) -> SessionKey:
    key = SessionKey(call.caller.tenant, call.id)
    if await (await _looking(call)).store.meta(key) is None:
        raise NothingRecorded(f"no session {call.id!r}")
    return key


_look = partial(Operation, "GET", tag="operating", role="reader")
_steer = partial(Operation, "POST", tag="operating", role="operator", answer=SteeredAnswer)

OPERATIONS = (
    _look("policies", "/v1/policies", policies, "Policies to choose from", answer=PoliciesAnswer),
    _look(
        "policy",
        "/v1/policy",
        policy,
        "A policy's parameters, and what they come to for a window",
        query=PolicyQuery,
        answer=PolicyAnswer,
    ),
    _look(
        "queue",
        "/v1/queue",
        queue,
        "Sessions that are due, running, waiting or parked",
        query=QueueQuery,
        answer=QueueAnswer,
    ),
    _steer("replay", "/v1/queue/{id}/replay", replay, "Try a parked, blocked or backed-off session again now"),
    _steer("drop", "/v1/queue/{id}/drop", drop, "Take a session off due; nothing is lost"),
    _look("health", "/v1/health", health, "How the store and the workers are", answer=HealthAnswer),
    _look(
        "metrics",
        "/metrics",
        metrics,
        "Numbers of this process and of the fleet, for Prometheus",
        role="operator",
        media="text/plain",
    ),
)
