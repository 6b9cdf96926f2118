"""What a handle knows of its session: the log as far as it was read, and parsed generations. O(new) per call."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Literal

from offturn.config import SessionConfig
from offturn.entries import Prepared
from offturn.errors import Conflict, Refused
from offturn.restoring import record_again
from offturn.store.entries import Redaction
from offturn.store.errors import StoreFault, torn
from offturn.store.replies import LogEntry, Mended, Meta
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_engine.chain import digest
from offturn_engine.compaction import NOTHING, Compaction
from offturn_engine.formats.base import Format
from offturn_engine.match import Form
from offturn_engine.messages import Message
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
    any more. `waiting`: seqs, at the end of the path, of messages that are not in
    the store yet. `forms` are the log's
    messages as they are compared with a host's list. `passing` are records of views that were made for one call and not
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
    forms: list[Form] = field(default_factory=list)
    generations: OrderedDict[tuple[int, str], Compaction] = field(default_factory=OrderedDict)
    framed: str = ""
    passing: deque[Compaction] = field(default_factory=lambda: deque(maxlen=KEPT_PASSING))

    @property
    def config(self) -> SessionConfig | None:
        """What the first record stored; None before that."""
        return SessionConfig.from_json(self.meta.config) if self.meta else None

    @property
    def live(self) -> Meta:
        """The session's state. Raises Refused where nothing is recorded."""
        if self.meta is None:
            raise Refused(f"session {self.key.session!r} holds nothing yet: record first")
        return self.meta

    @property
    def kept(self) -> str:
        """Numbers of the generations that can be chosen, for messages."""
        return ", ".join(map(str, [0, *sorted(self.meta.generations if self.meta else ())]))

    @property
    def path(self) -> list[Message]:
        """The messages the session shows, in path order, the pinned ones marked."""
        path = [message for low, high in self._ranges() for message in self.log[low:high]]
        pins = self.config.pins if self.config else ()
        return marked(path, frozenset(pins) - self.redacted()) if pins else path

    @property
    def path_forms(self) -> list[Form]:
        """The path's messages as they are compared."""
        return [form for low, high in self._ranges() for form in self.forms[low:high]]

    @property
    def path_ids(self) -> list[str | None]:
        """The host's ids of the path's messages."""
        return [host_id for low, high in self._ranges() for host_id in self.ids[low:high]]

    @property
    def recorded_from(self) -> int:
        """From this seq to the log's end this handle has recorded since it read `meta`: it is on the path."""
        return len(self.log) if self.partial else (self.meta.log_len if self.meta else 0)

    def _ranges(self) -> Iterator[tuple[int, int]]:
        yield from self.meta.path if self.meta else ()
        yield self.waiting

    async def refresh(self) -> Meta | None:
        """Read what is new; None where the session does not exist (yet, or any more).

        What the store had and has lost is recorded again first, where that is sure to be right.
        Raises Conflict where the session holds another format than this handle was opened with, StoreFault where the
        log ends before its length.
        """
        while True:
            snapshot = await self.store.sync(
                self.key,
                incarnation=self.incarnation,
                length=len(self.log),
                chain=self.chain,
                redactions=self.redactions,
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
            for entry in snapshot.entries:
                self._read(entry)
            self.partial = snapshot.more
            if not snapshot.more:
                self.meta, self.stale = meta, False
                self._check_unread()
                return meta
            if not snapshot.entries:
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

    async def generation(self, number: int) -> Compaction:
        """A generation's record; 0 is the raw transcript. Raises Refused for one that is not kept."""
        known = await self.find(number)
        if known is None:
            raise Refused(f"generation {number} is not kept: choose one of {self.kept}")
        return known

    async def find(self, number: int) -> Compaction | None:
        """As `generation`; None for one that is not kept. Where the server has lost the record, the session is mended."""
        if number == 0:
            return NOTHING
        info = self.meta.generations.get(number) if self.meta else None
        known = self.generations.get((number, info.nonce)) if info else None
        if info and known is None:
            known = await self.store.generation(self.key, number)
            if known is None:
                await self._mend()
        if known is not None:
            self.keep(known)
        return known

    async def records(self) -> dict[int, Compaction]:
        """The generations kept, by number."""
        found = [(number, await self.find(number)) for number in (self.meta.generations if self.meta else ())]
        return {number: record for number, record in found if record}

    def redacted(self) -> set[int]:
        """Seqs of messages without their content."""
        return {seq for seq, form in enumerate(self.forms) if form.was is not None}

    def saw(self, seqs: tuple[int, int]) -> None:
        """The host knows these now."""
        self.seen = union(self.seen, (seqs,))

    async def pointed(self, pointer: Literal["adopted", "current"]) -> Compaction:
        """The record of the generation in force, or of the current one; where it is lost, of the one that took its place."""
        for _ in range(KEPT_GENERATIONS):
            if (found := await self.find(getattr(self.meta, pointer) if self.meta else 0)) is not None:
                return found
        raise StoreFault(f"session {self.key.session!r}: the server loses generations as fast as they are looked for")

    async def _mend(self) -> None:
        reply = await self.store.mend(self.key, incarnation=self.incarnation, nonce=token_hex(16))
        if isinstance(reply, Mended):
            self.mended += reply.lost
        await self.refresh()

    def keep(self, record: Compaction) -> None:
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
        self.forms.append(Form(message.raw, self.fmt, was=redacted.size if redacted else None))

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
        message = self.fmt.parse(entry.raw, index=entry.seq, origin=entry.origin)
        self.add(message.placed(entry.seq, entry.at), entry.host_id, entry.chain, entry.redacted)

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
        for known in (self.log, self.ids, self.forms, self.hashes, self.unread, self.generations, self.passing):
            known.clear()
