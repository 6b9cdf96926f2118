"""Sessions that wait too long, and those that are parked. Ids, counts and times; never content."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from redis.asyncio import Redis

from offturn import Health
from offturn.config import SessionConfig
from offturn.health import health
from offturn.store.errors import Archived, StoreFault, UnknownVersion
from offturn.store.limits import RouteTrouble, SharedLimits
from offturn.store.pausing import Pause
from offturn.store.sessions import SessionStore
from offturn.store.stubs import Stubs, listed
from offturn_config import keys
from offturn_config.errors import InvalidPolicy, InvalidSetting
from offturn_config.keys import SessionKey
from offturn_config.settings import WorkerSettings
from offturn_models.prices import same_model_warning
from offturn_models.route import names_of
from offturn_worker.doctor.attendance import counted, span
from offturn_worker.doctor.findings import Finding, finding
from offturn_worker.doctor.target import Target
from offturn_worker.sweep import LeftAlone

LATE_SECONDS, STUCK_SECONDS = 60, 600
PAGE = 10  # sessions read, of those that are due, of those that are parked, and of all
LOOKED_THROUGH = 1_000  # keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """All tenants' as the store has them. `first`: the one that is due longest, for so many `waited` seconds, of those
    that no pause holds; `parked`: some of them, and why.

    archived: how many are in the archive; `troubled`: some of them that could not be brought back, and why.
    models: what the hosts of some of them call, of those that are due first. `routes`: breakers of providers that are in trouble; `now_ms`: by the store's clock.
    """

    health: Health
    first: SessionKey | None
    parked: Mapping[SessionKey, str]
    waited: float = 0.0
    routes: Sequence[RouteTrouble] = ()
    now_ms: int = 0
    models: Collection[str] = ()
    archived: int = 0
    troubled: Mapping[SessionKey, str] = field(default_factory=dict)


async def read(redis: Redis) -> Sessions:
    """Raises RedisError and errors of the store; the caller limits the time."""
    found = await health(redis)
    store = SessionStore(redis)
    due = await store.due(PAGE, but=LeftAlone((), found.pauses))
    models = [await _model(store, key) for key in {*(key for key, _ in due), *await _some(redis)}]
    _, items = await redis.hscan(keys.dead(), count=PAGE)
    now_ms = await store.now_ms()
    return Sessions(
        health=found,
        first=due[0][0] if due else None,
        waited=max(0, now_ms - due[0][1]) / 1000 if due else 0.0,
        parked=dict(_parked(items)),
        routes=await SharedLimits(redis).routes(),
        now_ms=now_ms,
        models={model for model in models if model},
        archived=await Stubs(redis).archived_count(),
        troubled=dict(await _troubled(redis)),
    )


async def _troubled(redis: Redis) -> list[tuple[SessionKey, str]]:
    _, page = await redis.hscan(keys.archived(), count=LOOKED_THROUGH)
    entries = [one for member, value in page.items() if (one := listed(member, value))]
    pipe = redis.pipeline(transaction=False)
    for one in entries:
        pipe.hget(one.key.key("meta"), "trouble")
    found = zip(entries, await pipe.execute(), strict=True) if entries else ()
    return [(one.key, trouble.decode()) for one, trouble in found if trouble]


async def _some(redis: Redis) -> list[SessionKey]:
    """Sessions of any tenant, as the server comes upon them."""
    _, names = await redis.scan(match=keys.every_meta("*"), count=LOOKED_THROUGH)
    found = []
    for name in names[:PAGE]:
        with suppress(ValueError, InvalidSetting):  # a later release's, perhaps
            found.append(SessionKey.of_meta(name.decode()))
    return found


async def _model(store: SessionStore, key: SessionKey) -> str | None:
    """What the session's host calls; None also where the session is damaged or another release's: it hides no finding."""
    try:
        meta = await store.meta(key)
        return SessionConfig.from_json(meta.config).model if meta else None
    except (Archived, StoreFault, UnknownVersion, InvalidPolicy):
        return None


def own_models(found: Sessions, settings: WorkerSettings) -> Iterator[Finding]:
    """Summaries by the very model whose context window they are to spare."""
    for model in sorted(found.models):
        for name in names_of(settings.summarizer):
            if (facts := same_model_warning(name, model)) is not None:
                yield finding("summarizer-own-model", facts, provider=model.partition(":")[0])


def sessions(found: Sessions, target: Target) -> Iterator[Finding]:
    """Due, parked and paused ones."""
    due, waited = found.health.due, found.waited
    if found.first is None or waited < LATE_SECONDS:
        yield finding("due", f"{counted(due)} due" + (f", the first for {span(waited)}" if found.first else ""))
    else:
        stuck = waited >= STUCK_SECONDS and found.health.attended
        facts = f"{counted(due)} due, {_shown(found.first)} for {span(waited)}"
        yield finding("due-stuck" if stuck else "due-late", facts, **_command(found.first, target))
    yield _parked_ones(found, target)
    yield from _pauses(found.health.pauses, target)


def _parked_ones(found: Sessions, target: Target) -> Finding:
    if not found.parked:
        return finding("parked", "none")
    key, why = next(iter(found.parked.items()))
    facts = (
        f"{found.health.parked} parked after too many tries, {_shown(key)} by {why}; `offturn session list --parked`"
    )
    return finding("parked-some", facts, **_command(key, target))


def _pauses(pauses: Sequence[Pause], target: Target) -> Iterator[Finding]:
    if not pauses:
        yield finding("paused", "nothing is")
    for pause in pauses:
        tenant = "" if pause.tenant is None else f" --tenant {pause.tenant}"
        yield finding("paused-some", pause.told, tenant=tenant, store=target.option)


def archived(found: Sessions, target: Target, settings: WorkerSettings | None) -> Iterator[Finding]:
    """Nothing where none is."""
    if not found.archived:
        return
    if settings is not None and settings.archive_url is None:
        yield finding(
            "archived-unset", f"{counted(found.archived)} in the archive, and no OFFTURN_ARCHIVE_URL is set here"
        )
    if found.troubled:
        key, why = next(iter(found.troubled.items()))
        facts = f"{_shown(key)} could not be brought back from the archive ({why}), {len(found.troubled)} of {found.archived}"
        yield finding("archived-troubled", facts, **_command(key, target))
    else:
        yield finding("archived", f"{counted(found.archived)} in the archive")


def _parked(items: Mapping[bytes, bytes]) -> Iterator[tuple[SessionKey, str]]:
    for member, text in items.items():
        try:
            yield SessionKey.of_member(member.decode()), str(json.loads(text).get("reason", ""))
        except (ValueError, AttributeError, InvalidSetting):  # a later release's, perhaps
            continue


def _shown(key: SessionKey) -> str:
    return f"{key.session!r} of tenant {key.tenant}"


def _command(key: SessionKey, target: Target) -> dict[str, str]:
    tenant = "" if key.tenant == "default" else f" --tenant {key.tenant}"
    return {"session": shlex.quote(key.session), "tenant": tenant, "store": target.option}
