"""`offturn session ...`: look at sessions, and move between their generations; `moving` has the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from offturn import CompactionClient, InvalidSetting, OffturnError, Session, StoreUnavailable
from offturn.config import ANY_WINDOW
from offturn.links import Links
from offturn.store.tenants import Tenants
from offturn_engine.formats import get, names
from offturn_engine.handles import handle
from offturn_engine.ranges import label
from offturn_worker.cli.archiving import list_archived
from offturn_worker.cli.audits import print_audits
from offturn_worker.cli.dead import list_parked
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, plain_lines, print_json, print_table, say
from offturn_worker.cli.store import AsJson, SessionId, existing, with_client, with_links
from offturn_worker.cli.timeline import timeline

ECONOMICS = ("number", "cost", "lost prefix", "saving per turn", "break-even turns", "return after 20 turns")
NO_PRICE = "no price"

typer_app = typer.Typer(help="List, show, view and roll back sessions.", no_args_is_help=True)


@typer_app.command("list")
def list_sessions(
    parked: Annotated[bool, typer.Option("--parked", help="Those that are worked on no more, and why.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Those that are in the archive.")] = False,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """All sessions of the tenant in the store, with size, generation and whether work is due."""
    if archived:
        list_archived(store, tenant, as_json)
        return
    if parked:
        list_parked(store, tenant, as_json)
        return

    async def work(client: CompactionClient, links: Links) -> tuple[list[dict[str, Any]], int]:
        rows = []
        for key in await client.sessions():
            try:
                rows.append(asdict(await (await existing(client, key.session)).status()))
            except StoreUnavailable:
                raise
            except OffturnError as error:  # one that is damaged, another release's or gone meanwhile hides no other
                say(f"session {key.session}: {error}")
        return rows, (await Tenants(links.redis).usage(client.tenant)).archived_sessions

    rows, away = with_links(store, tenant, work)
    if as_json:
        print_json(rows)
        return
    _print_rows(
        rows, "session", "messages", "tokens", "generation", "current", "requirement", "due", "running", "policy"
    )
    for row in rows:
        _tell_waiting(row)
        _tell_stopped(row)
    if away:
        say(f"in the archive: {away}, see `offturn session list --archived`")


@typer_app.command("show")
def show(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Sizes, generations, and input, cached and output tokens per turn with compactions marked."""

    async def work(client: CompactionClient) -> dict[str, Any]:
        session = await existing(client, session_id)
        return {
            "status": asdict(await session.status()),
            "generations": [
                {
                    **asdict(one),
                    "economics": one.economics.model_dump(),
                    "audit": one.audit and one.audit.model_dump(),
                }
                for one in await session.generations()
            ],
            "turns": timeline(await session.events(), await _asked(session)),
        }

    facts = with_client(store, tenant, work)
    if as_json:
        print_json(facts)
        return
    pinned = ", ".join(map(handle, facts["status"]["pinned"]))
    status = {**facts["status"], "warnings": "; ".join(facts["status"]["warnings"]), "pinned": pinned}
    print_table(("field", "value"), list(status.items()))
    _tell_waiting(facts["status"])
    _tell_stopped(facts["status"])
    out.print("\ngenerations", markup=False)
    _print_rows(
        [{**one, "covered": label(one["covered"])} for one in facts["generations"]],
        "number",
        "method",
        "reason",
        "covered",
        "tokens_after",
        "in_force",
        "provisional",
    )
    print_audits(facts["generations"])
    out.print("\neconomics, in US dollars", markup=False)
    print_table(ECONOMICS, [_dollars(one) for one in facts["generations"]])
    out.print("\nturns", markup=False)
    _print_rows(facts["turns"], "event", "input", "cached", "output", "detail")


@typer_app.command("view")
def view(
    session_id: SessionId,
    generation: Annotated[int | None, typer.Option(min=0, help="Another than the one in force; 0 is raw.")] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help=f"Another than the session's own: {', '.join(names())}.")
    ] = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """The messages of a generation, whatever window they would need. Nothing is adopted or changed."""

    async def work(client: CompactionClient) -> dict[str, Any]:
        session = await existing(client, session_id)
        number = (await session.status()).generation if generation is None else generation
        shown = await session.view(generation=number, window=ANY_WINDOW, format=format_name)
        apart = {} if shown.system is None else {"system": shown.system}
        return {
            "generation": shown.generation,
            "format": shown.format,
            "tokens": shown.tokens,
            "warnings": list(shown.warnings),
            **apart,
            "messages": list(shown.messages),
        }

    facts = with_client(store, tenant, work)
    if as_json or not out.is_terminal:
        print_json(facts)
        return
    for message in facts["messages"]:
        out.print(f"[bold]{message.get('role') or message.get('type') or 'user'}[/bold]")
        said = str(message.get("content") or message.get("tool_calls") or message.get("parts") or message)[:2_000]
        out.print(plain_lines(said), markup=False)


@typer_app.command("events")
def events(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """What happened, oldest first: names, numbers and sizes, never content."""

    async def work(client: CompactionClient) -> list[dict[str, Any]]:
        session = await existing(client, session_id)
        return [{"id": one.id, "at": one.at, "kind": one.kind, **one.fields} for one in await session.events()]

    found = with_client(store, tenant, work)
    if as_json:
        print_json(found)
        return
    print_table(
        ("id", "event", "facts"),
        [
            (one["id"], one["kind"], " ".join(f"{k}={v}" for k, v in one.items() if k not in ("id", "at", "kind")))
            for one in found
        ],
    )


@typer_app.command("rollback")
def rollback(
    session_id: SessionId,
    generation: Annotated[
        int | None,
        typer.Option(min=0, help="The one to put in force, as `session show` lists them; 0 is the raw transcript."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also where its view is above the policy's ceiling.")] = False,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Put an earlier (or again a later) generation in force. Nothing is deleted."""

    async def work(client: CompactionClient) -> dict[str, Any]:
        session = await existing(client, session_id)
        if generation is None:
            raise InvalidSetting(f"--generation is missing: session {session_id!r} has {await _numbers(session)}")
        await session.rollback(generation=generation, force=force)
        return asdict(await session.status())

    facts = with_client(store, tenant, work)
    if as_json:
        print_json(facts)
    else:
        out.print(f"session {session_id}: generation {facts['generation']} is in force", markup=False)


async def _asked(session: Session) -> list[int]:
    """Seqs of the path's human messages, ascending. Of the log, because a view holds results that nobody recorded."""
    fmt = get((await session.status()).format)
    return [
        line["seq"]
        async for line in session.export()
        if line["kind"] == "message"
        and line["on_path"]
        and fmt.parse(line["message"], origin=line["origin"]).origin == "human"
    ]


async def _numbers(session: Session) -> str:
    """Of the generations, as `--generation` takes them."""
    made = [str(one.number) for one in await session.generations()]
    shown, told = (await session.status()).generation, ", ".join(("0 (the raw transcript)", *made))
    return f"{told}; {shown} is in force, `offturn session show {session.key.session}` tells more"


def _dollars(generation: Mapping[str, Any]) -> list[object]:
    """A row of the table; what has no known price says so."""
    known: Mapping[str, Any] = generation["economics"]
    told = [NO_PRICE if known[name] is None else f"{known[name]:.6f}" for name in ("cost", "lost_prefix", "saving")]
    even = (
        known["break_even"] if known["break_even"] is not None else (NO_PRICE if known["after_20"] is None else "never")
    )
    last = NO_PRICE if known["after_20"] is None else f"{known['after_20']:.6f}"
    return [generation["number"], *told, even, last]


def _tell_waiting(status: Mapping[str, Any]) -> None:
    if status["adopt"] == "never":
        say(f"session {status['session']}: generations are made and not shown (adopt: never)")
    elif status["current"] != status["generation"]:
        say(f"session {status['session']}: generation {status['current']} waits for the host's next view to adopt it")


def _tell_stopped(status: Mapping[str, Any]) -> None:
    name = status["session"]
    if status["blocked"]:
        say(f"session {name}: {status['blocked']} To try again: offturn session unblock {name}")
    if status["parked"]:
        say(f"session {name}: parked ({status['trouble']}). To try again: offturn session unblock {name}")


def _print_rows(rows: Sequence[Mapping[str, Any]], *columns: str) -> None:
    print_table(columns, [[row[column] for column in columns] for row in rows])
