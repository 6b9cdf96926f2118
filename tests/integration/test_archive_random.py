"""A session archived, evicted, restored and continued equals one that never left."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from offturn import CompactionClient, OffturnError, Refused, Session
from offturn.packing import pack_covered
from offturn.store.sessions import SessionStore
from offturn.testing import FakeSummarizer
from offturn_worker.archive.keeping import Keeper, Kept
from tests.integration.archived import brought_back, keeper_at
from tests.integration.host import human, result, turn

FMT = "openai-chat"
TIMES = {"at", "created", "updated", "idle_s", "age_s", "since", "started", "ended", "seconds", "ms", "timings"}
NONCE = re.compile(r"\b[0-9a-f]{32}\b")


@dataclass
class Twin:
    """Two sessions that a host treats alike; one of them is sent away now and then."""

    client: CompactionClient
    keeper: Keeper
    redis: Redis
    stays: Session = field(init=False)
    leaves: Session = field(init=False)
    number: int = 0
    told: list[tuple[object, object]] = field(default_factory=list)
    away: int = 0

    def __post_init__(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        """As another process of the host has them."""
        self.stays, self.leaves = (self.client.session(name, format=FMT, window=24_000) for name in ("stays", "leaves"))

    async def both(self, call: Callable[[Session], Any]) -> None:
        answers = []
        for session in (self.stays, self.leaves):
            try:
                answers.append(shown(await call(session)))
            except OffturnError as error:
                answers.append((type(error).__name__, str(error).replace(session.key.session, "S")))
        assert answers[0] == answers[1]

    async def do(self, step: str, size: int) -> None:
        self.number += 1
        number, fresh = self.number, turn(FMT, self.number, size=50 + 40 * size)
        calls: dict[str, Callable[[Session], Any]] = {
            "record": lambda s: s.record(fresh, ids=[f"{number}.{i}" for i in range(4)]),
            "part": lambda s: s.record(fresh[: 1 + size % 2]),  # a call may stay open
            "answer": lambda s: s.record([result(FMT, f"call_{number - 1}", "late")]),
            "usage": lambda s: s.record([human("Go on.")], usage={"prompt_tokens": 9_000, "completion_tokens": 3}),
            "view": lambda s: s.view(),
            "request": lambda s: s.request(focus="the port"),
            "rewind": lambda s: s.rewind(),
            "amend": lambda s: s.amend(size, human(f"Other {number}.")),
            "rollback": lambda s: s.rollback(generation=size % 3),
            "redact": lambda s: s.redact([size], reason="asked"),
            "pin": lambda s: s.pin(size),
            "configure": lambda s: s.configure(overrides={"trigger.soft": 0.5 + size / 100}),
            "cancel": lambda s: s.cancel(),
            "purge": lambda s: s.purge(),
        }
        if step == "work":
            await self.client.run_due(summarizer=FakeSummarizer())
        elif step == "reopen":
            self.reopen()
        elif step == "pack":
            for session in (self.stays, self.leaves):
                await self.pack(session)
        elif step == "archive":
            self.away += isinstance(await self.keeper.archive(self.leaves.key), Kept)
        else:
            await self.both(calls[step])

    async def pack(self, session: Session) -> None:
        store = SessionStore(self.redis)
        with suppress(Refused):
            await session.status()  # which brings it back
            await pack_covered(store, session.key, before_ms=await store.now_ms() + 1_000)

    async def compare(self) -> None:
        await self.both(lambda s: s.status())
        await self.both(lambda s: s.generations())
        await self.both(exported)
        await self.both(lambda s: s.events())
        for number in range(4):
            await self.both(lambda s, n=number: s.view(generation=n))  # type: ignore[misc]
        await self.both(lambda s: s.view())
        await self.both(lambda s: s.search("module"))


async def exported(session: Session) -> Any:
    return [line async for line in session.export()]


def shown(value: Any) -> Any:
    """Without times, random values and the session's name."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if hasattr(value, "__dataclass_fields__"):
        value = {
            name: getattr(value, name) for name in value.__dataclass_fields__ if name not in ("store", "mirror", "key")
        }
    if isinstance(value, dict):
        return {str(k): shown(v) for k, v in value.items() if k not in TIMES and k not in ("id", "session")}
    if isinstance(value, list | tuple | set | frozenset):
        return [shown(one) for one in value]
    return NONCE.sub("N", value) if isinstance(value, str) else value


OFTEN = ("record",) * 3 + ("view", "work", "pack") * 2 + ("archive",) * 4
SELDOM = ("part", "answer", "usage", "request", "rewind", "amend", "rollback", "redact", "pin", "configure", "cancel")
STEPS = st.lists(
    st.tuples(st.sampled_from((*OFTEN, *SELDOM, "reopen", "purge")), st.integers(0, 20)),
    min_size=8,
    max_size=30,
)


@pytest.mark.timeout(900)  # forty lives one after the other: minutes, where a core is shared by twenty
def test_a_session_archived_evicted_restored_and_continued_equals_one_that_never_left(valkey_url: str) -> None:
    away = 0

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def property_(steps: list[tuple[str, int]]) -> None:
        nonlocal away
        away += asyncio.run(played(valkey_url, steps))

    property_()
    assert away > 30


async def played(url: str, steps: list[tuple[str, int]]) -> int:
    redis = Redis.from_url(url)
    await redis.flushall()
    with TemporaryDirectory() as folder:
        keeper = keeper_at(redis, Path(folder))
        async with CompactionClient.from_url(url, timeout=20) as client, brought_back(keeper, redis):
            twin = Twin(client, keeper, redis)
            await twin.do("record", 10)
            for step, size in steps:
                await twin.do(step, size)
            await twin.do("archive", 0)
            twin.reopen()
            await twin.compare()
    await redis.aclose()
    return twin.away
