"""What could not be recorded while the store was away, in the order it was said, and what the store then refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from offturn.config import SessionConfig
from offturn.copying import copied
from offturn.deadline import Turns
from offturn.entries import Prepared
from offturn.errors import NotRecorded, StoreUnavailable
from offturn.view import View
from offturn_config.keys import SessionKey
from offturn_engine.messages import RawMessage

MAX_MESSAGES = 256
MAX_BYTES = 4 * 1024 * 1024
"""How much of a session is kept for a store that is away, or recorded again in one that lost its newest messages."""

WAITING = "the store has not answered yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undelivered:
    """Messages of one call that are not in the store, as they were given, and why. They are only in this process."""

    session: str
    messages: tuple[RawMessage, ...] = field(repr=False)
    ids: tuple[str | None, ...]
    reason: str


@dataclass(slots=True, eq=False, kw_only=True)
class Batch:
    """One record: its operation id stays the same however often it is sent.

    at: length of the log that was known when it was made. kept: the call that made it has returned, so that others deliver it. sent: what became of it may be unknown, until it
    is recorded.
    mirrored: it came from a host's whole list, which brings it again.
    """

    op: str
    prepared: Prepared
    config: SessionConfig
    usage: Any = None
    view: View | None = None
    expect: int | None = None
    at: int = 0
    mirrored: bool = False
    kept: bool = False
    sent: bool = False
    recorded: bool = False

    @property
    def weight(self) -> int:
        """In messages; one that carries usage only takes a place too."""
        return max(1, len(self.prepared.entries))

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(entry.envelope) for entry in self.prepared.entries)

    def undelivered(self, key: SessionKey, reason: str) -> Undelivered:
        """As the host may read it."""
        return Undelivered(
            session=key.session,
            messages=tuple(copied(message.raw) for message in self.prepared.messages),
            ids=tuple(entry.host_id for entry in self.prepared.entries),
            reason=reason,
        )


class Outbox:
    """Of one session and client. `batches`: in the order of the calls, also those whose call still runs."""

    def __init__(self, key: SessionKey) -> None:
        self.key = key
        self.lock = Turns()  # one handle at a time delivers
        self.batches: list[Batch] = []
        self._refused: deque[tuple[Batch, str]] = deque()
        self._reported = 0  # of the refused, the first so many

    def keep(self, batch: Batch) -> None:
        """Hold it until the store answers. Raises StoreUnavailable, with the numbers, where there is no room."""
        messages, size = sum(one.weight for one in self.waiting), sum(one.size for one in self.waiting)
        if messages + batch.weight > MAX_MESSAGES or size + batch.size > MAX_BYTES:
            raise StoreUnavailable(
                f"the store is away and the outbox of session {self.key.session!r} has no room: {messages} of "
                f"{MAX_MESSAGES} messages and {size} of {MAX_BYTES} bytes wait in it, {len(batch.prepared.entries)} "
                f"with {batch.size} bytes came; these were not kept, what waits still does"
            )
        if batch not in self.batches:
            self.batches.append(batch)
        batch.kept = True

    def deliverable(self, before: Batch | None) -> Iterator[Batch]:
        """What has to be in the store before `before`; None: all that waits behind no call that still runs."""
        for batch in list(self.batches):
            if batch is before or (before is None and not batch.kept):
                return
            if batch.kept:
                yield batch

    def drop(self, batch: Batch) -> None:
        """It is recorded, or its call has failed."""
        if batch in self.batches:
            self.batches.remove(batch)

    def refuse(self, batch: Batch, why: Exception) -> None:
        """The store will not take it: it stays readable, and the next call says so."""
        self.drop(batch)
        self._refused.append((batch, str(why)))
        while self._reported and self._too_much():
            self._refused.popleft()
            self._reported -= 1

    def report(self) -> None:
        """Raises NotRecorded, once, for what was refused since the last time."""
        news = list(self._refused)[self._reported :]
        if news:
            self._reported = len(self._refused)
            raise NotRecorded(sum(len(batch.prepared.entries) for batch, _ in news), news[0][1])

    @property
    def is_empty(self) -> bool:
        """Is there nothing that only this process has?"""
        return not self._refused and not any(batch.kept for batch in self.batches)

    @property
    def waiting(self) -> tuple[Batch, ...]:
        """What is kept, in order."""
        return tuple(batch for batch in self.batches if batch.kept)

    @property
    def untold(self) -> int:
        """Messages that only this process has and that no error has told of yet."""
        batches = [*(batch for batch, _ in list(self._refused)[self._reported :]), *self.waiting]
        return sum(len(batch.prepared.entries) for batch in batches)

    def undelivered(self) -> list[Undelivered]:
        """What the store refused, then what waits."""
        refused = [batch.undelivered(self.key, why) for batch, why in self._refused]
        waiting = [batch.undelivered(self.key, WAITING) for batch in self.waiting]
        return [one for one in (*refused, *waiting) if one.messages]

    def _too_much(self) -> bool:
        batches = [batch for batch, _ in self._refused]
        return sum(b.weight for b in batches) > MAX_MESSAGES or sum(b.size for b in batches) > MAX_BYTES
