"""Sessions that wait too long, and those that are parked. Ids, counts and times; never content."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from offturn import Health
from offturn.health import health
from offturn.store.limits import RouteTrouble, SharedLimits
from offturn.store.sessions import SessionStore
from offturn_config import keys
from offturn_config.errors import InvalidSetting
from offturn_config.keys import SessionKey
from offturn_worker.doctor.attendance import counted, span
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.target import Target

LATE_SECONDS, STUCK_SECONDS = 60, 600
PAGE = 10  # parked sessions read


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """All tenants' as the store has them. `first`: the one that is due longest; `parked`: some of them, and why.

    `routes`: breakers of providers that are in trouble; `now_ms`: by the store's clock.
    """

    health: Health
    first: SessionKey | None
    parked: Mapping[SessionKey, str]
    routes: Sequence[RouteTrouble] = ()
    now_ms: int = 0


async def read(redis: Redis) -> Sessions:
    """Raises RedisError and errors of the store; the caller limits the time."""
    found = await health(redis)
    store = SessionStore(redis)
    due = await store.due(1)
    _, items = await redis.hscan(keys.dead(), count=PAGE)
    return Sessions(
        health=found,
        first=due[0][0] if due else None,
        parked=dict(_parked(items)),
        routes=await SharedLimits(redis).routes(),
        now_ms=await store.now_ms(),
    )


def sessions(found: Sessions, target: Target) -> Iterator[Finding]:
    """Due and parked ones."""
    due, waited = found.health.due, found.health.oldest_due_s
    if found.first is None or waited < LATE_SECONDS:
        yield finding("due", f"{counted(due)} due" + (f", the first for {span(waited)}" if due else ""))
    else:
        stuck = waited >= STUCK_SECONDS and found.health.attended
        facts = f"{counted(due)} due, {_shown(found.first)} for {span(waited)}"
        yield finding("due-stuck" if stuck else "due-late", facts, **_command(found.first, target))
    if not found.parked:
        yield finding("parked", "none")
        return
    key, why = next(iter(found.parked.items()))
    facts = (
        f"{found.health.parked} parked after too many tries, {_shown(key)} by {why}; `offturn session list --parked`"
    )
    yield finding("parked-some", facts, **_command(key, target))


def _parked(items: Mapping[bytes, bytes]) -> Iterator[tuple[SessionKey, str]]:
    for member, text in items.items():
        try:
            yield SessionKey.of_member(member.decode()), str(json.loads(text).get("reason", ""))
        except (ValueError, InvalidSetting):  # a later release's, perhaps
            continue


def _shown(key: SessionKey) -> str:
    return f"{key.session!r} of tenant {key.tenant}"


def _command(key: SessionKey, target: Target) -> dict[str, str]:
    tenant = "" if key.tenant == "default" else f" --tenant {key.tenant}"
    return {"session": shlex.quote(key.session), "tenant": tenant, "store": target.option}
