"""`offturn session rewind|fork|unblock|redact|purge|export`: what changes a session, ends it, or takes it elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import typer

from offturn import CompactionClient, InvalidSetting, Session
from offturn.links import Links
from offturn.store.errors import NotConfirmed, StoreFault
from offturn.wording import several
from offturn_config.keys import SessionKey
from offturn_engine.handles import parse_handle
from offturn_worker.cli.options import StoreUrl, Tenant
from offturn_worker.cli.output import out, print_json
from offturn_worker.cli.store import AsJson, SessionId, existing, with_client, with_links

T = TypeVar("T")
PURGE_TRIES = 5  # until the replicas have confirmed it

Place = Annotated[str | None, typer.Option("--to", help="The message that becomes the last one: m12, or its own id.")]


def rewind(
    session_id: SessionId,
    to: Place = None,
    turns: Annotated[int, typer.Option(min=1, help="Turns to take back, where no message is named.")] = 1,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Take the newest messages off the path. They stay in the log."""

    async def work(session: Session) -> dict[str, Any]:
        await session.rewind(to=_ref(to), turns=turns)
        return asdict(await session.status())

    facts = _with_session(store, tenant, session_id, work)
    text = f"{several(facts['messages'], 'message')} on the path, generation {facts['generation']} is in force"
    _tell(facts, f"session {session_id}: {text}", as_json)


def fork(
    session_id: SessionId,
    new_id: Annotated[str, typer.Argument(help="The id of the copy; no session may have it.")],
    at: Annotated[str | None, typer.Option("--at", help="The last message to copy: m12, or its own id.")] = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Copy the path into a new session. Generations are not copied."""

    async def work(session: Session) -> dict[str, Any]:
        return asdict(await (await session.fork(new_id, at=_ref(at))).status())

    facts = _with_session(store, tenant, session_id, work)
    _tell(facts, f"session {new_id}: {several(facts['messages'], 'message')} of {session_id}", as_json)


def unblock(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Let a session be compacted again that was parked, because jobs ended badly, or blocked, because they made no room."""

    stopped = False

    async def work(session: Session) -> dict[str, Any]:
        nonlocal stopped
        before = await session.status()
        stopped = before.parked or bool(before.blocked)
        await session.unblock()
        return asdict(await session.status())

    facts = _with_session(store, tenant, session_id, work)
    was = "" if stopped else "was neither parked nor blocked, "
    _tell(facts, f"session {session_id}: {was}{'a compaction is due' if facts['due'] else 'nothing is due'}", as_json)


def purge(
    session_id: SessionId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete a session: its log, generations, replies and events."""

    async def work(client: CompactionClient, links: Links) -> dict[str, Any]:
        messages = None
        try:
            if (
                stub := await links.store.stub(SessionKey(client.tenant, session_id))
            ) is not None:  # it goes from there
                session, messages = client.session(session_id, format="openai-chat"), stub.messages
            else:
                session = await existing(client, session_id)
                messages = (await session.status()).messages
        except StoreFault:  # what is left of it can be deleted: which format it had does not matter
            session = client.session(session_id, format="openai-chat")
        for tries_left in reversed(range(PURGE_TRIES)):  # called again, this command finds no session
            try:
                await session.purge()
                break
            except NotConfirmed:
                if not tries_left:
                    raise
        return {"session": session_id, "messages": messages, "purged": True}

    _confirm(f"purge of {session_id!r}", f"Delete session {session_id}", yes)
    _tell(with_links(store, tenant, work), f"session {session_id}: purged", as_json)


def redact(
    session_id: SessionId,
    reason: Annotated[str, typer.Option(help="Why; it is kept, so do not quote what is deleted.")],
    ref: Annotated[
        list[str] | None, typer.Option("--ref", help="A message: m12, or its own id. May be repeated.")
    ] = None,
    author: Annotated[str | None, typer.Option(help="All messages with this `name` (openai-chat).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete what messages say, and every generation and chunk that may quote them. The messages keep their places."""

    async def work(session: Session) -> dict[str, Any]:
        seqs = await session.redact([_named(one) for one in ref or ()], author=author, reason=reason)
        return {"redacted": list(seqs), **asdict(await session.status())}

    if not ref and not author:
        raise InvalidSetting("redact: name messages with --ref m12, or all of an author with --author NAME")
    _confirm(f"redact in {session_id!r}", f"Delete what these messages of session {session_id} say", yes)
    facts = _with_session(store, tenant, session_id, work)
    names = ", ".join(f"m{seq}" for seq in facts["redacted"]) or "nothing that was not already"
    _tell(facts, f"session {session_id}: redacted {names}; generation {facts['generation']} is in force", as_json)


def export(session_id: SessionId, store: StoreUrl = None, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Everything on stdout, one JSON value per line; with --json one list. It holds the conversation."""

    async def work(session: Session) -> list[dict[str, Any]]:
        lines = []
        async for line in session.export():
            if as_json:
                lines.append(line)
            else:
                sys.stdout.write(json.dumps(line) + "\n")
        return lines

    lines = _with_session(store, tenant, session_id, work)
    if as_json:
        print_json(lines)


def add_to(app: typer.Typer) -> None:
    """The commands join those that look at sessions."""
    for command in (rewind, fork, unblock, redact, purge, export):
        app.command(command.__name__)(command)


def _confirm(what: str, question: str, yes: bool) -> None:
    """Raises InvalidSetting where nobody can be asked."""
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidSetting(f"{what} cannot be undone: say --yes")
        typer.confirm(f"{question}? This cannot be undone", abort=True)


def _ref(text: str | None) -> int | str | None:
    return None if text is None else _named(text)


def _named(text: str) -> int | str:
    """`m12` names a seq, as in views; anything else is the host's own id."""
    named = parse_handle(text)
    return named[0] if named and named[1] is None else text


def _with_session(store: str | None, tenant: str | None, session_id: str, work: Callable[[Session], Awaitable[T]]) -> T:
    async def run(client: CompactionClient) -> T:
        return await work(await existing(client, session_id))

    return with_client(store, tenant, run)


def _tell(facts: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        print_json(facts)
    else:
        out.print(text, markup=False)
