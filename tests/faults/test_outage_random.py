"""Random outages, lost replies and failovers under two hosts: what was taken is in the log once, or the host was told."""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

import pytest
from redis.asyncio import Redis

from offturn import Behind, CompactionClient, NotRecorded, Session, StoreUnavailable, courier
from tests.faults.forwarder import Proxy, proxy
from tests.faults.processes import until_true
from tests.faults.snapshot import Snapshot
from tests.integration.host import human, stored

SEEDS = range(int(os.environ.get("OFFTURN_TEST_SEEDS", "2")))
STEPS = 40
SECONDS = 0.3  # of one call


@dataclass
class Host:
    """One process: a line to the store, a handle, what it said, and what it was told is missing."""

    name: str
    line: Proxy
    session: Session
    said: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    async def say(self, text: str) -> None:
        """Say it again where the call was refused because of something before, as its error asks for."""
        while True:
            try:
                await self.session.record(human(text))
                self.said.append(text)
                return
            except (Behind, NotRecorded):
                self.forget()

    async def look(self) -> None:
        try:
            view = await self.session.view()
        except (Behind, NotRecorded):
            self.forget()
            return
        if any("no longer holds" in warning for warning in view.warnings):
            self.forget()
        shown = [message["content"] for message in view.messages]
        mine = [text for text in self.said if text not in self.told]
        assert len(shown) == len(set(shown)), "something is shown twice"
        assert [text for text in shown if text in mine] == mine, (
            "something of its own is not shown, or in another order"
        )

    def forget(self) -> None:
        """It was told that what it has said may be gone."""
        self.told |= set(self.said)

    def disturb(self, draw: random.Random) -> None:
        self.line.down = self.line.silent = False
        match draw.randrange(6):
            case 0:
                self.line.down = True
            case 1:
                self.line.silent = True
            case 2:
                self.line.lose = draw.randint(1, 3)


@pytest.mark.parametrize("failovers", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_is_lost_or_doubled_untold(
    redis: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch, seed: int, failovers: bool
) -> None:
    monkeypatch.setattr(courier, "FIRST_SECONDS", 0.1)
    draw = random.Random(seed)
    async with AsyncExitStack() as stack:
        hosts = []
        for name in ("one", "two"):
            line = await stack.enter_async_context(proxy(valkey_url))
            client = await stack.enter_async_context(CompactionClient.from_url(line.url, timeout=SECONDS))
            hosts.append(Host(name, line, client.session("chat", format="openai-chat", window=100_000)))
        snapshot = await Snapshot(redis).take()
        for step in range(STEPS):
            for host in hosts:
                host.disturb(draw)
            if failovers and draw.random() < 0.2:
                await snapshot.restore()
            if draw.random() < 0.4:
                await snapshot.take()
            async with asyncio.timeout(60):
                await asyncio.gather(*(act(host, draw.random(), f"{host.name} {step}") for host in hosts))
        for host in hosts:
            host.line.down, host.line.silent, host.line.lose = False, False, 0
        for host in hosts:
            await until_true(partial(delivered, host))
        for host in hosts:
            await host.look()

        log = [message["content"] for message in await stored(redis, "chat")]
        for host in hosts:
            certain = [text for text in host.said if text not in host.told]
            assert [text for text in log if text in certain] == certain, f"seed {seed}: lost, or not in order"
            assert len(log) == len(set(log)), f"seed {seed}: doubled"
            assert host.session.undelivered() == [] or host.told


async def delivered(host: Host) -> bool:
    """Does nothing of what it said wait any more?"""
    with suppress(StoreUnavailable):  # a call has little time, and the machine may be busy
        await host.look()
    return not host.session._outbox.waiting


async def act(host: Host, what: float, text: str) -> None:
    if what < 0.6:
        await host.say(text)
    else:
        with suppress(StoreUnavailable):  # nothing was said or seen yet
            await host.look()
