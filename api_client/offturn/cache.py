"""What a handle knows of its session: the log as far as it was read, and parsed generations. O(new) per call."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from secrets import token_hex
from time import time
from typing import Literal

from offturn.config import SessionConfig
from offturn.entries import Prepared
from offturn.errors import Conflict, NothingRecorded, Refused
from offturn.filling import have, skip
from offturn.rendered import Rendered, Walked, Where
from offturn.restoring import record_again
from offturn.store.entries import Redaction
from offturn.store.errors import StoreFault, torn
from offturn.store.records import whole
from offturn.store.replies import LogEntry, Mended, Meta
from offturn.store.sessions import PAGE, SessionStore
from offturn.store.state import Stamp
from offturn_config.keys import SessionKey
from offturn_engine.chain import digest
from offturn_engine.compaction import NOTHING, Compaction, ViewRecord
from offturn_engine.formats.base import Format
from offturn_engine.match import Form
from offturn_engine.messages import Message
from offturn_engine.path import Path
from offturn_engine.pins import marked
from offturn_engine.ranges import Ranges, union

KEPT_GENERATIONS = 16  # parsed records per handle, as many as the store keeps
KEPT_PASSING = 4

REREAD = -1
"""In the place of a number of redactions that a log was read after: no store has it, so the log is read anew."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What was recorded, the log's length and chain hash after it, and after how many redactions."""

    batch: Prepared
    length: int
    chain: str
    redactions: int


@dataclass(slots=True)
class Cache:
    """The log as read so far (`chain` is its chain hash, `hashes` those after each message), the newest meta, and parsed generations.

    `opened`: what a first record would store. `meta` belongs to a log that was read to its end.
    `stale`: the store is known to have more. `lost`: it no longer has what was read before. `restored`: so many messages
    were recorded again in a store that had lost them. `mended`: so many generations had no record
    any more. `stamp`: of the state as it was read last, `stamped`, at `read_at` in seconds since the epoch. `settled`: the last view showed
    a generation as it is. `waiting`: seqs, at the end of the path, of messages that are not in
    the store yet. `forms`: messages of the log, by seq, as they are
    compared with a host's list, those that were. `tombstones`: the redacted ones, by seq, and the size they had. `absent`: seqs that were not read, because nothing shown needs them;
    `lazy`: a log that is read anew may stay so. `enough`: covered ranges that views were found not to need;
    `counted`: the log's length when `meta` was read. `passing` are records of views that were made for one call and not
    committed: the host may hand those back too. `framed` names what was stored of the
    host's request around its messages. `seen`: seqs that this handle's host has been shown, or has recorded.
    """

    store: SessionStore
    key: SessionKey
    fmt: Format
    opened: SessionConfig
    incarnation: int = 0
    redactions: int = 0
    next_incarnation: int = 1
    chain: str = ""
    meta: Meta | None = None
    stale: bool = True
    lost: bool = False
    seen: Ranges = ()
    mended: int = 0
    restored: int = 0
    unread: list[Unread] = field(default_factory=list)
    partial: bool = False
    waiting: tuple[int, int] = (0, 0)
    log: list[Message] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    forms: dict[int, Form] = field(default_factory=dict)
    tombstones: dict[int, int] = field(default_factory=dict)
    generations: OrderedDict[tuple[int, str], ViewRecord] = field(default_factory=OrderedDict)
    framed: str = ""
    passing: deque[Compaction] = field(default_factory=lambda: deque(maxlen=KEPT_PASSING))
    rendered: Rendered = field(default_factory=Rendered)
    walked: Walked = field(default_factory=Walked)
    absent: Ranges = ()
    lazy: bool = False
    counted: int = 0
    enough: set[tuple[Ranges, Ranges]] = field(default_factory=set)
    offline: bool = False
    stamped: Meta | None = None
    stamp: Stamp = ()
    read_at: float = 0.0
    settled: bool = False

    @property
    def config(self) -> SessionConfig | None:
        """What the first record stored; None before that."""
        return SessionConfig.from_json(self.meta.config) if self.meta else None

    @property
    def live(self) -> Meta:
        """The session's state. Raises NothingRecorded."""
        if self.meta is None:
            raise NothingRecorded(f"session {self.key.session!r} holds nothing yet: record first")
        return self.meta

    @property
    def kept(self) -> str:
        """Numbers of the generations that can be chosen, for messages."""
        return ", ".join(map(str, [0, *sorted(self.meta.generations if self.meta else ())]))

    @property
    def path(self) -> Path:
        """The messages the session shows, in path order, the pinned ones marked."""
        place = self.place
        if place is not None:
            return self.walked.get(place, self.log, self.hashes, self._pins())
        return self.pinned([message for low, high in self.ranges() for message in self.log[low:high]])

    def pinned(self, path: list[Message]) -> Path:
        """The same, the pinned ones marked."""
        pins = self._pins()
        return Path(marked(path, pins) if pins else path)

    def _pins(self) -> frozenset[int]:
        pins = self.config.pins if self.config else ()
        return frozenset(pins) - self.redacted() if pins else frozenset[int]()

    @property
    def is_empty(self) -> bool:
        """Does the path hold no message?"""
        return not any(low < high for low, high in self.ranges())

    @property
    def place(self) -> Where | None:
        """Equal where the path holds the same messages; None while that cannot be told."""
        unsure = self.meta is None or self.partial or self.redactions < 0 or self.waiting[0] != self.waiting[1]
        if self.meta is None or unsure:
            return None
        lives = self.incarnation, self.redactions, self.fmt
        pins = self.config.pins if self.config else ()
        return Where(lives, len(self.log), self.chain, self.meta.path, pins)

    @property
    def path_forms(self) -> list[Form]:
        """The path's messages as they are compared."""
        return [self.form(seq) for low, high in self.ranges() for seq in range(low, high)]

    @property
    def path_ids(self) -> list[str | None]:
        """The host's ids of the path's messages."""
        return [host_id for low, high in self.ranges() for host_id in self.ids[low:high]]

    @property
    def recorded_from(self) -> int:
        """From this seq to the log's end this handle has recorded since it read `meta`: it is on the path."""
        return len(self.log) if self.partial else (self.meta.log_len if self.meta else 0)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Of the path, in its order."""
        yield from self.meta.path if self.meta else ()
        yield self.waiting

    async def refresh(self) -> Meta | None:
        """Read what is new; None where the session does not exist (yet, or any more).

        What the store had and has lost is recorded again first, where that is sure to be right.
        Raises Conflict where the session holds another format than this handle was opened with, StoreFault where the
        log ends before its length.
        """
        ahead = self.lazy  # first the state alone: a generation may tell what of the log is needed
        while True:
            alone = ahead and not self.log
            snapshot = await self.store.sync(
                self.key,
                incarnation=self.incarnation,
                length=len(self.log),
                chain=self.chain,
                redactions=self.redactions,
                limit_entries=0 if alone else PAGE,
                touch=True,
            )
            meta = snapshot.meta
            if self.log and (meta is None or snapshot.reset):
                again = await record_again(self, snapshot)
                if again is not None:
                    self.restored += again
                    continue
            if meta is None:
                self._forget(0, lost=True)
                self.next_incarnation, self.stale = snapshot.next_incarnation, False
                return None
            if snapshot.reset or meta.incarnation != self.incarnation:
                self._forget(meta.incarnation, lost=not self._only_redacted(meta))
            self.redactions = meta.redactions
            self._check_format(meta)
            if snapshot.reset and ahead:
                continue
            ahead = False
            for entry in snapshot.entries:
                self._read(entry)
            if alone and meta.adopted:
                skip(self, meta)
                # Is what is written here now what this release reads? Only then may it go on.
                if not await have(self, ((meta.log_len - 1, meta.log_len),)):
                    return self.meta
            self.partial = len(self.log) < meta.log_len
            if not self.partial:
                self.meta, self.stale, self.counted = meta, False, len(self.log)
                self.stamped, self.stamp, self.read_at = meta, snapshot.stamp, time()
                self._check_unread()
                return meta
            if not (snapshot.entries or alone):
                raise torn(self.key.session, len(self.log), meta.log_len)

    def place_of(self, batch: Prepared, start: int) -> int | None:
        """Seq of the first of these messages where all of them follow each other in the log, from `start` on."""
        wanted, log = [entry.digest for entry in batch.entries], self.log[start:]
        found = [digest(message.raw, message.origin, i) for message, i in zip(log, self.ids[start:], strict=True)]
        places = (n for n in range(len(found) - len(wanted) + 1) if found[n : n + len(wanted)] == wanted)
        return next((start + n for n in places if wanted), None)

    def placed(self, batch: Prepared) -> Prepared:
        """As it reads at its place: behind the path, or where its first message stands already, by its id."""
        if not batch.fmt.by_place or not batch.entries:
            return batch
        path, host_id = self.path, batch.entries[0].host_id
        known = self.path_ids.index(host_id) if host_id is not None and host_id in self.path_ids else len(path)
        return batch.behind(path[known - 1] if known else None)

    async def generation(self, number: int) -> ViewRecord:
        """What a view reads of a generation; 0 is the raw transcript. Raises Refused for one that is not kept."""
        known = await self.find(number)
        if known is None:
            raise Refused(f"generation {number} is not kept: choose one of {self.kept}")
        return known

    async def find(self, number: int) -> ViewRecord | None:
        """As `generation`; None for one that is not kept. Where the server has lost the record, the session is mended."""
        if number == 0:
            return NOTHING
        info = self.meta.generations.get(number) if self.meta else None
        known = self.generations.get((number, info.nonce)) if info else None
        if info and known is None:
            known = await self.store.half(self.key, number)
            if known is None:
                await self._mend()
        if known is not None:
            self.keep(known)
        return known

    async def records(self) -> dict[int, Compaction]:
        """The whole records of the generations kept, by number; without those that are damaged."""
        found = {}
        for number in self.meta.generations if self.meta else ():
            try:
                if record := await self.find(number):
                    found[number] = self.whole(record)
            except StoreFault:
                await self.refresh()  # raises where more than the generation is damaged
        return found

    def whole(self, record: ViewRecord) -> Compaction:
        """The record with what a view does not read, in the place of what was kept of it. Raises StoreFault."""
        found = whole(self.key, record)
        if (found.number, found.nonce) in self.generations:  # else what was redacted meanwhile would come back
            self.keep(found)
        return found

    def redacted(self) -> set[int]:
        """Seqs of messages without their content."""
        return set(self.tombstones)

    def saw(self, seqs: tuple[int, int]) -> None:
        """The host knows these now."""
        self.seen = union(self.seen, (seqs,))

    async def pointed(self, pointer: Literal["adopted", "current"]) -> ViewRecord:
        """What a view reads of the generation in force, or of the current one; where it is lost, of the one that took its place."""
        for _ in range(KEPT_GENERATIONS):
            if (found := await self.find(getattr(self.meta, pointer) if self.meta else 0)) is not None:
                return found
        raise StoreFault(f"session {self.key.session!r}: the server loses generations as fast as they are looked for")

    async def _mend(self) -> None:
        reply = await self.store.mend(self.key, incarnation=self.incarnation, nonce=token_hex(16))
        if isinstance(reply, Mended):
            self.mended += reply.lost
        await self.refresh()

    def keep(self, record: ViewRecord) -> None:
        """Remember a parsed generation."""
        self.generations[record.number, record.nonce] = record
        self.generations.move_to_end((record.number, record.nonce))
        if len(self.generations) > KEPT_GENERATIONS:
            self.generations.popitem(last=False)

    def add(self, message: Message, host_id: str | None, after: str, redacted: Redaction | None = None) -> None:
        """One more message of the log; `after`: the chain hash then."""
        self.log.append(message)
        self.hashes.append(after)
        self.chain = after
        self.ids.append(host_id)
        if redacted:
            self.tombstones[len(self.log) - 1] = redacted.size

    def _check_unread(self) -> None:
        """Is what was acknowledged in the log that was read now?"""
        if not self.unread:
            return
        (last, self.unread) = (self.unread[-1], [])
        if last.redactions == self.redactions:  # else hashes cannot be compared
            self.lost = self.lost or self.hashes[last.length - 1 : last.length] != [last.chain]

    def _check_format(self, meta: Meta) -> None:
        config = SessionConfig.from_json(meta.config)
        if config.format != self.fmt.name:
            raise Conflict(
                f"session {self.key.session!r} holds {config.format!r} messages and was opened with format "
                f"{self.fmt.name!r}: open it with the one it was created with"
            )
        if config.fmt is not self.fmt:  # the session's policy measures, whatever this handle has
            self.fmt = config.fmt
            self.log = [replace(message, tokens=self.fmt.estimate(message.raw)) for message in self.log]

    def _read(self, entry: LogEntry) -> None:
        self.add(self.parsed(entry), entry.host_id, entry.chain, entry.redacted)

    def parsed(self, entry: LogEntry) -> Message:
        """An entry as this cache has it."""
        return self.fmt.parse(entry.raw, index=entry.seq, origin=entry.origin).placed(entry.seq, entry.at)

    def form(self, seq: int) -> Form:
        """A message of the log as it is compared."""
        if seq not in self.forms:
            self.forms[seq] = Form(self.log[seq].raw, self.fmt, was=self.tombstones.get(seq))
        return self.forms[seq]

    def _only_redacted(self, meta: Meta) -> bool:
        """Are all messages that were read still at their places, though some without their content?"""
        same = meta.incarnation == self.incarnation and meta.log_len >= len(self.log)
        return same and meta.redactions != self.redactions

    def _forget(self, incarnation: int, *, lost: bool) -> None:
        self.lost = self.lost or (lost and bool(self.log or self.unread))
        self.incarnation = incarnation
        self.redactions = 0
        self.chain = ""
        self.meta = None
        self.partial = False
        self.seen = () if lost else self.seen
        self.absent, self.counted = (), 0
        self.enough.clear()
        for known in (self.log, self.ids, self.hashes, self.unread, self.passing):
            known.clear()
        for kept in (self.forms, self.tombstones, self.generations):
            kept.clear()
