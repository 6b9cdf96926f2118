"""The session store: every write is one script, every reply a value. The protocol is docs/design.md's.

Deadlines are the client's (`socket_timeout`); after StoreUnavailable send the same call again with the same `op`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError
from redis.asyncio import Redis

from offturn.store.entries import LogEntry, NewEntry, data_of, dumps, loads, text_of
from offturn.store.errors import UnknownVersion, mapped
from offturn.store.replies import (
    KINDS,
    AdoptReply,
    Claim,
    ClaimReply,
    CommitReply,
    FinishReply,
    Gone,
    Held,
    PurgeReply,
    RecordReply,
    Reply,
    Requested,
    RollbackReply,
    SteerReply,
    UndoReply,
)
from offturn.store.scripts import Scripts, texts
from offturn.store.state import Event, Meta, Snapshot, unknown
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_engine.compaction import VERSION, Compaction
from offturn_engine.outcome import Finish
from offturn_engine.ranges import Ranges

KINDS_OF_KEY = ("meta", "log", "ops", "ids", "events", "chunks")
PAGE = 200  # log entries per read


class SessionStore:
    """Sessions in Redis. `redis` must return bytes (`decode_responses=False`); the caller closes it.

    Every method may raise StoreUnavailable, StoreFull, StoreFault and UnknownVersion.
    """

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD) -> None:
        self._redis = redis
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command
        self._shard = shard
        self._scripts = Scripts(redis, texts())

    # -- hosts

    async def sync(
        self,
        key: SessionKey,
        *,
        incarnation: int,
        length: int,
        chain: str,
        limit_bytes: int = 262_144,
        limit_entries: int = PAGE,
    ) -> Snapshot:
        """The state and the log after `length`, if the caller has the first `length` entries (`chain` proves it).

        Pages hold at most `limit_entries` entries and end with the one that reaches `limit_bytes`.
        """
        limits = {"limit_bytes": limit_bytes, "limit_entries": limit_entries}
        found = await self._run("sync", key, {"incarnation": incarnation, "length": length, "chain": chain, **limits})
        now, number, *live = found
        if not live:
            return Snapshot(meta=None, next_incarnation=number, entries=(), reset=length > 0, more=False)
        start, reset, due, items, flat = live
        meta = Meta.read(flat, due=bool(due), now_ms=now)
        entries = tuple(LogEntry.read(start + i, item) for i, item in enumerate(items))
        more = meta is not None and start + len(entries) < meta.log_len
        return Snapshot(meta=meta, next_incarnation=number, entries=entries, reset=bool(reset), more=more)

    async def record(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        tail_length: int,
        tail_chain: str,
        entries: Sequence[NewEntry],
        expect: int | None = None,
        config: str = "{}",
        calibration: str | None = None,
        thresholds: tuple[int, int, int] | None = None,
        usage: str | None = None,
    ) -> RecordReply:
        """Append entries, once per `op`. A first record creates the session and stores `config` by value.

        `tail_length`, `tail_chain`: what the caller knows to be acknowledged. `thresholds`: soft, hard, growth in
        estimate units. `usage`: JSON for an event.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "tail_length": tail_length,
            "tail_chain": tail_chain,
            "expect": expect,
            "entries": [_header(entry) for entry in entries],
            "config": config,
            "calibration": calibration,
            "thresholds": thresholds,
            "usage": usage,
        }
        return cast(
            "RecordReply", await self._reply("record", key, args, [data_of(entry.envelope) for entry in entries])
        )

    async def request(
        self, key: SessionKey, *, op: str, incarnation: int, reason: str, focus: str = "", note: str = ""
    ) -> Requested | Gone:
        """Ask for a compaction whatever the pressure, once per `op`. The caller rings the doorbell."""
        args = {"op": op, "incarnation": incarnation, "reason": reason, "focus": focus, "note": note}
        return cast("Requested | Gone", await self._reply("request", key, args))

    async def adopt(self, key: SessionKey, *, incarnation: int, length: int, nonce: str) -> AdoptReply:
        """Put the current generation in force, if the log still has the length at which no group was open."""
        args = {"incarnation": incarnation, "length": length, "nonce": nonce}
        return cast("AdoptReply", await self._reply("adopt", key, args))

    async def rollback(self, key: SessionKey, *, op: str, incarnation: int, target: int) -> RollbackReply:
        """Put generation `target` (0: the raw transcript) in force, once per `op`; running jobs become stale."""
        args = {"op": op, "incarnation": incarnation, "target": target}
        return cast("RollbackReply", await self._reply("rollback", key, args))

    async def undo(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        epoch: str,
        length: int,
        chain: str,
        counter: int,
        path: Ranges,
        path_tokens: int,
        open_calls: Mapping[str, int],
        unfit: Sequence[int] = (),
        shown_tokens: int = 0,
        entry: NewEntry | None = None,
    ) -> UndoReply:
        """Put `path` in place of the one read at `epoch`, `length`, `chain` and `counter`, once per `op`.

        `path_tokens` and `open_calls` are those of the new path. In force is then the first of current and what it
        replaced that lies inside it and is not `unfit`; its view weighs `shown_tokens`. `entry` is appended: `path`
        names it by the seq `length`.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "epoch": epoch,
            "length": length,
            "chain": chain,
            "counter": counter,
            "path": path,
            "path_tokens": path_tokens,
            "open": text_of(dumps(dict(open_calls))),
            "unfit": unfit,
            "shown_tokens": shown_tokens,
            "entry": _header(entry) if entry else None,
        }
        return cast("UndoReply", await self._reply("undo", key, args, [data_of(entry.envelope)] if entry else ()))

    async def configure(
        self,
        key: SessionKey,
        *,
        op: str,
        incarnation: int,
        config: str,
        thresholds: tuple[int, int, int],
        calibration: str = "",
    ) -> SteerReply:
        """Replace what the first record stored, once per `op`; running jobs become stale."""
        args = {"op": op, "incarnation": incarnation, "config": config, "thresholds": thresholds}
        return cast("SteerReply", await self._reply("configure", key, {**args, "calibration": calibration}))

    async def cancel(self, key: SessionKey, *, op: str, incarnation: int) -> SteerReply:
        """Withdraw open requests, once per `op`; running jobs become stale."""
        return cast("SteerReply", await self._reply("cancel", key, {"op": op, "incarnation": incarnation}))

    async def unblock(self, key: SessionKey, *, op: str, incarnation: int) -> SteerReply:
        """Take a parked session out of its place, once per `op`."""
        return cast("SteerReply", await self._reply("unblock", key, {"op": op, "incarnation": incarnation}))

    async def purge(self, key: SessionKey, *, incarnation: int) -> PurgeReply:
        """Remove everything of this life of the session but its number; again, it answers the same."""
        return cast("PurgeReply", await self._reply("purge", key, {"incarnation": incarnation}))

    # -- workers

    async def claim(self, key: SessionKey, *, token: str, lease_ms: int, max_attempts: int = 6) -> ClaimReply:
        """Take a due session. `token` is random, new at every call."""
        args = {"token": token, "lease_ms": lease_ms, "max_attempts": max_attempts}
        return cast("ClaimReply", await self._reply("claim", key, args))

    async def renew(self, key: SessionKey, *, claim: Claim, lease_ms: int) -> bool:
        """Extend the lease, expired or not; False: it is somebody else's now, or the job's epoch is over."""
        reply = await self._reply("renew", key, {"claim": _held_by(claim), "lease_ms": lease_ms})
        return isinstance(reply, Held)

    async def commit(
        self,
        key: SessionKey,
        *,
        incarnation: int,
        epoch: str,
        base: int,
        chain_length: int,
        chain: str,
        compaction: Compaction,
        at_tokens: int,
        claim: Claim | None,
        op: str,
    ) -> CommitReply:
        """Publish a generation; its nonce is `op`, random and new for every candidate.

        `chain` is the chain hash at `chain_length`, the log up to the last seq covered or edited. `at_tokens`: the
        path's tokens when it was planned. Without a claim (a host): provisional only, once per `op`, in force at once.
        """
        args = {
            "op": op,
            "incarnation": incarnation,
            "epoch": epoch,
            "base": base,
            "chain_length": chain_length,
            "chain": chain,
            "claim": _held_by(claim) if claim else None,
            "generation": {
                "provisional": compaction.provisional,
                "method": compaction.method,
                "reason": compaction.reason,
                "covered": compaction.covered,
                "tokens_after": compaction.tokens_after,
                "at_tokens": at_tokens,
                "seen": compaction.seen,
            },
        }
        return cast("CommitReply", await self._reply("commit", key, args, [dumps(compaction.model_dump())]))

    async def finish(
        self,
        key: SessionKey,
        *,
        claim: Claim,
        outcome: Finish,
        backoff_ms: int = 0,
        detail: Mapping[str, str | int | float | bool] | None = None,
    ) -> FinishReply:
        """Release the lease; due is recomputed from the state, whatever the outcome. `failed` stays due, later.

        `detail` joins the fields of the event: names, numbers and sizes, never content.
        """
        args = {"claim": _held_by(claim), "outcome": outcome, "backoff_ms": backoff_ms, "detail": dict(detail or {})}
        return cast("FinishReply", await self._reply("finish", key, args))

    async def save_chunk(self, key: SessionKey, *, incarnation: int, chunk_key: str, value: str) -> bool:
        """Keep a paid result (the newest 64), also after the lease is lost; False: the session is gone."""
        args = {"incarnation": incarnation, "chunk": chunk_key}
        reply = await self._reply("save_chunk", key, args, [data_of(value)])
        return not isinstance(reply, Gone)

    # -- reading

    async def chunk(self, key: SessionKey, chunk_key: str) -> str | None:
        """A kept chunk result."""
        found = await self._command("HGET", self._key(key, "chunks"), chunk_key)
        return None if found is None else text_of(found)

    async def generation(self, key: SessionKey, number: int) -> Compaction | None:
        """A kept generation with its number, nonce, base, `replaces` and time. Raises UnknownVersion."""
        found = await self._command("GET", self._key(key, f"gen:{number}"))
        if found is None:
            return None
        header, _, payload = found.partition(b"\n")
        fields = {**loads(payload), **loads(header)}
        if fields["v"] != VERSION:
            raise UnknownVersion(
                f"generation {number} has version {fields['v']}, this release reads {VERSION}: upgrade offturn"
            )
        try:
            return Compaction.model_validate(fields)
        except ValidationError:  # its text quotes the record
            raise UnknownVersion(f"generation {number} is none that this release can read: upgrade offturn") from None

    async def meta(self, key: SessionKey) -> Meta | None:
        """The state; None where no session lives."""
        return (await self.sync(key, incarnation=0, length=0, chain="", limit_entries=0)).meta

    async def log(self, key: SessionKey, *, start: int, stop: int) -> list[LogEntry]:
        """Entries `start` to `stop` (exclusive), as far as they exist; read in pages."""
        entries: list[LogEntry] = []
        for low in range(start, stop, PAGE):
            high = min(low + PAGE, stop)
            items = await self._command("LRANGE", self._key(key, "log"), low, high - 1)
            entries.extend(LogEntry.read(low + i, item) for i, item in enumerate(items))
            if len(items) < high - low:
                break
        return entries

    async def events(self, key: SessionKey, *, after: str | None = None, limit: int = 100) -> list[Event]:
        """Events after an event's id, oldest first."""
        start = f"({after}" if after else "-"
        found = await self._command("XRANGE", self._key(key, "events"), start, "+", "COUNT", limit)
        return [_event(text_of(number), fields) for number, fields in found]

    async def now_ms(self) -> int:
        """Redis TIME, the only clock of the protocol."""
        seconds, microseconds = await self._command("TIME")
        return int(seconds) * 1000 + int(microseconds) // 1000

    async def due(self, limit: int = 100) -> list[tuple[SessionKey, int]]:
        """Sessions due now with their scores (ms), oldest first. Members that name no session are left and passed."""
        args = ("-inf", await self.now_ms(), "WITHSCORES", "LIMIT", 0, limit)
        found = await self._command("ZRANGEBYSCORE", keys.due(self._shard), *args, withscores=True)
        return [(key, int(max(score, 0))) for member, score in found if (key := _session_of(member))]

    async def sessions(self, tenant: str, limit: int = 1000) -> list[SessionKey]:
        """Sessions of a tenant, sorted by name; a purged one's tombstone is among them."""
        found: set[SessionKey] = set()
        with mapped():
            async for name in self._redis.scan_iter(match=keys.every_meta(tenant, self._shard), count=1000):
                found.add(SessionKey.of_meta(text_of(name)))
                if len(found) >= limit:
                    break
        return sorted(found, key=lambda key: key.session)

    # -- plumbing

    def _key(self, key: SessionKey, kind: str) -> str:
        return key.key(kind, self._shard)

    async def _command(self, *args: Any, **options: Any) -> Any:
        with mapped():
            return await self._execute(*args, **options)

    async def _run(self, name: str, key: SessionKey, args: Mapping[str, Any], raw: Sequence[bytes] = ()) -> Any:
        session = [self._key(key, kind) for kind in KINDS_OF_KEY]
        order = [self._key(key, "opsq"), self._key(key, "chunksq")]
        every = [*session, keys.due(self._shard), keys.dead(self._shard), *order]
        given = {field: value for field, value in args.items() if value is not None}
        reply = await self._scripts.run(name, every, [key.member, dumps(given), *raw])
        if isinstance(reply, bytes):
            reply = loads(reply)
            if reply["kind"] == "unknown-version":
                raise unknown(reply["v"])
        return reply

    async def _reply(self, name: str, key: SessionKey, args: Mapping[str, Any], raw: Sequence[bytes] = ()) -> Reply:
        fields = await self._run(name, key, args, raw)
        return KINDS[fields.pop("kind")].read(fields)


def _session_of(member: bytes) -> SessionKey | None:
    try:
        return SessionKey.of_member(text_of(member))
    except (UnicodeDecodeError, InvalidSetting):
        return None


def _header(entry: NewEntry) -> dict[str, Any]:
    header = {"digest": entry.digest, "tokens": entry.tokens, "calls": entry.calls, "results": entry.results}
    return header if entry.host_id is None else {**header, "id": entry.host_id}


def _held_by(claim: Claim) -> dict[str, Any]:
    return {
        "incarnation": claim.incarnation,
        "epoch": claim.epoch,
        "fence": claim.fence,
        "token": claim.token,
        "request_no": claim.request_no,
    }


def _event(number: str, fields: Mapping[bytes, bytes]) -> Event:
    at = int(number.split("-")[0])
    return Event(id=number, at=at, kind=text_of(fields[b"kind"]), fields=loads(fields[b"fields"]))
