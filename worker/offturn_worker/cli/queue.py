"""`offturn queue [list|replay|drop]`: what waits for workers, and what an operator does about single sessions."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace as with_other
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from offturn import Archived, CompactionClient, InvalidSetting
from offturn.links import Links
from offturn.store.sessions import SessionStore
from offturn.wording import several
from offturn_config.keys import SessionKey
from offturn_config.settings import load_client_settings
from offturn_worker.cli.options import EveryTenant, StoreUrl
from offturn_worker.cli.output import out, print_json, print_table, say, when
from offturn_worker.cli.queue_rows import EVERY, Queue, Row, State, read
from offturn_worker.cli.store import AsJson, with_links
from offturn_worker.steering import again, dropped

COLUMNS = ("tenant", "session", "state", "since/until", "level", "attempts", "why", "worker")
ROWS = 100

Touch = Callable[[Links, SessionKey], Awaitable[str]]
"""Does it to one session and says what came of it."""


class Listing(TyperGroup):
    """Without the name of a command, `list` is meant, with its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


typer_app = typer.Typer(help="What is due, running, waiting and parked; try again, or take off the list.", cls=Listing)

Named = Annotated[str | None, typer.Argument(metavar="SESSION", help="Of --tenant, else OFFTURN_TENANT, else default.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@typer_app.command("list")
def list_queue(
    state: Annotated[State | None, typer.Option("--state", help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Sessions listed; totals count all.")] = ROWS,
    store: StoreUrl = None,
    tenant: EveryTenant = None,
    as_json: AsJson = False,
) -> None:
    """Sessions that wait for a worker or are with one, those due longest first, then the parked ones."""

    async def work(_: CompactionClient, links: Links) -> Queue:
        return await read(links, tenant, state, limit)

    found = with_links(store, tenant, work)
    if as_json:
        print_json(found.facts())
        return
    print_table(COLUMNS, map(_cells, found.rows))
    say(", ".join(f"{count} {name}" for name, count in found.totals.items()))
    for pause in found.pauses:
        say(f"paused: {pause.told}")


@typer_app.command("replay")
def replay(
    session_id: Named = None,
    every: Annotated[bool, typer.Option("--all", help="All that are parked.")] = False,
    yes: Yes = False,
    store: StoreUrl = None,
    tenant: EveryTenant = None,
    as_json: AsJson = False,
) -> None:
    """Try again now: a session that is parked, blocked or backed off gets all its attempts back and is rung for."""
    _touch(again, "replay", session_id, store, tenant, states=(State.PARKED,), every=every, yes=yes, as_json=as_json)


@typer_app.command("drop")
def drop(
    session_id: Named = None,
    every: Annotated[bool, typer.Option("--all", help="All that are due, waiting or running.")] = False,
    yes: Yes = False,
    store: StoreUrl = None,
    tenant: EveryTenant = None,
    as_json: AsJson = False,
) -> None:
    """Take off due, and lose nothing: requests are withdrawn, a running job is superseded, and the next compaction
    waits for growth (at the hard level for the next message). `queue replay` takes it back.
    """
    states = (State.DUE, State.WAITING, State.RUNNING)
    _touch(dropped, "drop", session_id, store, tenant, states=states, every=every, yes=yes, as_json=as_json)


def _touch(
    touch: Touch,
    verb: str,
    session_id: str | None,
    store: str | None,
    tenant: str | None,
    *,
    states: Sequence[State],
    every: bool,
    yes: bool,
    as_json: bool,
) -> None:
    if (session_id is None) == (not every):
        raise InvalidSetting(f"queue {verb}: name a session, or say --all")

    async def keys(_: CompactionClient, links: Links) -> list[SessionKey]:
        if session_id is not None:
            key = SessionKey(load_client_settings(tenant=tenant).tenant, session_id)
            try:
                meta = await SessionStore(links.redis).meta(key)
            except Archived:
                raise InvalidSetting(
                    f"session {session_id!r} of tenant {key.tenant} is in the archive: `offturn session restore` it first"
                ) from None
            if meta is None:
                raise InvalidSetting(f"session {session_id!r} of tenant {key.tenant} does not exist: see `queue list`")
            return [key]
        rows = (await read(links, tenant, None, EVERY)).rows
        return [SessionKey(row.tenant, row.session) for row in rows if row.state in states]

    async def work(_: CompactionClient, links: Links) -> list[dict[str, Any]]:
        return [{"tenant": key.tenant, "session": key.session, "now": await _now(touch, links, key)} for key in chosen]

    chosen = with_links(store, tenant, keys)
    if every and chosen and not yes:
        _confirm(verb, several(len(chosen), "session"), tenant)
    done = with_links(store, tenant, work) if chosen else []
    if as_json:
        print_json(done)
        return
    for one in done:
        out.print(f"session {one['session']} of tenant {one['tenant']}: {one['now']}", markup=False)
    if not done:
        say(f"nothing to {verb}")


async def _now(touch: Touch, links: Links, key: SessionKey) -> str:
    """A session that is in the archive stays there, and holds up no other."""
    try:
        return await touch(with_other(links, store=SessionStore(links.redis)), key)
    except Archived:
        return "in the archive, left as it is"


def _cells(row: Row) -> tuple[object, ...]:
    state = f"{row.state} (paused)" if row.paused and row.state is State.DUE else row.state
    return row.tenant, row.session, state, when(row.at), row.requirement, row.attempts, row.why, row.worker


def _confirm(verb: str, how_many: str, tenant: str | None) -> None:
    """Raises InvalidSetting where nobody can be asked."""
    whose = "of all tenants" if tenant is None else f"of tenant {tenant}"
    if not sys.stdin.isatty():
        raise InvalidSetting(f"queue {verb} would touch {how_many} {whose}: say --yes")
    typer.confirm(f"{verb.capitalize()} {how_many} {whose}?", abort=True)
