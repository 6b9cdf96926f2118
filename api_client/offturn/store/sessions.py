"""The session store: every write is one script, every reply a value. The protocol is docs/design.md's.

Deadlines are the client's (`socket_timeout`); after StoreUnavailable send the same call again with the same `op`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from redis.asyncio import Redis

from offturn.store.dead import DeadLetters
from offturn.store.entries import LogEntry, loads, text_of
from offturn.store.errors import Archived, UnknownVersion, mapped, readable
from offturn.store.hosting import HostScripts
from offturn.store.listing import Listing
from offturn.store.logs import Known, Logs
from offturn.store.packing import PackScripts, unpacked
from offturn.store.records import fields_of
from offturn.store.scripted import Bring
from offturn.store.state import READABLE, STAMPED, Event, Meta, Snapshot, Stamp, stamp_of
from offturn.store.workers import Workers, WorkerSeen
from offturn.store.working import WorkerScripts
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_engine.compaction import VERSION, Compaction

OTHER_GENERATION = (
    "put another one in force with rollback(generation=...) (on the command line `offturn session rollback`), 0 is the "
    "transcript itself"
)
PAGE = 200  # log entries per read
DUE_PAGE = 500
NOTHING_KNOWN = {"incarnation": 0, "length": 0, "chain": "", "redactions": 0}


class SessionStore(HostScripts, WorkerScripts, PackScripts, DeadLetters, Listing):
    """Sessions in Redis.

    Every method may raise StoreUnavailable, StoreFull, StoreFault and UnknownVersion.
    """

    def __init__(self, redis: Redis, *, shard: str = keys.SHARD, bring: Bring | None = None) -> None:
        super().__init__(redis, shard=shard, bring=bring)
        self._logs = Logs()

    async def sync(
        self,
        key: SessionKey,
        *,
        incarnation: int,
        length: int,
        chain: str,
        redactions: int = 0,
        limit_bytes: int = 262_144,
        limit_entries: int = PAGE,
        touch: bool = False,
    ) -> Snapshot:
        """The state and the log after `length`, if the caller has the first `length` entries.

        `chain` proves that, with `redactions`, which the state had when the caller read them. Pages hold at most
        `limit_entries` entries and end with the one that reaches `limit_bytes`; packed entries come in whole packs. `touch`: a host is there, a TTL starts
        again (not at every call).
        """
        limits = {"limit_bytes": limit_bytes, "limit_entries": limit_entries, "touch": touch}
        known = {"incarnation": incarnation, "length": length, "chain": chain, "redactions": redactions}
        found = await self._run("sync", key, {**known, **limits})
        now, number, *live = found
        if not live:
            return Snapshot(meta=None, next_incarnation=number, entries=(), reset=length > 0, more=False)
        start, reset, due, unattended, items, flat, packed = live
        with readable(f"the state of session {key.session!r}"):
            meta = Meta.read(flat, due=bool(due), now_ms=now, unattended=bool(unattended))
        if packed:
            items = await asyncio.to_thread(unpacked, key, packed, start)
        entries = tuple(_entries(key, start, items))
        more = meta is not None and start + len(entries) < meta.log_len
        stamp = stamp_of(flat)
        return Snapshot(meta=meta, next_incarnation=number, entries=entries, reset=bool(reset), more=more, stamp=stamp)

    async def stamp(self, key: SessionKey) -> Stamp:
        """What tells whether anything has changed since a `sync`, without reading it; also of what is no session any more."""
        return tuple(await self._command("HMGET", self._keys(key)[0], *STAMPED))

    async def chunk(self, key: SessionKey, chunk_key: str) -> str | None:
        """A kept chunk result; None also for what is no text."""
        found = await self._command("HGET", self._key(key, "chunks"), chunk_key)
        try:
            return None if found is None else text_of(found)
        except UnicodeDecodeError:
            return None

    async def generation(self, key: SessionKey, number: int) -> Compaction | None:
        """A kept generation with its number, nonce, base, `replaces` and time. Raises UnknownVersion."""
        found = await self._command("GET", self._key(key, f"gen:{number}"))
        return None if found is None else compaction_of(key, number, found)

    async def life(self, key: SessionKey) -> int:
        """The number of the session's life, or of its last one; also where nothing else of it can be read."""
        _, number, *live = await self._run("sync", key, {**NOTHING_KNOWN, "limit_bytes": 0, "limit_entries": 0})
        return int(number) if live else int(number) - 1

    async def meta(self, key: SessionKey) -> Meta | None:
        """The state; None where no session lives."""
        return (await self.sync(key, incarnation=0, length=0, chain="", limit_entries=0)).meta

    async def log(self, key: SessionKey, *, start: int, stop: int) -> list[LogEntry]:
        """Entries `start` to `stop` (exclusive), as far as they exist; read in pages."""
        entries: list[LogEntry] = []
        while start < stop:
            items = await self.items(key, start=start, stop=min(start + PAGE, stop))
            entries.extend(_entries(key, start, items))
            if not items:
                break
            start += len(items)
        return entries

    async def page(
        self,
        key: SessionKey,
        *,
        start: int,
        stop: int,
        incarnation: int,
        length: int,
        chain: str,
        redactions: int,
    ) -> list[LogEntry] | None:
        """Some of the entries `start` to `stop` (exclusive), from the first one on, of the log that the caller knows.

        None: it is another one by now, or some of it was redacted since. The last four are what `sync` told. At most
        PAGE entries, up to the one with which they take 256 KB, or as many as some packs hold.
        """
        life = {"incarnation": incarnation, "redactions": redactions}
        items = await self.items(key, start=start, stop=stop, known={**life, **_page(length, chain)})
        return None if items is None else list(_entries(key, start, items))

    async def path(self, key: SessionKey, meta: Meta) -> list[LogEntry] | None:
        """The entries of the path, as far as they are there, for a job: those that this process has read before are not
        read again. None: the log is another one by now, or some of it was redacted since `meta` was read."""
        life = {"incarnation": meta.incarnation, "redactions": meta.redactions}
        here = {**life, **_page(meta.log_len, meta.chain)}
        items = await self._read_before(key, meta)
        for low, high in meta.path:
            while low < high:
                if low in items:
                    low += 1
                    continue
                stop = next((seq for seq in range(low, high) if seq in items), high)
                page = await self.items(key, start=low, stop=stop, known=here)
                if page is None:
                    return None
                if not page:
                    break
                items.update(enumerate(page, low))
                low += len(page)
        there = [(seq, items[seq]) for low, high in meta.path for seq in range(low, high) if seq in items]
        self._logs.forget(key)  # what cannot be read is asked for again: it may be put right
        found = await asyncio.to_thread(lambda: [_entry(key, seq, item) for seq, item in there])
        size = sum(map(len, items.values()))
        self._logs.keep(key, Known(meta.incarnation, meta.redactions, meta.log_len, meta.chain, items, size))
        return found

    async def _read_before(self, key: SessionKey, meta: Meta) -> dict[int, bytes]:
        """What is kept of the log, and some of what is new in it; nothing where it is another one."""
        known = self._logs.get(key)
        if known is None or (known.incarnation, known.redactions) != (meta.incarnation, meta.redactions):
            return {}
        if known.length == meta.log_len:
            return {**known.items} if known.chain == meta.chain else {}
        life = {"incarnation": meta.incarnation, "redactions": meta.redactions}
        before = {**life, **_page(known.length, known.chain)}
        new = await self.items(key, start=known.length, stop=meta.log_len, known=before)
        return {} if new is None else {**known.items, **dict(enumerate(new, known.length))}

    async def unpacked_entries(self, key: SessionKey) -> int:
        """How many entries are there that are in no pack."""
        return int(await self._command("LLEN", self._key(key, "log")))

    async def events(self, key: SessionKey, *, after: str | None = None, limit: int = 100) -> list[Event]:
        """Events after an event's id, oldest first; what is no event of any release is passed."""
        start = f"({after}" if after else "-"
        found = await self._command("XRANGE", self._key(key, "events"), start, "+", "COUNT", limit)
        return [event for number, fields in found if (event := event_of(text_of(number), fields))]

    async def now_ms(self) -> int:
        """Redis TIME, the only clock of the protocol."""
        seconds, microseconds = await self._command("TIME")
        return int(seconds) * 1000 + int(microseconds) // 1000

    async def due(
        self, limit: int = 100, *, but: Container[SessionKey] = (), tenant: str | None = None
    ) -> list[tuple[SessionKey, int]]:
        """At most `limit` sessions due now with their scores (ms), oldest first; those in `but` do not count.

        tenant: whose; None: of all. Members that name no session are left and passed.
        """
        now, start, waiting = await self.now_ms(), 0, list[tuple[SessionKey, int]]()
        while len(waiting) < limit:
            args = ("-inf", now, "WITHSCORES", "LIMIT", start, DUE_PAGE)
            page = await self._command("ZRANGEBYSCORE", keys.due(self._shard), *args, withscores=True)
            for member, score in page:
                if (key := _session_of(member)) and key not in but and tenant in (None, key.tenant):
                    waiting.append((key, int(max(score, 0))))
            start += len(page)
            if len(page) < DUE_PAGE:
                break
        return waiting[:limit]

    async def did(self, key: SessionKey, op: str) -> bool:
        """Is the reply of this operation among the newest that are kept?"""
        return bool(await self._command("HEXISTS", self._key(key, "ops"), op))

    async def due_in_ms(self, key: SessionKey) -> int | None:
        """When a worker may take the session; None where nothing is asked for, 0 for what is due now."""
        score = await self._command("ZSCORE", keys.due(self._shard), key.member)
        return None if score is None else max(0, int(float(score)) - await self.now_ms())

    async def any_due(self) -> bool:
        """Does any session wait for a worker, now or later? Where none does the server has no such set."""
        return bool(await self._command("EXISTS", keys.due(self._shard)))

    async def request_numbers(self, sessions: Sequence[SessionKey]) -> list[int | None]:
        """The newest request of each; None for what is no living session that this release reads."""
        with mapped():
            pipe = self._redis.pipeline(transaction=False)
            for key in sessions:
                pipe.execute_command("HMGET", self._key(key, "meta"), "v", "alive", "request_no")
            found = await pipe.execute() if sessions else []
        return [_number(*fields) for fields in found]

    async def sweep_turn(self, rest_ms: int) -> bool:
        """Shall this worker sweep now? Not within `rest_ms` of another one's turn, whatever becomes of that worker."""
        return bool(await self._command("SET", keys.swept(self._shard), 1, "NX", "PX", rest_ms))

    async def tidy(self, limit: int = 10) -> None:
        """Look at some parked sessions, drawn at random, and take those that have expired off the list."""
        for member in await self._command("HRANDFIELD", keys.dead(self._shard), limit):
            if key := _session_of(member):
                with suppress(UnknownVersion, Archived):
                    await self.unlist(key)

    async def sessions(self, tenant: str, limit: int = 1000) -> list[SessionKey]:
        """Sessions of a tenant, sorted by name; the tombstone of a purged one is none."""
        found, cursor, pattern = set[SessionKey](), -1, keys.every_meta(tenant, self._shard)
        while cursor and len(found) < limit:
            cursor, names = await self._command("SCAN", max(cursor, 0), "MATCH", pattern, "COUNT", 1000)
            with mapped():
                pipe = self._redis.pipeline(transaction=False)
                for name in names:
                    pipe.execute_command("HGET", name, "alive")
                living = zip(names, await pipe.execute(), strict=True)
            found.update(SessionKey.of_meta(text_of(name)) for name, alive in living if alive == b"1")
        return sorted(found, key=lambda key: key.session)[:limit]

    async def workers(self) -> list[WorkerSeen]:
        """The workers that said they are there, within a day, and did not leave."""
        return await Workers(self._redis, shard=self._shard).every()


def compaction_of(key: SessionKey, number: int, stored: bytes) -> Compaction:
    """A generation's record as its key holds it. Raises UnknownVersion and StoreFault."""
    header, _, payload = stored.partition(b"\n")
    with readable(f"generation {number} of session {key.session!r}", OTHER_GENERATION):
        fields = {**fields_of(payload), **loads(header)}
        version = fields["v"]
    if version != VERSION:
        raise UnknownVersion(
            f"generation {number} has version {version}, this release reads {VERSION}: upgrade offturn"
        )
    try:
        return Compaction.model_validate(fields)
    except ValidationError:  # its text quotes the record
        raise UnknownVersion(f"generation {number} is none that this release can read: upgrade offturn") from None


def _number(version: bytes | None, alive: bytes | None, number: bytes | None) -> int | None:
    readable = version is not None and text_of(version) in READABLE and alive == b"1"
    return int(number) if readable and number and number.isdigit() else None


def _session_of(member: bytes) -> SessionKey | None:
    try:
        return SessionKey.of_member(text_of(member))
    except (UnicodeDecodeError, InvalidSetting):
        return None


def _page(length: int, chain: str) -> dict[str, Any]:
    """What a page has to be of, and how long it may be."""
    return {"length": length, "chain": chain, "limit_entries": PAGE}


def _entries(key: SessionKey, start: int, items: Iterable[bytes]) -> Iterator[LogEntry]:
    return (_entry(key, seq, item) for seq, item in enumerate(items, start))


def _entry(key: SessionKey, seq: int, item: bytes) -> LogEntry:
    with readable(f"message {seq} of session {key.session!r}"):
        return LogEntry.read(seq, item)


def event_of(number: str, fields: Mapping[bytes, bytes]) -> Event | None:
    """An event as its stream holds it; None for what is none."""
    at = int(number.split("-")[0])
    try:
        return Event(id=number, at=at, kind=text_of(fields[b"kind"]), fields={**loads(fields[b"fields"])})
    except (ValueError, KeyError, TypeError):
        return None
