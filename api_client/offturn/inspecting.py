"""Reading a session: status and generations. No I/O: all of it from what the handle has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offturn.cache import Cache
from offturn.config import Adopt, SessionConfig
from offturn.errors import InvalidSetting
from offturn.health import UNATTENDED, paused_warning
from offturn.loading import requirement
from offturn.store.dead import counted
from offturn.store.pausing import Pause, held
from offturn.store.replies import Event, Meta
from offturn_engine.audit import audit_of
from offturn_engine.compaction import UNPRICED, Audit, Compaction, Economics
from offturn_engine.formats.base import Format
from offturn_engine.messages import Message
from offturn_engine.ranges import Ranges, length
from offturn_engine.triggers import Requirement

__all__ = ["Event", "Generation", "Place", "Status", "checked_limit", "generations", "place", "status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One session now. `tokens`: calibrated estimate of the messages of the view in force; `messages`: length of the path.

    `generation`: the number in force; `current`: the newest committed. `due`: a job is asked for; `running`: a worker
    holds the session; `parked`: too many jobs ended badly, only a request or `unblock` starts the next. `trouble`: how the
    jobs ended that count towards that, as in `5 x died, 1 x bug`. `blocked`: a sentence
    fit to show the user where compactions in a row made no room, else ""; only `unblock` and `rollback` lift that.
    `window` in tokens. `adopt`: when a new generation goes in force; `never` is shadow mode: generations are made and not
    shown. `log_bytes`: of the log as it was recorded, which the policy's `session.bytes` bounds; `stored_bytes`: what it takes,
    since parts of it are packed. `pinned`: seqs of the messages of the path that stay in every view. `warnings`: sentences without content.
    """

    session: str
    messages: int
    tokens: int
    generation: int
    current: int
    requirement: Requirement
    due: bool
    running: bool
    parked: bool
    trouble: str
    blocked: str
    window: int
    policy: str
    format: str
    adopt: Adopt
    log_bytes: int = 0
    stored_bytes: int = 0
    pinned: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Equal while a session holds the same messages in the same order. `length`: of its log, so the next message's seq;
    `incarnation`: which life of the session; `path`: what it shows of the log.
    """

    incarnation: int
    length: int
    path: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One kept generation. `covered`: seq ranges its summary accounts for; `in_force`: the view shows it.

    `replaces`: what was current at its commit. `economics`: what it cost and saves. `audit`: what became of the facts it
    covers, of a generation made in an emergency computed when it is asked for; None where its record is lost or damaged. `tokens_after`: estimate of its view's messages, uncalibrated. `at`: ms
    of the server's clock.
    """

    number: int
    replaces: int
    covered: Ranges
    method: str
    reason: str
    provisional: bool
    tokens_after: int
    in_force: bool
    current: bool
    at: int
    economics: Economics = UNPRICED
    audit: Audit | None = None


def place(meta: Meta | None) -> Place | None:
    """Of a session as it was read; None where nothing is recorded."""
    return None if meta is None else Place(incarnation=meta.incarnation, length=meta.log_len, path=meta.path)


def checked_limit(limit: object) -> None:
    """Raises InvalidSetting."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidSetting(f"limit {limit!r:.40}: use a whole number from 1")


def status(cache: Cache, pauses: Sequence[Pause] = ()) -> Status:
    """Raises Refused where nothing is recorded. pauses: those that hold now."""
    meta = cache.live
    config = SessionConfig.from_json(meta.config)
    calibration = config.calibration(meta.calibration)
    pause = held(pauses, cache.key.tenant)
    return Status(
        session=cache.key.session,
        messages=length(meta.path),
        tokens=calibration.real(meta.tokens_of(meta.adopted)),
        generation=meta.adopted,
        current=meta.current,
        requirement=requirement(meta),
        due=meta.due,
        running=meta.leased,
        parked=meta.parked,
        trouble=counted(meta.ends),
        blocked=meta.blocked,
        window=config.window,
        policy=config.policy.name,
        format=config.format,
        adopt=config.adopt,
        log_bytes=meta.log_bytes,
        stored_bytes=meta.stored_bytes,
        pinned=tuple(message.seq for message in cache.path if message.pinned),
        warnings=(
            *((UNATTENDED,) if meta.unattended else ()),
            *((paused_warning(pause),) if pause else ()),
        ),
    )


def audited(records: Mapping[int, Compaction], path: Sequence[Message], fmt: Format) -> dict[int, Compaction]:
    """The records with an audit each, as far as it can be had: one made in an emergency was committed without."""
    found = dict(records)
    for number, record in records.items():
        late = None if record.audit.kinds else audit_of(record, path, fmt)
        if late is not None:
            found[number] = record.model_copy(update={"audit": late})
    return found


def generations(meta: Meta | None, records: Mapping[int, Compaction]) -> list[Generation]:
    """Oldest first; `records` by number, as far as they are known."""
    if meta is None:
        return []
    return [
        Generation(
            number=number,
            replaces=info.replaces,
            covered=info.covered,
            method=info.method,
            reason=info.reason,
            provisional=info.provisional,
            tokens_after=info.tokens_after,
            in_force=number == meta.adopted,
            current=number == meta.current,
            at=info.at,
            economics=records[number].economics if number in records else UNPRICED,
            audit=records[number].audit if number in records else None,
        )
        for number, info in sorted(meta.generations.items())
    ]
