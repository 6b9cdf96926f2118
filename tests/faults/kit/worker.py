"""A worker process of the kit: the product's own, its store, planner and summarizer wrapped so that steps can be caught.

`python -m tests.faults.kit.worker [VARIANT]`. The driver hears of every step (`{"step": ..., "session": ...}`). Told
`{"hold": KEY, "step": ..., "session": ..., "nth": 1}`, the next job to reach that step stops there and says
`{"held": KEY}`, until `{"go": KEY}`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

from redis.asyncio import Redis

from offturn import SummaryReply, SummaryRequest, planning
from offturn.store.replies import Claim, CommitReply
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_config.settings import load_worker_settings
from offturn_models.route import Route
from offturn_worker.app import Running, run_worker
from offturn_worker.logs import configure_logging
from offturn_worker.summarizers import build
from tests.faults.kit.channel import commands, say
from tests.faults.kit.variants import install

STEPS = ("claim", "plan", "asked", "answered", "chunk", "before commit", "after commit")
"""`answered`: paid and not kept yet; `chunk`: kept."""

_session: ContextVar[str] = ContextVar("session", default="")


class Holds:
    """What is to be held, and what is."""

    def __init__(self) -> None:
        self._wanted: dict[int, dict[str, Any]] = {}
        self._held: dict[int, asyncio.Event] = {}

    async def reach(self, step: str, **facts: Any) -> None:
        """Say that a job is here, and stay if that is wanted."""
        session = _session.get()
        say(step=step, session=session, t=time.monotonic(), **facts)
        for key, wanted in list(self._wanted.items()):
            if wanted["step"] != step or wanted.get("session") not in (None, session):
                continue
            wanted["nth"] = wanted.get("nth", 1) - 1
            if wanted["nth"] <= 0:
                del self._wanted[key]
                self._held[key] = asyncio.Event()
                say(held=key, step=step, session=session, **facts)
                await self._held[key].wait()
                return

    def told(self, command: dict[str, Any]) -> None:
        """A command of the driver."""
        if "hold" in command:
            self._wanted[command["hold"]] = command
        if "go" in command:
            self._wanted.pop(command["go"], None)
            if held := self._held.pop(command["go"], None):
                held.set()


class SteppedStore(SessionStore):
    """The store of jobs."""

    def __init__(self, redis: Redis, holds: Holds, variant: str) -> None:
        super().__init__(redis)
        self._holds = holds
        self._variant = variant

    async def claim(self, key: SessionKey, **given: Any) -> Any:
        _session.set(key.session)
        reply = await super().claim(key, **given)
        got = type(reply).__name__.lower()
        if isinstance(reply, Claim):
            await self._holds.reach("claim", got=got, fence=reply.fence, incarnation=reply.incarnation)
        else:
            say(step="refused claim", session=key.session, t=time.monotonic(), got=got)
        return reply

    async def save_chunk(self, key: SessionKey, **given: Any) -> bool:
        kept = await super().save_chunk(key, **given)
        await self._holds.reach("chunk")
        return kept

    async def commit(self, key: SessionKey, **given: Any) -> CommitReply:
        await self._holds.reach("before commit")
        reply = await super().commit(key, **given)
        if self._variant == "committed-twice":
            await super().commit(key, **{**given, "op": given["op"][::-1]})
        claim = given["claim"]
        facts = {"got": type(reply).__name__.lower(), "number": getattr(reply, "number", 0)}
        why = getattr(reply, "why", "")
        await self._holds.reach("after commit", why=why, fence=claim.fence, incarnation=claim.incarnation, **facts)
        return reply

    async def finish(self, key: SessionKey, **given: Any) -> Any:
        reply = await super().finish(key, **given)
        claim = given["claim"]
        say(step="finish", session=key.session, t=time.monotonic(), fence=claim.fence, incarnation=claim.incarnation)
        return reply


def catch_calls(holds: Holds) -> None:
    """A route tells when it is asked and when it was answered, whatever stands in front of it."""
    asking = Route.summarize

    async def summarize(self: Route, request: SummaryRequest) -> SummaryReply:
        await holds.reach("asked")
        reply = await asking(self, request)
        await holds.reach("answered")
        return reply

    setattr(Route, "summarize", summarize)  # noqa: B010 - a method is replaced on purpose


def catch_plans(holds: Holds) -> None:
    """A job plans in a thread: what it returns is held there."""
    loop, planner = asyncio.get_running_loop(), getattr(planning, "plan")  # noqa: B009 - imported there, not exported
    session_of = _session.get

    async def reach(session: str) -> None:
        _session.set(session)
        await holds.reach("plan")

    @wraps(planner)
    def plan(*given: Any, **named: Any) -> Any:
        planned = planner(*given, **named)
        asyncio.run_coroutine_threadsafe(reach(session_of()), loop).result()
        return planned

    setattr(planning, "plan", plan)  # noqa: B010


async def main(variant: str) -> None:
    settings = load_worker_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    install(variant)
    holds = Holds()
    catch_plans(holds)
    catch_calls(holds)

    def started(_: Running) -> None:
        say(ready=True)

    async def listen() -> None:
        async for command in commands():
            holds.told(command)

    listening = asyncio.create_task(listen())
    store = partial(SteppedStore, holds=holds, variant=variant)
    await run_worker(settings, summarizer=build(settings), started=started, store=store)
    listening.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
