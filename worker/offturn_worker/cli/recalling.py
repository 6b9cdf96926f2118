"""`offturn session search|recall|pin|unpin`: find what was said, read it in full, keep it in every later view."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from offturn import CompactionClient, Pinned
from offturn_engine.handles import handle, parse_handle
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, plain, plain_lines, print_json, say
from offturn_worker.cli.store import AsJson, SessionId, existing, with_client

Ref = Annotated[str, typer.Argument(help="The message: m12, or its own id.")]


def search(
    session_id: SessionId,
    text: Annotated[str, typer.Argument(help="Words, and phrases in quotes: 'port \"cannot read\"'.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="Places at most.")] = 10,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """The places of the log that hold words, the best first; also what has left the view or the path. 1: none does."""

    async def work(client: CompactionClient) -> list[dict[str, Any]]:
        return [asdict(hit) for hit in await (await existing(client, session_id)).search(text, limit=limit)]

    hits = with_client(store, tenant, work)
    if as_json:
        print_json(hits)
    for hit in () if as_json else hits:
        gone = "" if hit["on_path"] else ", no longer on the path"
        out.print(f"{hit['handle']}  {hit['origin']}{gone}", markup=False)
        out.print(f"    {plain(hit['snippet'])}", markup=False)
    if not hits:
        say(f"session {session_id}: nothing was found")
        raise typer.Exit(1)


def recall(
    session_id: SessionId,
    name: Annotated[str, typer.Argument(metavar="HANDLE", help="As in views: m12, m12.1 for one part, m3-m40.")],
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """The full text behind a handle."""

    async def work(client: CompactionClient) -> str:
        return await (await existing(client, session_id)).recall(name)

    text = with_client(store, tenant, work)
    if as_json:
        print_json({"handle": name, "text": text})
    else:
        out.print(plain_lines(text), markup=False)


def pin(
    session_id: SessionId, ref: Ref, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """Keep a message word for word in every later view, with its tool group."""

    async def work(client: CompactionClient) -> Pinned:
        return await (await existing(client, session_id)).pin(_named(ref))

    _tell(session_id, with_client(store, tenant, work), as_json)


def unpin(
    session_id: SessionId, ref: Ref, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """Let a pinned message go again, from the next compaction on."""

    async def work(client: CompactionClient) -> Pinned:
        return await (await existing(client, session_id)).unpin(_named(ref))

    _tell(session_id, with_client(store, tenant, work), as_json)


def add_to(app: typer.Typer) -> None:
    """The commands join those that look at sessions."""
    for command in (search, recall, pin, unpin):
        app.command(command.__name__)(command)


def _named(text: str) -> int | str:
    named = parse_handle(text)
    return named[0] if named and named[1] is None else text


def _tell(session_id: str, pinned: Pinned, as_json: bool) -> None:
    if as_json:
        print_json(asdict(pinned))
        return
    names = ", ".join(handle(seq) for seq in pinned.seqs) or "nothing"
    text = f"session {session_id}: pinned {names}, about {pinned.tokens} of {pinned.room} tokens"
    out.print(text, markup=False)
    for warning in pinned.warnings:
        say(f"session {session_id}: {warning}")
