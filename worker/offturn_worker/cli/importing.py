"""`offturn import FILE --session ID`: a transcript file becomes a session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from offturn import CompactionClient
from offturn.links import Links
from offturn_config.errors import InvalidSetting
from offturn_config.presets import DEFAULT
from offturn_engine.files import Conversation
from offturn_worker.cli.options import StoreUrl, Tenant, named_as_given
from offturn_worker.cli.output import out, print_json, progress, say
from offturn_worker.cli.reading import File, FormatName, conversations_of, numbered
from offturn_worker.cli.store import AsJson, with_links
from offturn_worker.importing import Imported, import_conversation, new_session, remedy


def import_file(
    file: File,
    session: Annotated[str, typer.Option("--session", help="Id of the new session.")],
    format_name: FormatName = None,
    policy: Annotated[str, typer.Option(help="See `offturn policies`.")] = DEFAULT,
    window: Annotated[int, typer.Option(min=1, help="Context window of the host's model, in tokens.")] = 200_000,
    index: Annotated[int | None, typer.Option(min=0, help="Which conversation of the file.")] = None,
    store: StoreUrl = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Record a transcript file as a new session: usage it tells calibrates, compactions it tells become generations.

    Nothing else is compacted before its trigger says so.
    """
    chosen = _chosen(conversations_of(file, format_name), index)

    async def work(client: CompactionClient, links: Links) -> dict[str, object]:
        with named_as_given(policy=policy, window=window):
            handle = await new_session(client, chosen, session, policy=policy, window=window)
        with progress(f"recording {len(chosen.messages)} messages"):
            try:
                done = await import_conversation(handle, links, chosen, policy)
            except asyncio.CancelledError:
                say(f"session {session}: not all of it is recorded, and nothing compacts it: {remedy(session)}")
                raise
        return _facts(chosen, done, session)

    facts = with_links(store, tenant, work, create=True)
    if as_json:
        print_json(facts)
    else:
        out.print("  ".join(f"{name} {value}" for name, value in facts.items() if value != ""), markup=False)


def _chosen(conversations: Sequence[Conversation], index: int | None) -> Conversation:
    if not conversations:
        raise InvalidSetting("FILE: the file holds no conversation")
    if index is None and len(conversations) > 1:
        raise InvalidSetting(f"FILE: the file holds {len(conversations)} conversations: choose one with --index")
    return numbered(conversations, index or 0)


def _facts(chosen: Conversation, done: Imported, session: str) -> dict[str, object]:
    return {
        "session": session,
        "messages": len(chosen.messages),
        "format": chosen.format,
        "from": chosen.source_format,
        "generations": done.generations,
        "requirement": done.requirement,
        "notes": "; ".join((*chosen.notes, *done.notes)),
    }
