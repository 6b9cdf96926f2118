"""Reading a session: status and generations. No I/O: all of it from what the handle has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offturn.cache import Cache
from offturn.config import Adopt, SessionConfig
from offturn.errors import InvalidSetting
from offturn.health import UNATTENDED
from offturn.loading import requirement
from offturn.store.dead import counted
from offturn.store.replies import Event
from offturn_engine.compaction import UNPRICED, Audit, Compaction, Economics
from offturn_engine.ranges import Ranges, length
from offturn_engine.triggers import Requirement

__all__ = ["Event", "Generation", "Status", "checked_limit", "generations", "status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One session now. `tokens`: calibrated estimate of the messages of the view in force; `messages`: length of the path.

    `generation`: the number in force; `current`: the newest committed. `due`: a job is asked for; `running`: a worker
    holds the session; `parked`: too many jobs ended badly, only a request or `unblock` starts the next. `trouble`: how the
    jobs ended that count towards that, as in `5 x died, 1 x bug`. `blocked`: a sentence
    fit to show the user where compactions in a row made no room, else ""; only `unblock` and `rollback` lift that.
    `window` in tokens. `adopt`: when a new generation goes in force; `never` is shadow mode: generations are made and not
    shown. `pinned`: seqs of the messages of the path that stay in every view. `warnings`: sentences without content.
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
    pinned: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One kept generation. `covered`: seq ranges its summary accounts for; `in_force`: the view shows it.

    `replaces`: what was current at its commit. `economics`: what it cost and saves. `audit`: what became of the facts it
    covers; None where its record is not known. `tokens_after`: estimate of its view's messages, uncalibrated. `at`: ms
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


def checked_limit(limit: object) -> None:
    """Raises InvalidSetting."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidSetting(f"limit {limit!r:.40}: use a whole number from 1")


def status(cache: Cache) -> Status:
    """Raises Refused where nothing is recorded."""
    meta = cache.live
    config = SessionConfig.from_json(meta.config)
    calibration = config.calibration(meta.calibration)
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
        pinned=tuple(message.seq for message in cache.path if message.pinned),
        warnings=(UNATTENDED,) if meta.unattended else (),
    )


def generations(cache: Cache, records: Mapping[int, Compaction]) -> list[Generation]:
    """Oldest first; `records` by number, as far as they are known."""
    meta = cache.meta
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
