"""`offturn session why ID TEXT`: what became of the messages that hold a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from offturn import CompactionClient, Fate, Session
from offturn_engine.audit import KEYED
from offturn_engine.handles import handle
from offturn_engine.ranges import label
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, plain, print_json, say
from offturn_worker.cli.store import AsJson, SessionId, existing, with_client

SHOWN = 30  # parts a person is shown
EXCERPT = 80  # characters
ALWAYS = "always"


def why(
    session_id: SessionId,
    text: Annotated[str, typer.Argument(help="Words of a message; or its seq, its own id, a handle such as m12.1.")],
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """What became of messages (verbatim, edited, cleared, summarised, omitted, redacted; by which rule, since when) and of their facts."""

    async def work(client: CompactionClient) -> list[dict[str, Any]]:
        session = await existing(client, session_id)
        found = await session.explain(await _meant(session, text))
        said = [await session.recall(f"m{f.seq}.{f.part}") for f in ([] if as_json else found[:SHOWN])]
        return [
            {**asdict(fate), "why": fate.why, "since": _since(fate), **({"said": said[i]} if i < len(said) else {})}
            for i, fate in enumerate(found)
        ]

    rows = with_client(store, tenant, work)
    if as_json:
        print_json(rows)
    elif rows:
        _print(rows[:SHOWN], text)
        if len(rows) > SHOWN:
            say(f"session {session_id}: {len(rows) - SHOWN} more parts: give more of the text, or --json for all")
    else:
        say(f"session {session_id}: no message holds that text")
    if not rows:
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """The command joins those that look at sessions."""
    app.command("why")(why)


async def _meant(session: Session, text: str) -> int | str:
    """A number is a seq where the session has so many messages; else it is looked for."""
    seq = int(text) if text.isdecimal() and len(text) < 10 else None
    status = await session.status()
    return seq if seq is not None and seq < status.messages else text


def _since(fate: Fate) -> str:
    if fate.fate == "redacted" or fate.rule == "off-path":
        return ""
    return f"generation {fate.generation}{' or before' if fate.earlier else ''}" if fate.generation else ALWAYS


def _print(rows: Sequence[dict[str, Any]], text: str) -> None:
    for row in rows:
        since = f", since {row['since']}" if row["since"] not in ("", ALWAYS) else ""
        out.print(f"{row['handle']}  {row['origin']} {row['kind']}: {row['fate']}{since}", markup=False)
        out.print(f"    {_rule(row)}", markup=False)
        out.print(f"    {plain(_excerpt(row['said'], text))}", markup=False)
        for fact in row["facts"][:SHOWN]:
            out.print(f"    {plain(_fact(fact))}", markup=False)


def _rule(row: dict[str, Any]) -> str:
    covered = f"; messages {label((row['covered'],))}" if row["covered"] else ""
    gave_way = ", ".join(f"{name} {count}" for name, count in row["gave_way"].items())
    return f"{row['why']} ({row['rule']}){covered}{f'; gave way: {gave_way}' if gave_way else ''}"


def _fact(fact: dict[str, Any]) -> str:
    """What the ledger took from the message, and what became of it."""
    told = f"{fact['key']} ({fact['text']})" if fact["kind"] in KEYED else fact["text"]
    into = f" into what {handle(fact['into'])} tells, {fact['verdict']}" if fact["into"] is not None else ""
    return f"fact, {fact['kind']}: {_excerpt(told, '')}: {fact['fate']}{into}"


def _excerpt(said: str, text: str) -> str:
    """The words around the text, on one line."""
    said = " ".join(said.split())
    at = max(said.casefold().find(" ".join(text.casefold().split())), 0)
    low = max(0, at - EXCERPT // 3)
    cut = said[low : low + EXCERPT]
    return f"{'…' if low else ''}{cut}{'…' if low + EXCERPT < len(said) else ''}"
