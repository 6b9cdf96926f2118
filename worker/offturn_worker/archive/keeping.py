"""Puts sessions into the archive and brings them back; every step may be the last, and nothing is lost.

register -> write -> read back -> evict              a killed worker leaves an object that is deleted after an hour
read -> fill keys beside the stub -> activate        a killed worker leaves keys that expire in two minutes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import structlog

from offturn.bringing import FULL, UNSET
from offturn.store.archiving import ArchiveStore, Why
from offturn.store.errors import StoreFull, readable
from offturn.store.state import is_readable
from offturn.store.stubs import Stub
from offturn_config.errors import OffturnError
from offturn_config.keys import SessionKey
from offturn_engine.outcome import Failed, Outcome, Skipped, reason
from offturn_worker.archive.dumping import Filled, dump, fill
from offturn_worker.archive.objects import ArchiveError, Objects
from offturn_worker.jobs import QUIET, Compact

WRITING_MS = 3_600_000
"""How long an object that no session was evicted for is left alone: the longest an upload may take."""

PAUSE_MS = 15_000
"""Between two tries to bring a session back from an archive that does not answer."""

AWAY = "Archived"
"""The kind of the outcome where a job found its session in the archive."""

Moved: TypeAlias = Callable[[Literal["archive", "restore"], bool], None]
"""Is told of each try to move a session that did not find it changed or gone: which way, and whether it worked."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """A session is in the archive now: so many bytes, so many messages."""

    bytes: int
    messages: int


class Keeper:
    """Works on one store and one archive."""

    def __init__(self, store: ArchiveStore, objects: Objects, moved: Moved = lambda *_: None) -> None:
        self.store = store
        self.objects = objects
        self._moved = moved

    async def archive(self, key: SessionKey) -> Kept | Why | Literal["archived"]:
        """Write the session away; else why not. Raises ArchiveError and the store's errors: then it is as it was."""
        meta = await self.store.state(key)
        fields = dict(zip(meta[::2], meta[1::2], strict=True))
        if fields.get(b"v") == b"archived":
            return "archived"
        if not is_readable(fields.get(b"v")) or fields.get(b"alive") != b"1":
            return "gone"
        with readable(f"the state of session {key.session!r}"):
            incarnation, messages = int(fields[b"incarnation"]), int(fields[b"log_len"])
        name = self.objects.name(key, incarnation)
        mark = await self.store.register(name, WRITING_MS)
        try:
            writer = await self.objects.writer(name)
            try:
                written = await dump(self.store, key, meta, writer)
            except BaseException:
                await writer.abandon()
                raise
            async for _ in self.objects.read(name, written.sha):
                pass
            size = await self.objects.size(name)
            why = await self.store.evict(
                key, meta=meta, sizes=written.sizes, name=name, mark=mark, size=size, sha=written.sha
            )
        except OffturnError:
            self._moved("archive", False)
            await self._discard(name)
            raise
        if why is not None:
            await self._discard(name)
            return why
        self._moved("archive", True)
        return Kept(size, messages)

    async def restore(self, key: SessionKey) -> bool:
        """Bring it back; False where it is not in the archive (any more). Raises ArchiveError and the store's errors: the
        stub is as it was, and its hosts are told.
        """
        stub = await self.store.stub(key)
        if stub is None:
            return False
        try:
            restored = await self._restored(stub)
        except (ArchiveError, StoreFull) as error:
            self._moved("restore", False)
            trouble = error.trouble if isinstance(error, ArchiveError) else FULL
            await self.store.troubled(stub, trouble, pause_ms=PAUSE_MS if error.retryable else 0)
            raise
        if restored:
            self._moved("restore", True)
        return restored

    async def _restored(self, stub: Stub) -> bool:
        place, filled = self.store.beside(), Filled()
        done = False
        try:
            lines = self.objects.read(stub.object, stub.sha)
            await fill(self.store, stub.key, place, lines, filled)
            done = await self.store.activate(stub, place, filled.sizes)
        finally:
            if not done:
                await self.store.clear(stub.key, place, list(filled.sizes))
        return done

    async def _discard(self, name: str) -> None:
        try:
            await self.store.discard(name)
        except OffturnError:  # it is registered: it goes in an hour
            return


def with_archive(compact: Compact, store: ArchiveStore, keeper: Keeper | None) -> Compact:
    """A `compact` that brings a session back where it is in the archive, because somebody wants it. Neither a pause nor the
    jobs of its tenant hold that up: its host waits.

    Without a keeper, a worker that has no archive: hosts are told that.
    """

    async def compacted(key: SessionKey) -> Outcome:
        outcome = await compact(key)
        not_begun = reason(outcome) in QUIET
        if not not_begun and not (isinstance(outcome, Failed) and outcome.kind == AWAY):
            return outcome
        if keeper is None:
            if (stub := await store.stub(key)) is not None:
                await store.troubled(stub, UNSET, pause_ms=PAUSE_MS)
            return outcome
        try:
            restored = await keeper.restore(key)
        except (ArchiveError, StoreFull) as error:
            log.warning("restore_failed", tenant=key.tenant, session=key.session, error=type(error).__name__)
            return Failed(kind=type(error).__name__, cause="store")
        if restored:
            log.info("restored", tenant=key.tenant, session=key.session)
            return Skipped(reason="restored")
        return outcome if not_begun else Skipped(reason="gone")

    return compacted
