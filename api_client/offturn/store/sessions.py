"""The session store: every write is one script, every reply a value. The protocol is docs/design.md's.

Deadlines are the client's (`socket_timeout`); after StoreUnavailable send the same call again with the same `op`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress

from pydantic import ValidationError

from offturn.store.dead import DeadLetters
from offturn.store.entries import LogEntry, loads, text_of
from offturn.store.errors import UnknownVersion, mapped, readable
from offturn.store.hosting import HostScripts
from offturn.store.state import Event, Meta, Snapshot
from offturn.store.workers import Workers, WorkerSeen
from offturn.store.working import WorkerScripts
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_engine.compaction import VERSION, Compaction

OTHER_GENERATION = "put another one in force with rollback(generation=...), 0 is the transcript itself"
PAGE = 200  # log entries per read
DUE_PAGE = 500
NOTHING_KNOWN = {"incarnation": 0, "length": 0, "chain": "", "redactions": 0}


class SessionStore(HostScripts, WorkerScripts, DeadLetters):
    """Sessions in Redis.

    Every method may raise StoreUnavailable, StoreFull, StoreFault and UnknownVersion.
    """

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
        `limit_entries` entries and end with the one that reaches `limit_bytes`. `touch`: a host is there, a TTL starts
        again (not at every call).
        """
        limits = {"limit_bytes": limit_bytes, "limit_entries": limit_entries, "touch": touch}
        known = {"incarnation": incarnation, "length": length, "chain": chain, "redactions": redactions}
        found = await self._run("sync", key, {**known, **limits})
        now, number, *live = found
        if not live:
            return Snapshot(meta=None, next_incarnation=number, entries=(), reset=length > 0, more=False)
        start, reset, due, unattended, items, flat = live
        with readable(f"the state of session {key.session!r}"):
            meta = Meta.read(flat, due=bool(due), now_ms=now, unattended=bool(unattended))
        entries = tuple(_entries(key, start, items))
        more = meta is not None and start + len(entries) < meta.log_len
        return Snapshot(meta=meta, next_incarnation=number, entries=entries, reset=bool(reset), more=more)

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
        if found is None:
            return None
        header, _, payload = found.partition(b"\n")
        with readable(f"generation {number} of session {key.session!r}", OTHER_GENERATION):
            fields = {**loads(payload), **loads(header)}
            version = fields["v"]
        if version != VERSION:
            raise UnknownVersion(
                f"generation {number} has version {version}, this release reads {VERSION}: upgrade offturn"
            )
        try:
            return Compaction.model_validate(fields)
        except ValidationError:  # its text quotes the record
            raise UnknownVersion(f"generation {number} is none that this release can read: upgrade offturn") from None

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
        for low in range(start, stop, PAGE):
            high = min(low + PAGE, stop)
            items = await self._command("LRANGE", self._key(key, "log"), low, high - 1)
            entries.extend(_entries(key, low, items))
            if len(items) < high - low:
                break
        return entries

    async def events(self, key: SessionKey, *, after: str | None = None, limit: int = 100) -> list[Event]:
        """Events after an event's id, oldest first; what is no event of any release is passed."""
        start = f"({after}" if after else "-"
        found = await self._command("XRANGE", self._key(key, "events"), start, "+", "COUNT", limit)
        return [event for number, fields in found if (event := _event(text_of(number), fields))]

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

    async def due_in_ms(self, key: SessionKey) -> int | None:
        """When a worker may take the session; None where nothing is asked for, 0 for what is due now."""
        score = await self._command("ZSCORE", keys.due(self._shard), key.member)
        return None if score is None else max(0, int(float(score)) - await self.now_ms())

    async def tidy(self, limit: int = 10) -> None:
        """Look at some parked sessions, drawn at random, and take those that have expired off the list."""
        for member in await self._command("HRANDFIELD", keys.dead(self._shard), limit):
            if key := _session_of(member):
                with suppress(UnknownVersion):
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


def _session_of(member: bytes) -> SessionKey | None:
    try:
        return SessionKey.of_member(text_of(member))
    except (UnicodeDecodeError, InvalidSetting):
        return None


def _entries(key: SessionKey, start: int, items: Iterable[bytes]) -> Iterator[LogEntry]:
    for seq, item in enumerate(items, start):
        with readable(f"message {seq} of session {key.session!r}"):
            entry = LogEntry.read(seq, item)
        yield entry


def _event(number: str, fields: Mapping[bytes, bytes]) -> Event | None:
    at = int(number.split("-")[0])
    try:
        return Event(id=number, at=at, kind=text_of(fields[b"kind"]), fields={**loads(fields[b"fields"])})
    except (ValueError, KeyError, TypeError):
        return None
