"""The list of sessions, each with its curve."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from offturn import Archived, OffturnError, StoreUnavailable
from offturn.config import SessionConfig
from offturn.loading import requirement
from offturn.store.sessions import SessionStore
from offturn.store.state import Meta
from offturn_config.keys import SessionKey
from offturn_engine.ranges import length
from offturn_engine.triggers import Requirement
from offturn_http.page.beside import paged
from offturn_http.page.charts import Chart, sparkline
from offturn_http.page.desk import Desk
from offturn_http.page.over_time import Curve, sketch
from offturn_http.page.reading import real_of

ROWS = 25
MOST = 10_000  # sessions that are looked through
FRESH_SECONDS = 4.0
"""How long pages that watch share what was found of a tenant's sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A session of the list. state: one word, the gravest that holds; why: the sentence behind it, or ""."""

    session: str
    state: str
    why: str
    messages: int
    tokens: int
    raw: int
    window: int
    generation: int
    current: int
    requirement: Requirement
    policy: str
    updated: int
    curve: Curve
    line: Chart


@dataclass(frozen=True, slots=True)
class Unreadable:
    """One that another release wrote, or that is damaged: it hides no other."""

    session: str
    why: str


def row(key: SessionKey, meta: Meta) -> Row:
    """From a session's state alone: its messages are not read. Raises what a damaged one raises."""
    config = SessionConfig.from_json(meta.config)
    real = real_of(meta, config)
    curve = sketch(meta, real)
    state, why = _state(meta)
    return Row(
        session=key.session,
        state=state,
        why=why,
        messages=length(meta.path),
        tokens=real(meta.tokens_of(meta.adopted)),
        raw=real(meta.path_tokens),
        window=config.window,
        generation=meta.adopted,
        current=meta.current,
        requirement=requirement(meta),
        policy=config.policy.name,
        updated=meta.updated,
        curve=curve,
        line=sparkline(curve),
    )


def _state(meta: Meta) -> tuple[str, str]:
    if meta.parked:
        return "parked", "too many jobs ended badly"
    if meta.blocked:
        return "blocked", meta.blocked
    if meta.leased:
        return "running", f"a worker compacts it: {meta.worker}"
    if meta.due:
        return "due", "waits for a worker"
    return "idle", ""


async def sessions(desk: Desk) -> Response:
    """The tenant's sessions, by id."""
    keys, total, number, pages = _chosen(desk, await _keys(desk))
    rows = await _rows(desk, keys)
    wanted = desk.asked("q").strip()
    return desk.render(
        "sessions.html",
        rows=[one for one in rows if isinstance(one, Row)],
        unreadable=[one for one in rows if isinstance(one, Unreadable)],
        total=total,
        most=MOST,
        q=wanted,
        number=number,
        pages=pages,
        live=f"/live?{urlencode({'of': 'sessions', 'q': wanted, 'page': number})}",
    )


async def changes(desk: Desk) -> object:
    """What has to differ for the list to look otherwise."""
    keys, total, *_ = _chosen(desk, await _keys(desk, FRESH_SECONDS))
    metas = await _metas(desk, keys)
    facts = [(key, meta and (meta.updated, meta.revision, meta.leased, meta.due, meta.parked)) for key, meta in metas]
    return total, facts


def _chosen(desk: Desk, keys: Sequence[SessionKey]) -> tuple[Sequence[SessionKey], int, int, int]:
    """Those of the page that is asked for, how many there are in all, the page's number, and how many pages."""
    wanted = desk.asked("q").strip().casefold()
    found = [key for key in keys if wanted in key.session.casefold()]
    number, pages = paged(len(found), desk.number("page", 1), ROWS)
    return found[(number - 1) * ROWS : number * ROWS], len(found), number, pages


async def _keys(desk: Desk, fresh: float = 0.0) -> Sequence[SessionKey]:
    """All of the tenant's, as of so many seconds ago at most: to find them the whole store is looked through."""
    tenant, now = desk.caller.tenant, time.monotonic()
    at, keys = desk.site.listed.get(tenant, (-math.inf, ()))
    if now - at > fresh:
        keys = await desk.service.client(tenant).sessions(MOST)
        desk.site.listed[tenant] = (now, keys)
    return keys


async def _metas(desk: Desk, keys: Sequence[SessionKey]) -> list[tuple[SessionKey, Meta | None]]:
    store = SessionStore((await desk.links()).redis)  # who only looks wants no session back from the archive

    async def one(key: SessionKey) -> Meta | None:
        try:
            return await store.meta(key)
        except Archived:
            return None
        except StoreUnavailable:
            raise
        except OffturnError:
            return None

    return list(zip(keys, await asyncio.gather(*map(one, keys)), strict=True))


async def _rows(desk: Desk, keys: Sequence[SessionKey]) -> list[Row | Unreadable]:
    found = list[Row | Unreadable]()
    for key, meta in await _metas(desk, keys):
        try:
            found.append(
                Unreadable(key.session, "not readable by this release, or gone") if meta is None else row(key, meta)
            )
        except OffturnError as error:
            found.append(Unreadable(key.session, str(error)))
    return found
