"""One session: how it is, how it came there, its generations, and the text behind each handle."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from offturn import Refused
from offturn.inspecting import Event
from offturn_engine.compaction import Compaction
from offturn_engine.fates import Name
from offturn_engine.report import Report
from offturn_http.page.bars import Bar, authors_of, before_after, shares_of, two
from offturn_http.page.beside import CHANGED, Beside, beside, piece
from offturn_http.page.charts import Chart, chart
from offturn_http.page.desk import Desk
from offturn_http.page.differing import difference
from offturn_http.page.over_time import Curve, drawn
from offturn_http.page.reading import NoSession, Read
from offturn_worker.cli.timeline import timeline

EVENTS = 1_000
SHOWN = 40  # events, and model calls
CHARTS = {"large": (1060, 300), "medium": (700, 260), "small": (340, 230)}
"""Sizes of the curve; the style sheet shows the one that the screen has room for."""
PIECE = 20_000  # characters of a long text on one page


async def show(desk: Desk) -> Response:
    """Status, curve, who takes the tokens, generations with their audits and what they cost, calls and events."""
    read = await desk.read()
    meta, real = read.meta, read.real
    events = await (await desk.links()).store.events(read.key, limit=EVENTS)
    in_force = await desk.site.shelf.report(read, meta.adopted)
    figures = await asyncio.to_thread(_figures, read, events, in_force)
    return desk.render(
        "session.html",
        read=read,
        status=read.status,
        limits=read.config.limits,
        saved=1 - read.status.tokens / max(real(meta.path_tokens), 1),
        raw=real(meta.path_tokens),
        curve=figures.curve,
        charts=figures.charts,
        bars=figures.bars,
        authors=figures.authors,
        done=desk.asked("done"),
        fates=figures.fates,
        generations=list(reversed(read.generations)),
        possible={number: read.can_be_in_force(number) for number in read.records},
        calls=figures.calls,
        events=[_told(event) for event in reversed(events[-SHOWN:])],
        live=f"/live?{_named('session', read)}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    curve: Curve
    charts: dict[str, Chart]
    bars: tuple[Bar, Bar]
    authors: Sequence[tuple[str, int, int]]
    fates: Mapping[Name, int]
    calls: list[dict[str, Any]]


def _figures(read: Read, events: Sequence[Event], in_force: Report) -> _Figures:
    """What walks all of a path."""
    meta, real = read.meta, read.real
    curve = drawn(read.path, read.records, events, meta.adopted, real)
    levels = [("soft", real(meta.soft)), ("hard", real(meta.hard)), ("window", read.config.window)]
    charts = {name: chart(curve, levels, width=wide, height=high) for name, (wide, high) in CHARTS.items()}
    asked = [message.seq for message in read.path if message.origin == "human"]
    return _Figures(
        curve=curve,
        charts=charts,
        bars=before_after(in_force, real),
        authors=authors_of(in_force, real),
        fates=in_force.by_fate,
        calls=list(reversed(timeline(events, asked)))[:SHOWN],
    )


async def changes(desk: Desk) -> object:
    """What has to differ for a session to look otherwise."""
    meta = await (await desk.links()).store.meta(desk.key)
    return meta and (meta.incarnation, meta.updated, meta.revision, meta.log_len, meta.leased, meta.due, meta.parked)


async def compare(desk: Desk) -> Response:
    """Two generations side by side: each message with its fate in both, and the words behind it."""
    read = await desk.read()
    left, right = await chosen(desk, read)
    only = desk.asked("only")
    old, new = await desk.site.shelf.report(read, left.number), await desk.site.shelf.report(read, right.number)
    found = await asyncio.to_thread(beside, old, new, only=only, page=desk.number("page", 1))
    return desk.render(
        "compare.html",
        read=read,
        left=left,
        right=right,
        numbers=[0, *read.records],
        bars=two((left, old), (right, new), read.real),
        shares=shares_of(old, new, read.real),
        only=only,
        changed=CHANGED,
        found=found,
        pages=_pages(found),
    )


async def summaries(desk: Desk) -> Response:
    """What a generation's summary says that another's did not."""
    read = await desk.read()
    left, right = await chosen(desk, read)
    return desk.render(
        "summaries.html",
        read=read,
        left=left,
        right=right,
        numbers=[0, *read.records],
        difference=await asyncio.to_thread(difference, left.summary, right.summary),
    )


async def text(desk: Desk) -> Response:
    """The full text behind a handle, or of a summary, in pieces."""
    read = await desk.read()
    name, generation = desk.asked("handle"), desk.number("generation", -1)
    if generation >= 0:
        full, title = read.record(generation).summary, f"Summary of generation {generation}"
    else:
        title = f"Message {name}"
        try:
            full = await (await desk.session()).recall(name)
        except Refused as error:
            raise NoSession(str(error)) from None
    shown, before, after = piece(full, desk.number("from", 0), PIECE)
    return desk.render(
        "text.html",
        read=read,
        title=title,
        handle=name,
        generation=generation,
        text=shown,
        size=len(full),
        start=min(desk.number("from", 0), max(0, len(full) - 1)),
        before=before,
        after=after,
    )


async def chosen(desk: Desk, read: Read) -> tuple[Compaction, Compaction]:
    """The two generations of the address: without one, that in force beside the one it replaced. Raises NoSession."""
    right = read.record(desk.number("right", read.meta.adopted))
    before = right.replaces if right.replaces in read.records else 0
    return read.record(desk.number("left", before)), right


def _told(event: Event) -> tuple[int, str, str]:
    """(ms, kind, what it says)."""
    return (
        event.at,
        event.kind,
        ", ".join(f"{name} {value}" for name, value in event.fields.items() if value not in ("", None)),
    )


def _named(of: str, read: Read) -> str:
    return urlencode({"of": of, "id": read.key.session})


def _pages(found: Beside) -> list[int]:
    """Those a person may want next: the first, the last, and the ones around."""
    near = {1, found.pages, *range(found.number - 2, found.number + 3)}
    return sorted(n for n in near if 1 <= n <= found.pages)
