"""What the page is looked at with: the demo's recording, hostile texts, a session that was given up, another tenant's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio import Redis

from offturn import CompactionClient, Session, Usage
from offturn.recipe import run
from offturn.store.limits import SharedLimits
from offturn.store.workers import About, Workers
from offturn.summarizer import EXTRACTIVE
from offturn_config.keys import SessionKey, dead, due
from offturn_engine.tokens import estimate_message
from offturn_models.prices import price_of
from offturn_worker.demo.recorded import recording

TENANT, OTHER = "acme", "other"
DEMO, HOSTILE, PARKED, SECRET = "demo", "hostile <b>\u202eid", "worn-out", "kept from others"
REWOUND = "taken back"
WINDOW = 36_000
MODEL = "anthropic:claude-sonnet-4-5"
LONG_LINE = 1_000_000
ATTACK = (
    "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 2'>\"'></pre></details></main>"
    "{{ 7 * 7 }}\x1b[31mred\x1b[0m \u202egnp.exe\u2066 \x00 &amp; javascript:alert(1)"
)


async def fill(client: CompactionClient, other: CompactionClient, redis: Redis) -> None:
    """Both tenants' sessions, a worker that was seen, and a breaker that is open."""
    await play(client)
    await attack(client)
    await give_up(client, redis)
    await take_back(client)
    secret = other.session(SECRET, format="openai-chat", window=WINDOW)
    await secret.record([{"role": "user", "content": "words of the other tenant"}])
    await Workers(redis).beat("pod-1", About(version="0.1.0", max_jobs=4, summarizers=("anthropic:claude-haiku",)))
    await SharedLimits(redis).route_leave(
        "anthropic:claude-haiku#1", token="t", trouble="overloaded", failures=1, pause_ms=600_000, longest_ms=600_000
    )


async def play(client: CompactionClient, name: str = DEMO) -> Session:
    """The demo's recording, with compactions at its phase ends and where it crosses its levels."""
    played, waiting = recording(), list[Any]()
    session = client.session(name, format="openai-chat", window=WINDOW, model=MODEL)
    phases, usage = {phase.after: phase.note for phase in played.phases}, None
    for index, message in enumerate(played.messages):
        if message["role"] == "assistant" and waiting:
            await session.record(waiting, usage=usage)
            view = await session.view(system=played.system)
            cached = sum(estimate_message(raw) for raw in view.messages[: view.prefix])
            usage, waiting = Usage(view.tokens, 200, min(cached, view.tokens)), []
            if (await session.status()).due:
                await compact(session)
        waiting.append(message)
        if index in phases:
            await session.record(waiting, usage=usage)
            waiting, usage = [], None
            await session.phase_done(phases[index])
            await compact(session)
    if waiting:
        await session.record(waiting)
    await session.view()
    return session


async def compact(session: Session) -> None:
    """As a worker of no model would: with the prices that are known."""
    links = await session._connector.links()
    await run(session.key, store=links.store, doorbell=links.doorbell, summarizer=EXTRACTIVE, prices=price_of)


async def attack(client: CompactionClient) -> Session:
    """Texts that would run, hide or reorder something, and a line of a megabyte; summarised and not."""
    session = client.session(HOSTILE, format="openai-chat", window=WINDOW)
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": ATTACK})}}
    await session.record(
        [
            {"role": "user", "content": ATTACK},
            {"role": "assistant", "content": ATTACK, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": ATTACK + "x" * LONG_LINE + "END OF THE LINE"},
            *[{"role": role, "content": f"{ATTACK} {n} " * 8} for n in range(12) for role in ("assistant", "user")],
            {"role": "assistant", "content": ATTACK},
        ]
    )
    await session.request(focus=ATTACK)
    await client.run_due()
    await session.view()
    return session


async def take_back(client: CompactionClient) -> Session:
    """Two generations, and then messages that only the second one covers are taken back."""
    session = client.session(REWOUND, format="openai-chat", window=WINDOW)
    for part in range(2):
        words = {"user": "word ", "assistant": "I read src/a.py and saw that it parses. "}
        told = [
            {"role": role, "content": f"{part} {n} {said * 120}"} for n in range(12) for role, said in words.items()
        ]
        await session.record(told)
        await session.request()
        await client.run_due()
        await session.view()
    await session.rewind(messages=22)
    return session


async def give_up(client: CompactionClient, redis: Redis) -> None:
    """A session that workers have died on."""
    key = SessionKey(client.tenant, PARKED)
    await client.session(PARKED, format="openai-chat", window=WINDOW).record([{"role": "user", "content": "Hello?"}])
    now = int((await redis.time())[0]) * 1000
    ends = [{"kind": "died", "at": now, "worker": "pod-1"}] * 6
    await redis.zrem(due(), key.member)
    execute: Callable[..., Awaitable[Any]] = redis.execute_command
    await execute("HSET", key.key("meta"), "parked", 1, "attempts", 6, "ends", json.dumps(ends))
    letter = {"at": now, "reason": "attempts", "attempts": 6, "ends": ends}
    await execute("HSET", dead(), key.member, json.dumps(letter))
