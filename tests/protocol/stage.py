"""One session on a real store, played beside the model: after every step replies and state must be equal.

A step is a line, so that a failing random run can be pasted as a trace: `VERB [ACTOR] [ARGUMENTS]`, answered by a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from offturn.store.entries import NewEntry
from offturn.store.errors import Archived
from offturn.store.replies import Claim, Committed, Gone, Limited, Recorded, Reply, Undone
from offturn.store.sessions import SessionStore
from offturn.store.state import Stamp
from offturn_config import keys
from offturn_config.keys import SessionKey
from offturn_engine.compaction import Compaction, PhaseEnd
from offturn_engine.ranges import ranges_of, seqs_of
from tests.protocol import model
from tests.protocol.bounds_steps import LIMITS, BoundsSteps
from tests.protocol.facts import State, awake, chain_at, covered, gen, path_tokens
from tests.protocol.hours import HOURLY, Hours
from tests.protocol.observing import by_name, observe
from tests.protocol.stage_archive import ArchiveSteps
from tests.protocol.stage_moving import Host, Moves
from tests.protocol.stage_packing import QUIET, PackingStage
from tests.protocol.stage_redacting import RedactingStage
from tests.protocol.words import plain, word

THRESHOLDS = (2, 4, 2)
LEASE_MS = 600_000  # leases end when a step says so
COPIED = tuple(PhaseEnd(seq=i, note="words" if i % 2 else "") for i in range(52))  # two more than are kept
OWN_KEYS = ("meta", "log", "ops", "opsq", "ids", "events", "chunks", "chunksq", "packs", "marks", "life")


class Divergence(AssertionError):
    """Store and model do not agree."""


@dataclass
class Worker:
    claim: Claim
    plan: dict[str, Any] | None = None
    committed: bool = False


@dataclass(frozen=True)
class Saved:
    """All of a session, for a failover."""

    state: State
    dumps: Mapping[str, bytes | None]
    score: float | None
    dead: bytes | None


class Stage(Hours, BoundsSteps, Moves, RedactingStage, PackingStage, ArchiveSteps):
    def __init__(self, store: SessionStore, redis: Redis, key: SessionKey, *, max_attempts: int = 6) -> None:
        self.store, self.key, self.max_attempts = store, key, max_attempts
        self.redis: Any = redis  # its own types leave open whether a command is awaited
        self.state = State()
        self.before: Saved | None = None
        self.hosts: dict[str, Host] = {}
        self.gathered: dict[str, dict[str, Any]] = {}
        self.workers: dict[str, Worker] = {}
        self.lines: list[str] = []
        self.values: dict[str, str] = {}  # host id -> content
        self.views: dict[tuple[int, tuple[int, str]], tuple[int, str]] = {}
        self.stamps: dict[Stamp, tuple[Any, ...]] = {}
        self.levels = THRESHOLDS
        self.drawn = 0
        self.stubs = []

    async def do(self, line: str) -> str:
        """Play one step on both sides and return the reply in a word. Raises Divergence."""
        self.lines.append(line)
        verb, *arguments = line.split()
        step: Callable[..., Any] = getattr(self, f"on_{verb}")
        try:
            return str(await step(*arguments))
        except Archived as error:
            if self.state.archived:
                return "archived"
            raise Divergence(f"{error}\nafter:\n  " + "\n  ".join(self.lines)) from None
        except AssertionError as error:
            raise Divergence(f"{error}\nafter:\n  " + "\n  ".join(self.lines)) from None

    # -- hosts

    async def on_open(self, name: str) -> str:
        length, chain = len(self.state.log), chain_at(self.state, len(self.state.log))
        known: dict[str, Any] = {"length": length, "chain": chain, "redactions": self.state.redactions}
        seen = await self.store.sync(self.key, incarnation=self.state.incarnation, **known)
        assert (seen.meta is not None) is self.state.alive
        assert not seen.entries
        assert not seen.reset
        self.host(name).incarnation = seen.next_incarnation
        self.host(name).tail, self.host(name).redactions = (length, chain), self.state.redactions
        return "opened"

    async def on_record(self, name: str, *arguments: str) -> str:
        """`copied`: a first one brings ends of phases along."""
        sizes = [int(a) for a in arguments if a.isdigit()] or [1]
        entries = [self.entry(str(self.draw()), f"text {self.drawn}", size) for size in sizes]
        return await self.record(name, entries, arguments)

    async def on_levels(self, soft: str, hard: str) -> str:
        """What records carry from now on."""
        self.levels = (int(soft), int(hard), 2)
        return "set"

    async def on_repeat(self, name: str, *arguments: str) -> str:
        """An id the log has, with the same content, and a new one."""
        known = next((i.host_id for i in reversed(self.state.log) if i.host_id), None)
        entries = [self.entry(known, self.values[known], 1)] if known else []
        return await self.record(name, [*entries, self.entry(str(self.draw()), "after", 1)], arguments)

    async def on_conflict(self, name: str, *arguments: str) -> str:
        """A new id, and one the log has with other content."""
        known = next((i.host_id for i in self.state.log if i.host_id), None)
        entries = [NewEntry.of({"content": "other"}, origin="human", tokens=1, host_id=known)] if known else []
        return await self.record(name, [self.entry(str(self.draw()), "before", 1), *entries], arguments)

    async def record(self, name: str, entries: Sequence[NewEntry], arguments: Sequence[str]) -> str:
        length, chain = self.host(name).tail
        tail = {"tail_length": length, "tail_chain": chain, "redactions": self.host(name).redactions}
        phases = COPIED if "copied" in arguments else ()
        fields = {**tail, "entries": entries, "thresholds": self.levels, "limits": LIMITS, "phases": phases}
        return await self.write(name, "record", {**self.named(name), **fields}, arguments)

    async def on_request(self, name: str, *arguments: str) -> str:
        note = "words" if "told" in arguments else ""
        reason = "phase" if "phase" in arguments else "manual"
        return await self.write(name, "request", {**self.named(name), "reason": reason, "note": note}, arguments)

    async def on_rollback(self, name: str, target: str, *arguments: str) -> str:
        return await self.write(name, "rollback", {**self.named(name), "target": int(target)}, arguments)

    async def on_purge(self, name: str, *arguments: str) -> str:
        names, incarnation = self.own_keys(), self.named(name)["incarnation"]
        answer = await self.write(name, "purge", {"incarnation": incarnation}, arguments)
        counts = await self.redis.hexists(keys.sizes(self.key.tenant), self.key.member)
        assert counts is (self.state.alive and not self.state.archived), "what is purged counts on"
        assert self.state.alive or await self.redis.exists(*names) <= 1, "a purge leaves more than its tombstone"
        return answer

    async def on_configure(self, name: str, soft: str, hard: str, *arguments: str) -> str:
        """`stale`: what it changes was read before somebody else changed it."""
        epoch = "an older one" if "stale" in arguments else self.state.epoch
        fields = {"epoch": epoch, "config": f"config {self.draw()}", "thresholds": (int(soft), int(hard), 2)}
        return await self.write(name, "configure", {**self.named(name), **fields}, arguments)

    async def on_cancel(self, name: str, *arguments: str) -> str:
        hold = {"hold": True} if "held" in arguments else {}
        return await self.write(name, "cancel", {**self.named(name), **hold}, arguments)

    async def on_unblock(self, name: str, *arguments: str) -> str:
        return await self.write(name, "unblock", self.named(name), arguments)

    async def on_prepare(self, name: str, mode: str = "provisional") -> str:
        plan = self.candidate(self.state.epoch, provisional=mode != "full", tail=1)
        self.host(name).emergency = {**plan, "incarnation": self.state.incarnation, "claim": None}
        return "prepared"

    async def on_emergency(self, name: str, *arguments: str) -> str:
        prepared, self.host(name).emergency = self.host(name).emergency, None
        assert prepared
        return await self.write(name, "commit", prepared, arguments)

    async def on_again(self, name: str, *arguments: str) -> str:
        pending = self.host(name).pending
        assert pending
        return await self.write(name, *pending, arguments)

    async def on_adopt(self, name: str, *arguments: str) -> str:
        length = len(self.state.log) - len(arguments)  # one argument: the log grew in between
        fields = {"incarnation": self.named(name)["incarnation"], "length": length, "nonce": f"view {self.draw()}"}
        return word(await self.both("adopt", fields))

    async def write(self, name: str, kind: str, fields: dict[str, Any], arguments: Sequence[str]) -> str:
        host = self.host(name)
        reply = await self.both(kind, fields)
        if "lost" in arguments:
            host.pending = (kind, fields)
            return word(reply)
        host.pending = None
        if isinstance(reply, Gone):
            host.incarnation = None
        if isinstance(reply, Recorded):
            host.incarnation, host.tail = reply.incarnation, (reply.length, reply.chain)
        if isinstance(reply, Undone):
            host.tail = (reply.length, reply.chain)
        return word(reply)

    # -- workers

    async def on_claim(self, name: str) -> str:
        fields = {"token": f"token {self.draw()}", "lease_ms": LEASE_MS, "max_attempts": self.max_attempts}
        reply = await self.both("claim", {**fields, "worker": name, "hourly": HOURLY})
        if isinstance(reply, Limited):
            await self.look_again()
        if isinstance(reply, Claim):
            self.workers[name] = Worker(reply)
        return word(reply)

    async def on_plan(self, name: str, mode: str = "model") -> str:
        worker = self.workers[name]
        tail = 0 if mode == "all" else 1
        plan = self.candidate(worker.claim.epoch, provisional=mode == "prune", tail=tail)
        worker.plan = {**plan, "incarnation": worker.claim.incarnation, "claim": worker.claim}
        return "planned"

    async def on_save(self, name: str) -> str:
        held = self.workers[name].claim
        fields = {"incarnation": held.incarnation, "redactions": held.redactions, "chunk_key": f"chunk {self.draw()}"}
        return word(await self.both("save_chunk", {**fields, "value": "paid"}))

    async def on_commit(self, name: str) -> str:
        plan = self.workers[name].plan
        assert plan
        return word(await self.both("commit", plan))

    async def on_renew(self, name: str) -> str:
        return word(await self.both("renew", {"claim": self.workers[name].claim, "lease_ms": LEASE_MS}))

    async def on_finish(self, name: str, outcome: str) -> str:
        return word(await self.both("finish", {"claim": self.workers[name].claim, "outcome": outcome}))

    # -- the world

    async def on_expire(self) -> str:
        if self.state.leased:
            await self.redis.hset(self.meta_key, "leased_until", 1)
            await self.redis.zadd(keys.due(), {self.key.member: 1}, xx=True)
        return await self.became(model.expire(self.state), "expired")

    async def on_failover(self) -> str:
        """The last write is lost."""
        assert self.before
        saved, self.before = self.before, None
        await self.redis.delete(*self.own_keys(), keys.usage(self.key.tenant), keys.sizes(self.key.tenant))
        for name, data in saved.dumps.items():
            if data:
                await self.redis.restore(name, 0, data, replace=True)
        await self.redis.zrem(keys.due(), self.key.member)
        await self.redis.hdel(keys.dead(), self.key.member)
        if saved.score is not None:
            await self.redis.zadd(keys.due(), {self.key.member: saved.score})
        if saved.dead:
            await self.redis.hset(keys.dead(), self.key.member, saved.dead.decode())
        return await self.became(saved.state, "failed over")

    async def on_sweep(self) -> str:
        """Is the session due now, in the eyes of the sweeper?"""
        found = any(key == self.key for key, _ in await self.store.due(1000))
        s = self.state
        assert found is (s.due and not s.leased) or (s.due and not s.alive)  # what expired in a lease is due at its end
        return "due" if found else "quiet"

    # -- both sides

    async def both(self, kind: str, fields: dict[str, Any]) -> Reply | bool:
        if self.state.archived and kind != "purge":
            await self.refused(lambda: getattr(self.store, kind)(self.key, **fields))
        saved = await self.save()
        new, expected = getattr(model, kind)(self.state, **fields)
        new = awake(new) if new.due else new
        reply: Reply | bool = await getattr(self.store, kind)(self.key, **fields)
        assert plain(reply) == plain(expected), f"{kind}: the store answers {reply}, the model {expected}"
        if isinstance(reply, Committed):
            await self.published(reply, fields)
        if new != self.state:
            self.before = saved
            await self.prolonged(new, again=kind not in QUIET)
        await self.became(new, "")
        return reply

    async def published(self, reply: Committed, fields: dict[str, Any]) -> None:
        stored = await self.store.generation(self.key, reply.number)
        info = gen(self.state, reply.number)
        if stored and not info:  # a first answer, not a repeated one
            assert stored.nonce == fields["op"]
            assert stored.replaces == self.state.current
            assert stored.covered == fields["compaction"].covered

    async def became(self, new: State, answer: str) -> str:
        """The state is `new` now; the store must agree, and a revision must name one view only."""
        await self.counted(new)
        if new.archived:
            await self.away(new)
            self.state = new
            return answer
        found = await observe(self.redis, self.key)
        differing = [
            f"{name}: the store has {got!r}, the model {want!r}"
            for name, got, want in zip(State._fields, found, new._replace(ops=by_name(new.ops)), strict=True)
            if got != want
        ]
        assert not differing, "; ".join(differing)
        g = gen(new, new.adopted)
        if new.alive:
            shown = (g.number, g.nonce) if g else (0, "")
            before = self.views.setdefault((new.incarnation, new.revision), shown)
            assert before == shown, f"revision {new.revision} names two views"
            gens = [(g.number, g.nonce, g.covered, g.tokens_after) for g in new.gens]
            told = (new.log, new.path, shown, new.current, gens, new.config, new.blocked, new.redactions)
            stamp = await self.store.stamp(self.key)
            assert self.stamps.setdefault(stamp, told) == told, "a stamp names two states"
        self.state = new
        return answer

    async def save(self) -> Saved:
        names = [*self.own_keys(), keys.usage(self.key.tenant), keys.sizes(self.key.tenant)]
        async with self.redis.pipeline() as pipe:
            for name in names:
                pipe.dump(name)
            pipe.zscore(keys.due(), self.key.member)
            pipe.hget(keys.dead(), self.key.member)
            self.age(pipe)
            *dumps, score, dead = (await pipe.execute())[: len(names) + 2]
        return Saved(self.state, dict(zip(names, dumps, strict=True)), score, dead)

    # -- small things

    @property
    def meta_key(self) -> str:
        return self.key.key("meta")

    def own_keys(self) -> list[str]:
        payloads = [f"gen:{n}" for n in range(1, self.state.counter + 2)]
        return [self.key.key(name) for name in (*OWN_KEYS, *payloads)]

    def host(self, name: str) -> Host:
        return self.hosts.setdefault(name, Host())

    def draw(self) -> int:
        self.drawn += 1
        return self.drawn

    def named(self, name: str) -> dict[str, Any]:
        incarnation = self.host(name).incarnation
        if incarnation is None:
            incarnation = self.host(name).incarnation = self.state.incarnation
        return {"op": f"op {self.draw()}", "incarnation": incarnation}

    def entry(self, host_id: str | None, value: str, tokens: int) -> NewEntry:
        if host_id is not None:
            self.values[host_id] = value
        return NewEntry.of({"role": "user", "content": value}, origin="human", tokens=tokens, host_id=host_id)

    def candidate(self, epoch: str, *, provisional: bool, tail: int) -> dict[str, Any]:
        """Cover all but the tail, and what the current generation covers; its summary weighs nothing."""
        s = self.state
        order = list(seqs_of(s.path))
        chosen = set(order[: len(order) - tail]) | covered(s, s.current)
        tokens = path_tokens(s)
        length = max(chosen, default=-1) + 1
        compaction = Compaction(
            base=s.current,
            covered=ranges_of(chosen),
            tokens_after=tokens - sum(s.log[seq].tokens for seq in chosen),
            seen=len(s.log),
            provisional=provisional,
            method="prune" if provisional else "model",
        )
        return {
            "op": f"nonce {self.draw()}",
            "epoch": epoch,
            "base": s.current,
            "chain_length": length,
            "chain": chain_at(s, length),
            "compaction": compaction,
            "at_tokens": tokens,
        }
