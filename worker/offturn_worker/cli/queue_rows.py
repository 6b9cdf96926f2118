"""What is due, running, waiting and parked, of one tenant or of all: names, numbers and times, never content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from offturn.links import Links
from offturn.loading import requirement
from offturn.store.dead import DeadLetter, counted
from offturn.store.errors import Archived, StoreFault, UnknownVersion
from offturn.store.listing import DueEntry
from offturn.store.pausing import Pause, Pauses, held
from offturn.store.sessions import SessionStore
from offturn.store.state import Meta

EVERY = 10_000_000


class State(StrEnum):
    """`due`: a worker may begin; `waiting`: later; `running`: a worker has it; `parked`: only `queue replay` starts it."""

    DUE = "due"
    RUNNING = "running"
    WAITING = "waiting"
    PARKED = "parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A session. `at`: ms of Redis TIME: since when it is due or parked, until when it waits or its lease holds.

    requirement: none, soft or hard; unknown where another release wrote it, or the session is in the archive. `worker`: who
    has it, or had it last.
    """

    tenant: str
    session: str
    state: State
    at: int
    requirement: str
    why: str
    attempts: int
    worker: str
    paused: bool


@dataclass(slots=True, kw_only=True)
class Queue:
    """`rows`: as many as were asked for, those that come first; `totals`: of all, by state."""

    rows: list[Row] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    pauses: Sequence[Pause] = ()

    def facts(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "totals": self.totals,
            "pauses": [asdict(pause) for pause in self.pauses],
            "sessions": [asdict(row) for row in self.rows],
        }


async def read(links: Links, tenant: str | None, wanted: State | None, limit: int) -> Queue:
    """tenant, wanted: None: all of them. Who looks wants no session back from the archive. Raises what the store raises."""
    found, store = Queue(pauses=await Pauses(links.redis).every()), SessionStore(links.redis)
    async for entry in store.listed(tenant):
        state = _state(entry)
        found.totals[state] += 1
        if wanted in (None, state) and len(found.rows) < limit:
            found.rows.append(await _row(store, entry, state, found.pauses))
    letters = await store.dead_letters(tenant, EVERY)
    found.totals[State.PARKED] = len(letters)
    if wanted in (None, State.PARKED):
        found.rows += [_parked(letter) for letter in letters[: limit - len(found.rows)]]
    return found


def _state(entry: DueEntry) -> State:
    if entry.leased:
        return State.RUNNING
    return State.DUE if entry.due_in_ms <= 0 else State.WAITING


async def _row(store: SessionStore, entry: DueEntry, state: State, pauses: Sequence[Pause]) -> Row:
    key, meta, unknown = entry.key, None, "not readable by this release, or gone"
    try:
        meta = await store.meta(key)
    except Archived:
        unknown = "a host wants it back from the archive"
    except (UnknownVersion, StoreFault):  # it hides no other
        pass
    return Row(
        tenant=key.tenant,
        session=key.session,
        state=state,
        at=entry.at,
        requirement=requirement(meta) if meta else "unknown",
        why=_why(meta, entry, state) if meta else unknown,
        attempts=meta.attempts if meta else 0,
        worker=meta.worker if meta else "",
        paused=held(pauses, key.tenant) is not None,
    )


def _why(meta: Meta, entry: DueEntry, state: State) -> str:
    if state is State.WAITING:
        return _put_off(meta, entry)
    if meta.asked > meta.served:
        return f"requested: {meta.reason}"
    return f"{requirement(meta)} level" if requirement(meta) != "none" else "below the levels: a step, or a silence"


def _put_off(meta: Meta, entry: DueEntry) -> str:
    if meta.doze and entry.at == meta.doze:
        return "for the end of a silence"
    if told := counted(meta.ends):
        return f"backed off: {told}"
    if meta.failures:
        return f"backed off: {meta.failures} x no summarizer"
    return "put off by a limit"


def _parked(letter: DeadLetter) -> Row:
    workers = sorted({end.worker for end in letter.ends if end.worker})
    return Row(
        tenant=letter.key.tenant,
        session=letter.key.session,
        state=State.PARKED,
        at=letter.since,
        requirement="",
        why=letter.why,
        attempts=letter.attempts,
        worker=", ".join(workers),
        paused=False,
    )
