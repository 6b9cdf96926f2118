"""What waits for workers and what they gave up, who works, which providers are left alone, and trying again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from offturn import Archived, WorkerSeen
from offturn.links import Links
from offturn.store.dead import DeadLetter
from offturn.store.limits import RouteTrouble, SharedLimits
from offturn_config.keys import SessionKey
from offturn_http.page.desk import HEADERS, OPERATES, Desk
from offturn_worker.cli.queue_rows import Queue, State, read
from offturn_worker.steering import again

ROWS = 100
ARCHIVED = "in the archive, left as it is"
TOLD = (ARCHIVED, "gone", "running", "nothing is due", "due, and rung for")
"""What may become of trying again: an address that says something else is none of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What all tenants share. workers: `here` first; troubled: entries of routes that failed lately. now: ms of Redis TIME."""

    workers: Sequence[WorkerSeen]
    troubled: Sequence[RouteTrouble]
    now: int

    @property
    def here(self) -> int:
        """Workers that are there and take jobs."""
        return sum(one.here and not one.about.draining for one in self.workers)

    @property
    def shut(self) -> int:
        """Breakers that are open."""
        return sum(one.open for one in self.troubled)


async def show(desk: Desk) -> Response:
    """The tenant's part of the queue. Names of workers and of routes are for operators: they tell of other tenants' host."""
    links = await desk.links()
    found, letters = await _own(desk, links)
    return desk.render(
        "queue.html",
        queue=found,
        rows=[row for row in found.rows if row.state is not State.PARKED],
        letters=letters,
        fleet=await _fleet(desk, links),
        replayed=desk.asked("session") if desk.asked("done") in TOLD else "",
        told=desk.asked("done"),
        live="/live?of=queue",
    )


async def changes(desk: Desk) -> object:
    """What has to differ for this to look otherwise."""
    links = await desk.links()
    fleet = await _fleet(desk, links)
    found, letters = await _own(desk, links)
    return found.facts(), letters, [(one.id, one.here, one.about) for one in fleet.workers], fleet.troubled


async def replay(desk: Desk) -> Response:
    """Try a session again that jobs were given up for."""
    desk.require(OPERATES)
    name = (await desk.form()).get("session", "")
    try:
        told = await again(await desk.links(), SessionKey(desk.caller.tenant, name))
    except Archived:
        told = ARCHIVED
    return RedirectResponse(f"/queue?{urlencode({'session': name, 'done': told})}", 303, HEADERS)


async def _own(desk: Desk, links: Links) -> tuple[Queue, list[DeadLetter]]:
    return await read(links, desk.caller.tenant, None, ROWS), await links.store.dead_letters(desk.caller.tenant, ROWS)


async def _fleet(desk: Desk, links: Links) -> Fleet:
    health = await desk.service.client(desk.caller.tenant).health()
    troubled = await SharedLimits(links.redis).routes()
    now = await links.store.now_ms()
    return Fleet(workers=sorted(health.workers, key=lambda one: not one.here), troubled=troubled, now=now)
