"""A short run of a few chosen faults, each of which tells a correct build from one of the broken variants."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from offturn.stopping import stop
from tests.faults.kit.driver import call_judge, rest
from tests.faults.kit.stage import Held, Stage
from tests.faults.kit.variants import broken
from tests.faults.kit.writer import Spec

LEASE_MS = 1_000
SETTLE = 60.0  # seconds
PATIENCE = 100.0  # a busy machine is no fault

Act = Callable[[Stage], Awaitable[None]]


async def replies_lost(stage: Stage) -> None:
    """Records without ids, their replies lost: each is sent again under its operation id."""
    for _ in range(3):
        stage.proxies["one"].lose_reply("record")
    await stage.operate("replies", "turns")


async def configured_meanwhile(stage: Stage) -> None:
    """A job stands before its commit while the session is configured anew: its epoch is over."""
    async with _standing(stage, "epoch"):
        assert await stage.operate("epoch", "configure") == "ok"
    await stage.seen("finish", "epoch", PATIENCE)


async def requested_meanwhile(stage: Stage) -> None:
    """A job stands before its commit while another compaction is asked for: that needs a job of its own."""
    async with _standing(stage, "dirty"):
        assert await stage.operate("dirty", "request") == "ok"
    await stage.seen("finish", "dirty", PATIENCE)


async def frozen_holder(stage: Stage) -> None:
    """A worker freezes before its commit, another claims, the first goes on while the second still works."""
    async with _standing(stage, "claim") as first:
        child = stage.workers[first.worker]
        child.signal(signal.SIGSTOP)
        try:
            async with stage.held("plan", session="claim", patience=PATIENCE) as second:
                assert second is not None
                assert second.worker != first.worker
                ended = asyncio.create_task(_first(stage, "claim", "after commit", "finish"))
                child.signal(signal.SIGCONT)
                stage.go(first)
                await ended
        finally:
            child.signal(signal.SIGCONT)
    await stage.seen("finish", "claim", PATIENCE)


async def _first(stage: Stage, session: str, *steps: str) -> None:
    """Until a worker reaches one of these steps of this session."""
    looking = [asyncio.create_task(stage.seen(step, session, PATIENCE)) for step in steps]
    try:
        await asyncio.wait(looking, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await stop(*looking)


async def purged_twice(stage: Stage) -> None:
    """A purge whose reply is lost is sent again after the other host has begun the session anew."""
    await stage.operate("purge", "turns", host="one")
    await stage.operate("purge", "say", host="two")
    proxy = stage.proxies["one"]
    proxy.shut_on_loss = True
    proxy.dropped.clear()
    proxy.lose_reply("purge")
    purging = asyncio.create_task(stage.operate("purge", "purge", host="one"))
    await asyncio.wait_for(proxy.dropped.wait(), PATIENCE)
    assert await stage.operate("purge", "say", host="two") == "ok"
    await stage.kill_host("two")  # or it would record again what the store has lost
    proxy.open.set()
    assert await purging == "ok"
    await stage.start_host("two", _specs("two", ["purged_twice"]), run=False)


async def looked_at(stage: Stage) -> None:
    """Turns with views, and a compaction."""
    async with _standing(stage, "views"):
        pass
    await stage.seen("finish", "views", PATIENCE)
    await stage.operate("views", "turns")


ACTS: Mapping[str, Act] = {
    f.__name__: f
    for f in (replies_lost, configured_meanwhile, requested_meanwhile, frozen_holder, purged_twice, looked_at)
}
SESSION_OF = {
    "replies_lost": "replies",
    "configured_meanwhile": "epoch",
    "requested_meanwhile": "dirty",
    "frozen_holder": "claim",
    "purged_twice": "purge",
    "looked_at": "views",
}


@asynccontextmanager
async def _standing(stage: Stage, session: str) -> AsyncIterator[Held]:
    """A job of this session stands before its commit inside the block."""
    for _ in range(2):
        await stage.operate(session, "turns")
    asking = asyncio.create_task(stage.operate(session, "request"))  # begins when the hold is known
    async with stage.held("before commit", session=session, patience=PATIENCE) as held:
        assert held is not None
        assert await asking == "ok"
        yield held


def _specs(host: str, acts: Sequence[str]) -> list[Spec]:
    """Of the sessions that these acts use."""
    used = [SESSION_OF[act] for act in acts]
    if host == "two":
        return [Spec(session=name, writer="b", shared=True) for name in used if name == "purge"]
    return [
        Spec(
            session=name,
            writer="a",
            window=12_000,
            size=1_600,
            ids=name != "replies",
            format="anthropic" if name in {"epoch", "claim"} else "openai-chat",
            shared=name == "purge",
        )
        for name in used
    ]


async def run_short(folder: Path, acts: Sequence[str], variant: str = "") -> dict[str, Any]:
    """The judge's verdict on these acts, all at once, in this build."""
    async with Stage(folder, seed=1, lease_ms=LEASE_MS, variant=variant, patience=60) as stage:
        await stage.server.load(broken(variant).values())
        hosts = [stage.start_host(name, specs, run=False) for name in ("one", "two") if (specs := _specs(name, acts))]
        await asyncio.gather(*hosts, stage.start_worker(), stage.start_worker())
        await asyncio.gather(*(ACTS[name](stage) for name in acts if name != "frozen_holder"))
        if "frozen_holder" in acts:  # for this one both workers are needed
            await frozen_holder(stage)
        await stage.heal()
        trouble = await rest(stage, SETTLE)
    verdict = await call_judge(folder)
    return {**verdict, "trouble": trouble}
