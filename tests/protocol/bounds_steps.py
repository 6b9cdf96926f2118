"""The steps of a stage that end a session by itself, fill it, or lose a part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from offturn.store.sessions import SessionStore
from offturn.store.tenants import Tenants
from offturn_config import keys
from offturn_config.keys import SessionKey
from tests.protocol import model
from tests.protocol.changes import STRIKES
from tests.protocol.facts import State, log_bytes
from tests.protocol.words import word

TTL_MS = 36_000_000
AGED_MS = 600_000  # what is left of it before each write; nothing expires but by a step
LIMITS = (TTL_MS, 0, STRIKES)


class BoundsSteps:
    """Mixed into a stage."""

    redis: Any
    key: SessionKey
    state: State
    store: SessionStore
    own_keys: Callable[[], list[str]]
    named: Callable[[str], dict[str, Any]]
    both: Callable[[str, dict[str, Any]], Awaitable[Any]]
    write: Callable[[str, str, dict[str, Any], Sequence[str]], Awaitable[str]]
    became: Callable[[State, str], Awaitable[str]]

    async def on_lapse(self, mode: str = "whole") -> str:
        """The TTL is over. `partly`: of keys that a release without TTL wrote, only the state has gone."""
        if self.state.doze == "asleep":  # that is shorter than any TTL
            await self.on_silence()
        gone = [self.key.key("meta")] if mode == "partly" else self.own_keys()
        await self.redis.unlink(*(name for name in gone if name != self.key.key("life")))
        return await self.became(model.lapse(self.state), "lapsed")

    async def on_evict(self, number: str) -> str:
        """The server loses a generation's record."""
        await self.redis.delete(self.key.key(f"gen:{number}"))
        return await self.became(model.evict(self.state, int(number)), "evicted")

    async def on_mend(self, name: str) -> str:
        named = self.named(name)
        return word(await self.both("mend", {"incarnation": named["incarnation"], "nonce": named["op"]}))

    async def on_narrow(self, name: str, room: str, *arguments: str) -> str:
        """The quota leaves so many bytes; a message of these steps takes more than 100."""
        s = self.state
        fields = {
            "epoch": s.epoch,
            "config": s.config,
            "thresholds": s.thresholds,
            "limits": (TTL_MS, log_bytes(s) + int(room), STRIKES),
        }
        return await self.write(name, "configure", {**self.named(name), **fields}, arguments)

    async def on_allot(self, room: str) -> str:
        """The tenant may have so many bytes more; `all`: no limit."""
        allowed = None if room == "all" else log_bytes(self.state) + int(room)
        await Tenants(self.redis).limit(self.key.tenant, bytes=allowed)
        return await self.became(self.state._replace(allowed=allowed or 0), "allotted")

    async def on_account(self) -> str:
        """Does what counts for the tenant still live?"""
        tenants = Tenants(self.redis)
        tenants._scripts = self.store._scripts
        for key in (await tenants.vanished(self.key.tenant, 0))[1]:
            assert await tenants.forget(key)
        assert not await tenants.forget(self.key)
        return await self.became(self.state, "counted")

    async def counted(self, new: State) -> None:
        """A living session counts with its log, what is away or purged does not; the tenant's bytes are the sum."""
        sizes = await self.redis.hgetall(keys.sizes(self.key.tenant))
        total = int(await self.redis.hget(keys.usage(self.key.tenant), "bytes") or 0)
        assert total == sum(map(int, sizes.values())), "the tenant's bytes are not those of its sessions"
        mine = sizes.get(self.key.member.encode())
        if new.alive:
            assert mine == (None if new.archived else b"%d" % log_bytes(new)), "the session counts with another size"

    async def on_pace(self, name: str, hourly: str, interval: str, idle: str, floor: str, *arguments: str) -> str:
        """How often automatic work may start; seconds between two of them, of silence; the smallest view for that.

        `step2`: growth after which results are pruned below the soft level.
        """
        step = next((int(a.removeprefix("step")) for a in arguments if a.startswith("step")), 0)
        pace = (int(hourly), int(interval) * 1000, int(idle) * 1000, int(floor), step)
        s = self.state
        fields = {"epoch": s.epoch, "config": s.config, "thresholds": s.thresholds, "pace": pace}
        return await self.write(name, "configure", {**self.named(name), **fields}, arguments)

    async def on_silence(self) -> str:
        """As long as the policy waits for, if the session is waiting."""
        if self.state.doze != "asleep":
            return "nothing"
        await self.redis.hset(self.key.key("meta"), "doze", 1)
        await self.redis.zadd(keys.due(), {self.key.member: 1}, xx=True)
        return await self.became(self.state._replace(due=True, doze="over"), "silent")

    async def on_unlist(self) -> str:
        new, _ = model.unlist(self.state)
        await self.store.unlist(self.key)
        return await self.became(new, "unlisted")

    def age(self, pipe: Any) -> None:
        """Let time pass for every key of the session that may expire."""
        for name in self.own_keys():
            pipe.pexpire(name, AGED_MS, xx=True)

    async def prolonged(self, new: State, *, again: bool) -> None:
        """After a write every key of a living session has the same time, and the whole of it again, or what was left."""
        if not new.alive:
            return
        names = [name for name in self.own_keys() if name != self.key.key("life")]
        async with self.redis.pipeline() as pipe:
            for name in names:
                pipe.pexpiretime(name)
            pipe.time()
            *ends, (seconds, micros) = await pipe.execute()
        left = {at for at in ends if at != -2}
        assert len(left) == 1, "the keys of the session do not end together"
        assert (left.pop() > seconds * 1000 + micros // 1000 + AGED_MS) is again, (
            "what a host or a job does starts the TTL, nothing else"
        )
