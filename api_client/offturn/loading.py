"""What a job works on, read in two steps: first epoch, current and path, then the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import cast

from offturn.config import SessionConfig
from offturn.store.replies import Claim, LogEntry, Meta
from offturn.store.sessions import SessionStore
from offturn_config.keys import SessionKey
from offturn_config.limits import Limits
from offturn_config.policy import Policy
from offturn_engine.compaction import NOTHING, Compaction, Reason
from offturn_engine.formats.base import Format
from offturn_engine.outcome import Failed, Superseded
from offturn_engine.path import Path
from offturn_engine.pins import marked
from offturn_engine.triggers import Requirement, Thresholds, due, stepping


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One claimed session as read. `limits` are in estimate units; `chain` is the chain hash at `length`.

    `wanted`: the trigger rule still asks for it. `pressing`: do without the model rather than wait for it, because it
    has failed often enough, or the view is at the hard level. `model`: the one the host calls; `factor`: real tokens of an
    estimated one. `in_force`: the base is what the host is shown. `instead`: the provisional generation that is planned anew, where one is.
    """

    path: Path
    base: Compaction
    fmt: Format
    policy: Policy
    limits: Limits
    reason: Reason
    length: int
    chain: str
    path_tokens: int
    wanted: bool
    pressing: bool
    model: str | None
    factor: float
    in_force: bool
    instead: Compaction | None = None


def requirement(meta: Meta) -> Requirement:
    """NONE, SOFT or HARD, as the store's scripts see it."""
    levels = Thresholds(meta.soft, meta.hard, meta.growth)
    return due(meta.pressure, levels, path_tokens=meta.path_tokens, held=meta.held)


def wanted(meta: Meta) -> bool:
    """The trigger rule, as the store's scripts see it."""
    if meta.asked > meta.served:
        return True
    if meta.parked or meta.blocked:
        return False
    step = meta.pace[-1]
    return requirement(meta) != "none" or stepping(
        meta.pressure, step, path_tokens=meta.path_tokens, stepped=meta.stepped
    )


async def load(key: SessionKey, store: SessionStore, claim: Claim) -> Job | Superseded | Failed:
    """Read a claimed session, unless its epoch is over. Failed: the server has lost a part of its log.

    Where it has lost the base, the session is mended and the next job starts from what took its place.
    """
    meta = await store.meta(key)
    if meta is None or meta.incarnation != claim.incarnation:
        return Superseded(reason="gone")
    if meta.epoch != claim.epoch:
        return Superseded(reason="epoch")
    config = SessionConfig.from_json(meta.config)
    fmt = config.fmt
    entries = await store.path(key, meta)
    if entries is None or len(entries) < sum(high - low for low, high in meta.path):
        return await _gone(key, store, claim, "log_gone")
    base = NOTHING if meta.current == 0 else await store.generation(key, meta.current)
    if base is None:
        await store.mend(key, incarnation=claim.incarnation, nonce=token_hex(16))
        return await _gone(key, store, claim, "base_gone")
    newest = max(entries, key=lambda e: e.seq, default=None)  # not the last one where a message was replaced
    calibration = config.calibration(meta.calibration)
    return Job(
        path=await asyncio.to_thread(_parsed, entries, fmt, config.pins),
        base=base,
        fmt=fmt,
        policy=config.policy,
        limits=config.estimates(calibration),
        reason=cast("Reason", claim.reason),
        length=newest.seq + 1 if newest else 0,
        chain=newest.chain if newest else "",
        path_tokens=sum(e.tokens for e in entries),
        wanted=claim.reason == "idle" or wanted(meta),
        pressing=requirement(meta) == "hard" or claim.attempts + claim.failures >= config.policy.failure.attempts,
        model=config.model,
        factor=calibration.factor,
        in_force=meta.adopted == meta.current,
    )


def _parsed(entries: Sequence[LogEntry], fmt: Format, pins: Sequence[int]) -> Path:
    path = [fmt.parse(e.raw, index=e.seq, origin=e.origin).placed(e.seq, e.at) for e in entries]
    redacted = {e.seq for e in entries if e.redacted}
    return Path(marked(path, frozenset(pins) - redacted) if pins else path)


async def _gone(key: SessionKey, store: SessionStore, claim: Claim, what: str) -> Superseded | Failed:
    """Moved on while it was read, or lost for good: then trying again at once would go on for ever."""
    meta = await store.meta(key)
    moved = meta is None or meta.incarnation != claim.incarnation or meta.epoch != claim.epoch
    return Superseded(reason=what) if moved else Failed(kind=what)
