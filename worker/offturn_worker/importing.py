"""A conversation of a file becomes a session, as a live host would have recorded it: origins, usage, compactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from offturn import CompactionClient, Session, Usage
from offturn.config import ANY_WINDOW
from offturn.entries import prepare
from offturn.errors import OffturnError
from offturn.importing import take_over
from offturn.links import Links
from offturn.view import View
from offturn_config.errors import InvalidSetting
from offturn_engine.files import Conversation
from offturn_engine.formats import get
from offturn_engine.imported import left_out, ripe
from offturn_engine.outcome import Compacted, reason

BATCH = 100  # messages of one record
TAUGHT = 500  # newest requests whose usage is told: older ones weigh nothing in an estimate
MEASURED = 500_000  # messages of all views that are made to measure them: each view costs its length
NOT_YET = {"trigger.enabled": False}  # a worker would compact what a compaction of the file is about to cover


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of it. requirement: whether a compaction is wanted now."""

    generations: int
    requirement: str
    notes: tuple[str, ...]


class Interrupted(OffturnError):
    """An import that ended in the middle. The message says what is recorded, and how to begin again."""


async def new_session(
    client: CompactionClient, conversation: Conversation, session: str, *, policy: str, window: int
) -> Session:
    """A handle of what is not there yet. Raises InvalidSetting where it is, InvalidMessage for a message too large."""
    handle = client.session(session, format=conversation.format, policy=policy, overrides=NOT_YET, window=window)
    if await client.stored_config(session) is not None:
        raise InvalidSetting(f"--session {session!r}: it exists already; choose another id")
    fmt = get(conversation.format)
    for start in range(0, len(conversation.messages), BATCH):
        prepare(conversation.messages[start : start + BATCH], None, fmt, None, first=start)
    return handle


async def import_conversation(handle: Session, links: Links, conversation: Conversation, policy: str) -> Imported:
    """Record it; triggers count from its end on. Raises Interrupted."""
    replay = _Replay(handle, links, conversation)
    try:
        await replay.run()
        await handle.configure(policy=policy)
        status = await handle.status()
    except OffturnError as error:
        raise Interrupted(f"{error}; {replay.recorded}: {remedy(handle.key.session)}") from error
    return Imported(replay.made, status.requirement, left_out(replay.refused))


def remedy(session: str) -> str:
    """What helps where an import has ended in the middle."""
    return f"`offturn session purge {session}` removes what is"


@dataclass(slots=True)
class _Replay:
    """A recording under way."""

    handle: Session
    links: Links
    conversation: Conversation
    done: int = 0
    made: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def recorded(self) -> str:
        """How far it has come."""
        return f"{self.done} of {len(self.conversation.messages)} messages are recorded"

    async def run(self) -> None:
        """Each request is measured as its view was, then its answer comes."""
        told, taught = self.conversation, _taught(self.conversation)
        for start, stop in _pieces(told, taught):
            usage = Usage.told(told.reported[start]) if start in taught else None
            view = await self._shown() if usage else None
            batch = told.messages[start:stop]
            await self.handle.record(batch, origin=told.origins.get(start), usage=usage, view=view)
            self.done = stop
            for earlier in told.earlier:
                if ripe(earlier, len(told.messages)) == stop:
                    await self._take_over(earlier.covered, earlier.summary)
        if self.made:
            await self._shown()  # the newest may have been made while a call was open: it goes in force here

    async def _shown(self) -> View:
        return await self.handle.view(window=ANY_WINDOW, system=self.conversation.system)

    async def _take_over(self, covered: int, summary: str) -> None:
        outcome = await take_over(self.links, self.handle.key, covered=covered, summary=summary)
        if isinstance(outcome, Compacted):
            self.made += 1
        else:
            self.refused.append(reason(outcome))
        await self._shown()  # which puts it in force


def _taught(conversation: Conversation) -> frozenset[int]:
    """Indexes of the answers whose usage is told; nothing was sent before the first message."""
    most = max(1, min(TAUGHT, MEASURED // max(1, len(conversation.messages))))
    return frozenset(sorted(i for i in conversation.reported if i)[-most:])


def _pieces(conversation: Conversation, taught: frozenset[int]) -> Iterator[tuple[int, int]]:
    """(start, stop) of messages that are recorded in one go: of one origin, nothing to measure or take over in between."""
    total, origins = len(conversation.messages), conversation.origins
    cuts = {ripe(earlier, total) for earlier in conversation.earlier} | taught
    start = 0
    for i in range(1, total + 1):
        if i == total or i in cuts or i - start == BATCH or origins.get(i) != origins.get(start):
            yield start, i
            start = i
